import type { JournalRecord } from '@bowline/agent-loop'
import type { OpenQuestions } from '../contract/answers.ts'
import type { Write } from '../contract/batch.ts'
import type { RunRecord } from '../contract/records.ts'

/** Returns the writes for the deadline of a run in the commit of these records. Only a waiting run has one. */
export function deadlineOf(records: readonly JournalRecord[], run: RunRecord): readonly Write[] {
  const row = records.findLast((record) => record.type === 'run')?.run
  if (!row || row.state === 'running') return []
  const { pendingToolCalls = [], pendingApprovals = [] } = row
  return row.state === 'suspended' ? deadlineFor(run, { pendingToolCalls, pendingApprovals }) : withoutDeadline(run)
}

/** Wakes the run at the earliest deadline of its own calls. A call of a subagent wakes the run of the subagent. */
export function deadlineFor(run: RunRecord, { pendingToolCalls, pendingApprovals }: OpenQuestions): readonly Write[] {
  const times = [...pendingToolCalls, ...pendingApprovals].flatMap((each) => (each.path.length === 0 ? (each.deadlineAt ?? []) : []))
  if (times.length === 0) return withoutDeadline(run)
  return [{ op: 'timer.put', timers: [{ id: timerId(run), kind: 'deadline', dueAt: Math.min(...times), body: { runId: run.id } }] }]
}

/** Removes the deadline. Only a run that was claimed in the middle of its turn can have one. */
export function withoutDeadline(run: RunRecord): readonly Write[] {
  return run.turn === undefined ? [] : [{ op: 'timer.drop', ids: [timerId(run)] }]
}

function timerId({ id }: RunRecord): string {
  return `deadline:${id}`
}
