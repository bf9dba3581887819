import type { Cost, Usage } from '@bowline/llm'
import { isTerminal, isWaiting } from '../session/views.ts'
import type { Delivery } from '../store/contract.ts'
import type { RunRecord, RunStatus } from '../store/records.ts'
import { keysAbove } from './child-keys.ts'

/** What a commit makes of a child run. */
export interface ChildNews {
  readonly status: RunStatus
  readonly usage: Usage
  readonly cost?: Cost | undefined
  readonly at: number
  /** Of the commit: a later change of the child is other news. */
  readonly batchId: string
}

/**
 * What the sessions above a child are told in the commit in which it ends or comes to wait: what it cost, and the word to
 * whoever started it.
 */
export function newsOfChild(run: Pick<RunRecord, 'id' | 'session' | 'parent'>, news: ChildNews): readonly Delivery[] {
  if (!run.parent) return []
  return [...spendingAbove(run, news), ...wordToParent(run, run.parent, news)]
}

function spendingAbove({ id, session }: Pick<RunRecord, 'id' | 'session'>, { status, usage, cost }: ChildNews): readonly Delivery[] {
  if (!isTerminal(status)) return []
  const patch = { childUsage: usage, ...(cost && { childCost: cost }) }
  return keysAbove(session).map((to) => ({ id: `usage:${id}:${to}`, to, writes: [{ op: 'session.patch', patch }] }))
}

function wordToParent(
  { id }: Pick<RunRecord, 'id'>,
  { session: to, runId, taskId, path, description }: NonNullable<RunRecord['parent']>,
  { status, at, batchId }: ChildNews,
): readonly Delivery[] {
  if (taskId !== undefined) {
    // Who stops a child knows of it, and what only waits for an answer is asked in the log of the root.
    if (status === 'aborted' || !(isTerminal(status) || status === 'needs-recovery')) return []
    const agent = path.at(-1) ?? ''
    const body = { taskId, runId: id, group: runId, agent, status, ...(description === undefined ? {} : { description }) }
    const row = { id: `child-settled:${id}:${status}`, kind: 'child-settled', at, body } as const
    return [{ id: row.id, to, writes: [{ op: 'inbox.put', rows: [row] }] }]
  }
  if (!isTerminal(status) && !isWaiting(status)) return []
  const row = { id: `child:${id}:${batchId}`, kind: 'child-changed', at, body: { runId: id } } as const
  return [
    { id: `${row.id}:put`, to, when: [{ that: 'run', runId, status: ['running', 'queued', 'awaiting-tools', 'awaiting-approval'] }], writes: [{ op: 'inbox.put', rows: [row] }] },
    // A parent that only waits goes on; one that is busy finds the row before it comes to wait.
    { id: `${row.id}:wake`, to, when: [{ that: 'run', runId, status: ['awaiting-tools', 'awaiting-approval'] }], writes: [{ op: 'run.patch', runId, patch: { status: 'queued' } }] },
  ]
}
