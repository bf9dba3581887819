import { isSuspended, type ChildDecision, type DurableEvent } from '@bowline/agent-loop'
import { newEvent } from './new-event.ts'
import type { OpenQuestions } from '../contract/answers.ts'
import type { Delivery } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunParent, RunRecord } from '../contract/records.ts'
import { approvalsBelow } from './approvals-below.ts'
import { originOf } from '../contract/origin.ts'

type Task = Pick<RunRecord, 'id' | 'parent' | 'origin' | 'step' | 'turn' | 'answeredBelow'> & OpenQuestions

interface Asked {
  /** Events of the commit. */
  readonly events: readonly DurableEvent[]
  /** True if the task ends, or is given up, in the commit. */
  readonly ends?: boolean
  readonly at: number
  readonly batchId: string
}

/**
 * Returns the deliveries that log the questions of a run, and their outcomes, at the root. Needed for runs that no run above waits
 * for: background tasks, and further runs in the session of a subagent. For other children, the runs above log the questions.
 */
export async function questionsAtRoot(
  store: SessionStore,
  task: Task,
  { events, ends = false, at, batchId }: Asked,
): Promise<readonly Delivery[]> {
  const origin = originOf(task)
  if (!origin || (task.parent && task.parent.taskId === undefined)) return []
  const begins = events.some((event) => event.type === 'turn-start')
  // A run that ends may have listed calls since it was claimed.
  const listed = events.some((event) => event.type === 'turn-end' && !isSuspended(event.status)) ? await store.readRun(task.id) : undefined
  const asked =
    task.pendingToolCalls.length > 0 ||
    task.answeredBelow === true ||
    (listed?.status === 'found' && listed.value.pendingToolCalls.length > 0)
  const own = events.filter(
    (event) => event.type === 'approval-requested' || event.type === 'approval-resolved' || event.type === 'awaiting-tools',
  )
  const answered = (begins || ends || listed) && asked && !own.some((event) => event.type === 'awaiting-tools')
  const left = ends ? await approvalsLeft(store, task, origin) : []
  if (own.length === 0 && !answered && left.length === 0) return []
  const above = await callsAbove(store, task)
  const base = { at, runId: task.id, turn: task.turn ?? 0, step: task.step }
  const told: readonly DurableEvent[] = [
    ...(answered ? [{ ...base, type: 'awaiting-tools', pendingToolCalls: [] } as const] : []),
    ...own,
    ...left.map((decision) => ({ ...base, ...decision, type: 'approval-resolved' }) as const),
  ]
  const writes = [{ op: 'event.append', events: told.map((event) => newEvent(atRoot(event, origin.path, above))) }] as const
  return [{ id: `asked:${batchId}`, to: origin.root, writes }]
}

/** Logs at the root that a run below waits for `recover`, and why. No other event there names the run. */
export async function heldAtRoot(
  store: SessionStore,
  run: RunRecord,
  held: Pick<Asked, 'at' | 'batchId'> & { readonly message: string },
): Promise<readonly Delivery[]> {
  const origin = originOf(run)
  if (!origin) return []
  const { at, batchId, message } = held
  const path = await callsAbove(store, run)
  const event = {
    at,
    type: 'error',
    runId: run.id,
    turn: run.turn ?? 0,
    agent: origin.path,
    path,
    source: 'definition',
    message,
    fatal: false,
  } as const
  return [{ id: `held:${batchId}`, to: origin.root, writes: [{ op: 'event.append', events: [newEvent(event)] }] }]
}

/**
 * Returns the outcomes of approvals that are open in the log of the root when the task ends. Reads the ledger: the lists of the run
 * are as old as its last rest.
 */
async function approvalsLeft(store: SessionStore, { id, step }: Task, origin: RunParent): Promise<readonly Omit<ChildDecision, 'agent'>[]> {
  const calls = (await store.readCalls(id, step)).filter(({ state }) => state !== 'settled')
  const named = calls.flatMap(({ toolCallId, approval, asked = [] }) =>
    approval?.state === 'requested' ? [{ approvalId: approval.approvalId, toolCallId }, ...asked] : asked,
  )
  const { decided } = await approvalsBelow(
    store,
    { parent: origin },
    named.map(({ approvalId }) => approvalId),
  )
  return named.map((each) => decided.find(({ approvalId }) => approvalId === each.approvalId) ?? { ...each, decision: 'cancelled' })
}

/** Returns the ids of the calls from the root down to the call that launched the task. */
async function callsAbove(store: SessionStore, run: Pick<RunRecord, 'parent' | 'origin'>): Promise<readonly string[]> {
  const origin = originOf(run)
  if (!origin) return []
  const above = origin.session === origin.root ? undefined : await store.readRun(origin.runId)
  return [...(above?.status === 'found' ? await callsAbove(store, above.value) : []), origin.toolCallId]
}

interface Placed {
  readonly path: readonly string[]
  readonly agent: readonly string[]
}

function atRoot(event: DurableEvent, agents: readonly string[], background: readonly string[]): DurableEvent {
  const placed = <Entry extends Placed>(entry: Entry): Entry => ({
    ...entry,
    path: [...background, ...entry.path],
    agent: [...agents, ...entry.agent],
  })
  switch (event.type) {
    case 'awaiting-tools':
      return { ...event, background, agent: agents, pendingToolCalls: event.pendingToolCalls.map(placed) }
    case 'approval-requested':
      return { ...event, background, path: [...background, ...event.path], agent: [...agents, ...(event.agent ?? [])] }
    case 'approval-resolved':
      return { ...event, background, agent: [...agents, ...(event.agent ?? [])] }
    default:
      return event
  }
}
