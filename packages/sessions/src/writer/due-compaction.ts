import { hashJson, type CompactionTrigger, type JournalRecord } from '@bowline/agent-loop'
import { originOf } from '../contract/origin.ts'
import type { Write } from '../contract/batch.ts'
import type { RunParent, RunRecord } from '../contract/records.ts'

/** Input of a run of kind `compaction`. */
export interface CompactionOrder {
  readonly trigger: CompactionTrigger
  /** Turn after which the compaction comes. */
  readonly turn: number
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** Creates a compaction run, which is claimed before all others. */
export function compactionRun(id: string, order: CompactionOrder, at: number, origin?: RunParent): Write {
  const input = JSON.parse(JSON.stringify(order)) as RunRecord['input']
  return { op: 'run.insert', run: { id, kind: 'compaction', inputHash: hashJson(input), input, at, ...(origin && { origin }) } }
}

export function compactionOrder({ input }: Pick<RunRecord, 'input'>): CompactionOrder {
  return input as unknown as CompactionOrder
}

/** Returns the compaction run that is due at the end of a turn. It is stored in the same commit as that end. */
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
