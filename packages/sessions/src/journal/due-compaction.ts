import { hashJson, type CompactionTrigger, type JournalRecord } from '@bowline/agent-loop'
import type { Write } from '../store/batch.ts'
import type { RunParent, RunRecord } from '../store/records.ts'

/** What the input of a run of kind `compaction` says. */
export interface CompactionOrder {
  readonly trigger: CompactionTrigger
  /** The turn behind which it stands. */
  readonly turn: number
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Of the conversation of a subagent: by this its agent is found. The compaction itself is nobody's child. */
  readonly ofChild?: RunParent
}

/** Claimed before all others. */
export function compactionRun(id: string, order: CompactionOrder, at: number): Write {
  const input = JSON.parse(JSON.stringify(order)) as RunRecord['input']
  return { op: 'run.insert', run: { id, kind: 'compaction', inputHash: hashJson(input), input, at } }
}

export function compactionOrder({ input }: Pick<RunRecord, 'input'>): CompactionOrder {
  return input as unknown as CompactionOrder
}

/** The run by which the agent of a conversation is found. */
export function conversationOf(run: RunRecord): RunRecord {
  const ofChild = run.kind === 'compaction' ? compactionOrder(run).ofChild : undefined
  return ofChild ? { ...run, parent: ofChild } : run
}

/** The run that a turn leaves behind when a compaction is due at its end: it is stored with that end. */
export function dueCompaction(records: readonly JournalRecord[], { parent }: RunRecord, nextRunId: () => string): readonly Write[] {
  let at = 0
  for (const record of records) {
    if (record.type === 'event') at = record.event.at
    if (record.type !== 'run' || !record.run.compactionDue) continue
    const { compactionDue: trigger, turn } = record.run
    return [compactionRun(nextRunId(), { trigger, turn, ...(parent ? { ofChild: parent } : {}) }, at)]
  }
  return []
}
