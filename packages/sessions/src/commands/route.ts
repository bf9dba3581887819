import { originOf } from '../contract/origin.ts'
import type { Delivery } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import type { SessionContext } from './context.ts'
import { SessionError } from '../errors.ts'
import { waitingStatuses } from '../contract/records.ts'

/** The session of the subagent that stands at the end of these tool call ids, or this one. */
export async function sessionBelow(store: SessionStore, key: string, path: readonly string[]): Promise<string> {
  const [first, ...rest] = path
  if (first === undefined) return key
  const call = await store.readCall(key, first)
  const child = call.status === 'found' ? await store.readRun(`${call.value.runId}/${first}`) : call
  if (child.status === 'missing') throw new SessionError('unknown-tool-call', `No subagent works for the call ${first}.`, { refused: [{ id: first, code: 'unknown-tool-call' }] })
  return sessionBelow(store, child.value.session, rest)
}

/** The run of this session for which a run below it works. */
export async function runAbove(store: SessionStore, key: string, runId: string): Promise<string> {
  const read = await store.readRun(runId)
  const origin = read.status === 'missing' || read.value.session === key ? undefined : originOf(read.value)
  return origin ? runAbove(store, key, origin.runId) : runId
}

/** Names of the agents of the sessions between the two, that of the lower one included. */
export function agentsBelow(key: string, below: string): readonly string[] {
  return below.slice(key.length).split('~').filter((_part, place) => place % 2 === 1)
}

export function isBelow(key: string, root: string): boolean {
  return key === root || key.startsWith(`${root}~`)
}

/** How an open question is named in the lists of the run that asks it: approvals by their id, calls by their path. */
function nameOfCall({ path, toolCallId }: { readonly path: readonly string[]; readonly toolCallId: string }): string {
  return [...path, toolCallId].join('/')
}

/** Tells the runs above, which wait for this one, that a question of theirs has its answer. */
export async function answeredAbove({ store, ids }: Pick<SessionContext, 'store' | 'ids'>, run: RunRecord, asked: readonly { readonly approvalId: string }[] | readonly { readonly toolCallId: string }[]): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  // Calls of different steps may have one id.
  const batch = ids.next('delivery')
  let path: readonly string[] = []
  for (let parent = run.parent; parent && parent.taskId === undefined; ) {
    const { session: to, runId, toolCallId } = parent
    path = [toolCallId, ...path]
    const answered = asked.map((each) => ('approvalId' in each ? each.approvalId : nameOfCall({ path, toolCallId: each.toolCallId })))
    const when = [{ that: 'run', runId, status: waitingStatuses } as const]
    deliveries.push({ id: `answered:${batch}:${to}`, to, when, writes: [{ op: 'run.patch', runId, patch: { answered } }] })
    const above = await store.readRun(runId)
    parent = above.status === 'found' ? above.value.parent : undefined
  }
  return deliveries
}
