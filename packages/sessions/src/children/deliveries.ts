import { isAllAnswered, isSettled, isTerminal, isWaiting, openStatuses, type OpenQuestions } from '../session/views.ts'
import type { Delivery } from '../store/batch.ts'
import { waitingStatuses } from '../store/records.ts'
import type { RunRecord, RunSpending, RunStatus } from '../store/records.ts'
import { keysAbove } from './child-keys.ts'

/** A run of a subagent as it was before the commit. */
type Child = Pick<RunRecord, 'id' | 'session' | 'parent' | 'stop'> & OpenQuestions

/** What a commit makes of a child run. */
export interface ChildNews extends Partial<OpenQuestions> {
  readonly status: RunStatus
  /** By the run itself: its own children have told of theirs. */
  readonly spent?: RunSpending | undefined
  /** The commit has met a stop request. */
  readonly stopped?: boolean
  readonly at: number
  /** Of the commit: a later change of the child is other news. */
  readonly batchId: string
}

/**
 * Returns the deliveries to the sessions above for the commit in which a run of a subagent ends or starts to wait: its cost
 * and, if the run is a child, the news for its parent.
 */
export function newsOfChild(child: Child, news: ChildNews): readonly Delivery[] {
  return [...spendingAbove(child, news), ...(child.parent ? wordToParent(child, child.parent, news) : [])]
}

function spendingAbove({ id, session }: Child, { status, spent }: ChildNews): readonly Delivery[] {
  if (!isTerminal(status) || !spent) return []
  const patch = { childUsage: spent.usage, ...(spent.cost && { childCost: spent.cost }) }
  return keysAbove(session).map((to) => ({ id: `usage:${id}:${to}`, to, writes: [{ op: 'session.patch', patch }] }))
}

function wordToParent(child: Child, { session: to, runId, taskId, path, description }: NonNullable<Child['parent']>, news: ChildNews): readonly Delivery[] {
  const { id } = child
  const { status, stopped = child.stop !== undefined, at, batchId } = news
  if (taskId !== undefined) {
    // Who stops a child knows of it, and what only waits for an answer is asked in the log of the root.
    if (stopped || status === 'aborted' || !isSettled(news)) return []
    const agent = path.at(-1) ?? ''
    const body = { taskId, runId: id, group: runId, agent, status, ...(description === undefined ? {} : { description }) }
    const row = { id: `child-settled:${id}:${status}`, kind: 'child-settled', at, body } as const
    return [{ id: row.id, to, writes: [{ op: 'inbox.put', rows: [row] }] }]
  }
  if (!concernsParent(child, news)) return []
  const row = { id: `child:${id}:${batchId}`, kind: 'child-changed', at, body: { runId: id } } as const
  return [
    { id: `${row.id}:put`, to, when: [{ that: 'run', runId, status: openStatuses }], writes: [{ op: 'inbox.put', rows: [row] }] },
    // A parent that only waits goes on; one that is busy finds the row before it comes to wait.
    { id: `${row.id}:wake`, to, when: [{ that: 'run', runId, status: waitingStatuses }], writes: [{ op: 'run.patch', runId, patch: { status: 'queued' } }] },
  ]
}

/** It has ended, needs help, or what it asks has changed; that it waits for children of its own is its own affair. */
function concernsParent(before: OpenQuestions, { status, pendingToolCalls = [], pendingApprovals = [] }: ChildNews): boolean {
  if (isSettled({ status })) return true
  return isWaiting(status) && !(isAllAnswered({ pendingToolCalls, pendingApprovals }) && isAllAnswered(before))
}
