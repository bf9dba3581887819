import type { JournalRecord } from '@bowline/agent-loop'
import { eventTimeOf } from '../journal/boundary.ts'
import type { Delivery, Write } from '../store/batch.ts'
import type { SessionStore } from '../store/contract.ts'
import type { RunRecord } from '../store/records.ts'
import { newsOfChild, type ChildNews } from './deliveries.ts'
import { originOf } from './origin.ts'
import { questionsAtRoot } from './questions.ts'

interface Boundary extends Pick<ChildNews, 'spent' | 'stopped' | 'batchId'> {
  readonly records: readonly JournalRecord[]
  readonly writes: readonly Write[]
}

/** What the sessions above a child are told in one of its commits. */
export async function tellAbove(store: SessionStore, run: RunRecord, { records, writes, ...news }: Boundary): Promise<readonly Delivery[]> {
  if (!originOf(run)) return []
  const at = eventTimeOf(records)
  const patch = writes.flatMap((write) => (write.op === 'run.patch' ? write.patch : [])).find((each) => each.status)
  const events = records.flatMap((record) => (record.type === 'event' ? record.event : []))
  const asked = await questionsAtRoot(store, run, { events, at, batchId: news.batchId })
  const { usage } = writes.flatMap((write) => (write.op === 'run.patch' ? write.patch : [])).find((each) => each.usage) ?? {}
  const answers = events.filter((event) => event.type === 'message-end')
  return [...newsOfChild(run, { ...patch, ...(usage && { usage }), ...news, answers, at }), ...asked]
}
