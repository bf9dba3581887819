import { hashJson, type CompactionTrigger, type JournalRecord } from '@bowline/agent-loop'
import { originOf } from '../contract/origin.ts'
import type { Write } from '../contract/batch.ts'
import type { RunParent, RunRecord } from '../contract/records.ts'

/** What the input of a run of kind `compaction` says. */
export interface CompactionOrder {
  readonly trigger: CompactionTrigger
  /** The turn behind which it stands. */
  readonly turn: number
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** Claimed before all others. */
export function compactionRun(id: string, order: CompactionOrder, at: number, origin?: RunParent): Write {
  const input = JSON.parse(JSON.stringify(order)) as RunRecord['input']
  return { op: 'run.insert', run: { id, kind: 'compaction', inputHash: hashJson(input), input, at, ...(origin && { origin }) } }
}

export function compactionOrder({ input }: Pick<RunRecord, 'input'>): CompactionOrder {
  return input as unknown as CompactionOrder
}

/** The run that a turn leaves behind when a compaction is due at its end: it is stored with that end. */
export function dueCompaction(records: readonly JournalRecord[], run: RunRecord, nextRunId: () => string): readonly Write[] {
  let at = 0
  for (const record of records) {
    if (record.type === 'event') at = record.event.at
    if (record.type !== 'run' || !record.run.compactionDue) continue
    const { compactionDue: trigger, turn } = record.run
    return [compactionRun(nextRunId(), { trigger, turn }, at, originOf(run))]
  }
  return []
}
