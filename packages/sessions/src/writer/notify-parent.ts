import type { JournalRecord } from '@bowline/agent-loop'
import { eventTimeOf } from './boundary.ts'
import type { Delivery, Write } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { isWaiting } from '../contract/run-status.ts'
import type { RunRecord, RunStatus } from '../contract/records.ts'
import { newsOfChild, lastAnswerOfChild, type ChildAnswer, type ChildNews } from './child-deliveries.ts'
import { originOf } from '../contract/origin.ts'
import { questionsAtRoot } from './questions-at-root.ts'

interface Boundary extends Pick<ChildNews, 'spent' | 'stopped' | 'batchId'> {
  readonly records: readonly JournalRecord[]
  readonly writes: readonly Write[]
}

/** Returns the deliveries that notify the sessions above a child of one of its commits. */
export async function notifyParent(
  store: SessionStore,
  run: RunRecord,
  { records, writes, ...news }: Boundary,
): Promise<readonly Delivery[]> {
  if (!originOf(run)) return []
  const at = eventTimeOf(records)
  const patch = writes.flatMap((write) => (write.op === 'run.patch' ? write.patch : [])).find((each) => each.status)
  const events = records.flatMap((record) => (record.type === 'event' ? record.event : []))
  const asked = await questionsAtRoot(store, run, { events, at, batchId: news.batchId })
  const { usage } = writes.flatMap((write) => (write.op === 'run.patch' ? write.patch : [])).find((each) => each.usage) ?? {}
  const answers = await answersIn(store, run, records, patch?.status)
  return [...newsOfChild(run, { ...patch, ...(usage && { usage }), ...news, answers, at }), ...asked]
}

/** Returns the answers of a commit. If it has none, repeats the last one when the run starts to wait or continues after a wait. */
async function answersIn(
  store: SessionStore,
  run: RunRecord,
  records: readonly JournalRecord[],
  status: RunStatus | undefined,
): Promise<readonly ChildAnswer[]> {
  const events = records.flatMap((record) => (record.type === 'event' ? record.event : []))
  const answers = events.filter((event) => event.type === 'message-end')
  if (answers.length > 0) return answers
  if (status !== undefined && isWaiting(status)) return lastAnswerOfChild(store, run, answeredStepIn(records))
  return run.reason !== undefined && events.some((event) => event.type === 'turn-start') ? lastAnswerOfChild(store, run) : []
}

/** Returns the step of the last answer. A run that asks about its budget has already started the next step. */
function answeredStepIn(records: readonly JournalRecord[]): number | undefined {
  const row = records.findLast((record) => record.type === 'run')?.run
  const asksBefore = row?.pendingApprovals?.some(({ about, path }) => about === 'budget' && path.length === 0)
  return row && (asksBefore ? row.step - 1 : row.step)
}
