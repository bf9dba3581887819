import { originOf } from '../contract/origin.ts'
import type { Delivery } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import type { SessionContext } from './context.ts'
import { SessionError } from '../errors.ts'
import { waitingStatuses } from '../contract/records.ts'

/** Returns the session of the subagent at the end of this path of tool call ids, or this session if the path is empty. */
export async function sessionBelow(store: SessionStore, key: string, path: readonly string[]): Promise<string> {
  const [first, ...rest] = path
  if (first === undefined) return key
  const call = await store.readCall(key, first)
  const child = call.status === 'found' ? await store.readRun(`${call.value.runId}/${first}`) : call
  if (child.status === 'missing')
    throw new SessionError(
      'unknown-tool-call',
      `The call ${first} has no subagent. Take the path from pendingToolCalls or pendingApprovals.`,
      { refused: [{ id: first, code: 'unknown-tool-call' }] },
    )
  return sessionBelow(store, child.value.session, rest)
}

/** Returns the run of this session on whose behalf a run below it works. */
export async function runAbove(store: SessionStore, key: string, runId: string): Promise<string> {
  const read = await store.readRun(runId)
  const origin = read.status === 'missing' || read.value.session === key ? undefined : originOf(read.value)
  return origin ? runAbove(store, key, origin.runId) : runId
}

/** Returns the names of the agents from below `key` down to `below`, its own included. */
export function agentsBelow(key: string, below: string): readonly string[] {
  return below
    .slice(key.length)
    .split('~')
    .filter((_part, place) => place % 2 === 1)
}

export function isBelow(key: string, root: string): boolean {
  return key === root || key.startsWith(`${root}~`)
}

/** Returns the name of an open question in the lists of its run: approvals by id, calls by path. */
function nameOfCall({ path, toolCallId }: { readonly path: readonly string[]; readonly toolCallId: string }): string {
  return [...path, toolCallId].join('/')
}

/** Returns the deliveries that mark questions as answered in the waiting runs above. */
export async function answeredAbove(
  { store, ids }: Pick<SessionContext, 'store' | 'ids'>,
  run: RunRecord,
  asked: readonly { readonly approvalId: string }[] | readonly { readonly toolCallId: string }[],
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  // Calls of different steps may have the same id.
  const batch = ids.next('delivery')
  let path: readonly string[] = []
  for (let parent = run.parent; parent && parent.taskId === undefined;) {
    const { session: to, runId, toolCallId } = parent
    path = [toolCallId, ...path]
    const answered = asked.map((each) => ('approvalId' in each ? each.approvalId : nameOfCall({ path, toolCallId: each.toolCallId })))
    // A run that still stores records after its suspension is `running`.
    const when = [{ that: 'run', runId, status: ['running', ...waitingStatuses] } as const]
    deliveries.push({ id: `answered:${batch}:${to}`, to, when, writes: [{ op: 'run.patch', runId, patch: { answered } }] })
    const above = await store.readRun(runId)
    parent = above.status === 'found' ? above.value.parent : undefined
  }
  return deliveries
}
