import type { Batch } from '../contract/batch.ts'

/** An input whose sender has named it: the session knows a repeat by its id, and other content by its hash. */
export interface NamedInput {
  readonly inputId: string
  readonly hash: string
  /** Where it lies in the inbox when it was sent as steering. Absent: the batch makes that very row a run. */
  readonly rowId?: string
}

export function namedInputs({ writes }: Pick<Batch, 'writes'>): readonly NamedInput[] {
  const taken = new Set(writes.flatMap((write) => (write.op === 'inbox.take' ? write.ids : [])))
  return writes.flatMap((write): readonly NamedInput[] => {
    if (write.op === 'inbox.put') return write.rows.flatMap((row) => (row.kind === 'steer' ? namedInput(row.body.inputId, row.body.hash, taken) : []))
    return write.op === 'run.insert' ? namedInput(write.run.inputId, write.run.inputHash, taken) : []
  })
}

function namedInput(inputId: string | undefined, hash: string | undefined, taken: ReadonlySet<string>): readonly NamedInput[] {
  if (inputId === undefined || hash === undefined) return []
  const rowId = steeringId(inputId)
  return [{ inputId, hash, ...(taken.has(rowId) ? {} : { rowId }) }]
}

/** The id of the inbox row of a steered input. */
export function steeringId(inputId: string): string {
  return `steer:${inputId}`
}
