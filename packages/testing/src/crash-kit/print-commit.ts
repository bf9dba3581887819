import type { Batch, CommitResult } from '@bowline/sessions'

/** Returns the types of the events in a batch or, without events, its operations. */
export function nameOfBatch({ writes }: Batch): string {
  const types = writes.flatMap((write) => (write.op === 'event.append' ? write.events.map(({ event }) => event.type) : []))
  return (types.length > 0 ? types : writes.map((write) => write.op)).join('+')
}

export function printResult(result: CommitResult): string {
  if (!result.ok) return `refused (${result.reason})`
  if (result.existing) return `known as ${result.existing.runId}`
  return result.lastSeq < result.firstSeq ? 'done' : `done, events ${result.firstSeq} to ${result.lastSeq}`
}
