import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '../../arguments.ts'

const form = /^[A-Za-z0-9._:/-]{1,64}$/

/** Refuses a key prefix with other characters. Braces, for instance, would change the slot of a cluster. */
export const prefixCheck: ArgumentCheck = configChecks.optional((path, value) =>
  configChecks.checkRequired(
    path,
    value,
    'a text of 1 to 64 letters, digits and . _ : / -',
    (given) => typeof given === 'string' && form.test(given),
  ),
)

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
