import type { JournalRecord } from '@bowline/agent-loop'
import type { Write } from '../store/batch.ts'
import type { RunRecord } from '../store/records.ts'

/**
 * Wakes a run that waits, at the earliest time that one of its calls waits for; those of a child wake the child. One that
 * waits no longer is not woken.
 */
export function deadlineOf(records: readonly JournalRecord[], run: RunRecord): readonly Write[] {
  const row = records.findLast((record) => record.type === 'run')?.run
  if (!row || row.state === 'running') return []
  const waits = row.state === 'suspended' ? [...(row.pendingToolCalls ?? []), ...(row.pendingApprovals ?? [])] : []
  const times = waits.flatMap((each) => (each.path.length === 0 ? (each.deadlineAt ?? []) : []))
  if (times.length === 0) return withoutDeadline(run)
  return [{ op: 'timer.put', timers: [{ id: timerId(run), kind: 'deadline', dueAt: Math.min(...times), body: { runId: run.id } }] }]
}

/** Only a run that was claimed in the middle of its turn can have waited before. */
export function withoutDeadline(run: RunRecord): readonly Write[] {
  return run.turn === undefined ? [] : [{ op: 'timer.drop', ids: [timerId(run)] }]
}

function timerId({ id }: RunRecord): string {
  return `deadline:${id}`
}
