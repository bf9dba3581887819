/** Returns the names of all keys. The part between braces selects the slot of a cluster: all keys of a space share one. */
export function redisKeys(prefix: string) {
  const inSpace = (space: string, name: string): string => `${prefix}:{${encodeSpace(space)}}:${name}`
  return {
    spaces: `${prefix}:spaces`,
    records: (space: string) => inSpace(space, 'records'),
    ids: (space: string) => inSpace(space, 'ids'),
    value: (space: string, id: string) => inSpace(space, `value:${id}`),
    /** Keys of a record, in the order that scripts expect. */
    record: (space: string, id: string): readonly string[] => [
      ...[inSpace(space, 'records'), inSpace(space, `value:${id}`), inSpace(space, 'ids')],
      ...[inSpace(space, 'due'), inSpace(space, 'gone')],
    ],
    mark: (space: string, mark: string) => inSpace(space, `late:${mark}`),
  }
}

export type RedisKeys = ReturnType<typeof redisKeys>

/** Replaces braces. Different spaces stay different, and the part that selects the slot is never empty. */
function encodeSpace(space: string): string {
  return space.replace(/[%{}]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}
