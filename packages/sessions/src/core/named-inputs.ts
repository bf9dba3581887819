import type { Batch } from '../contract/batch.ts'

/** An input with an id from its sender. The id reveals a repeat, the hash a different content. */
export interface NamedInput {
  readonly inputId: string
  readonly hash: string
  /** Id of the inbox row if the input was sent as steering. Absent: the batch turns that row into a run. */
  readonly rowId?: string
}

export function namedInputs({ writes }: Pick<Batch, 'writes'>): readonly NamedInput[] {
  const taken = new Set(writes.flatMap((write) => (write.op === 'inbox.take' ? write.ids : [])))
  return writes.flatMap((write): readonly NamedInput[] => {
    if (write.op === 'inbox.put')
      return write.rows.flatMap((row) => (row.kind === 'steer' ? namedInput(row.body.inputId, row.body.hash, taken) : []))
    return write.op === 'run.insert' ? namedInput(write.run.inputId, write.run.inputHash, taken) : []
  })
}

function namedInput(inputId: string | undefined, hash: string | undefined, taken: ReadonlySet<string>): readonly NamedInput[] {
  if (inputId === undefined || hash === undefined) return []
  const rowId = steeringId(inputId)
  return [{ inputId, hash, ...(taken.has(rowId) ? {} : { rowId }) }]
}

/** Returns the id of the inbox row of a steered input. */
export function steeringId(inputId: string): string {
  return `steer:${inputId}`
}
