import type { ChildEndEvent, ChildUpdateEvent, DurableEvent } from '@bowline/agent-loop'
import type { AssistantMessage, Cost, Usage } from '@bowline/llm'
import { isAllAnswered, type OpenQuestions } from '../contract/answers.ts'
import type { Delivery } from '../contract/batch.ts'
import { keysAbove } from '../contract/child-keys.ts'
import { waitingStatuses, type RunParent, type RunRecord, type RunSpending, type RunStatus } from '../contract/records.ts'
import { isSettled, isTerminal, isWaiting, openStatuses } from '../contract/run-status.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { newEvent } from './new-event.ts'
import { lastAnswerOf, textOf } from './run-messages.ts'

/** Run of a subagent, as of before the commit. */
type Child = Pick<RunRecord, 'id' | 'session' | 'parent' | 'stop'> & OpenQuestions

/** Answer of a child. Step 0 has no message. */
export interface ChildAnswer {
  readonly step: number
  readonly message?: AssistantMessage | undefined
}

/** Changes that a commit makes to a child run. */
export interface ChildNews extends Partial<OpenQuestions> {
  /** New status of the run. */
  readonly status?: RunStatus | undefined
  /** Spent by the run itself: its children report their own. */
  readonly spent?: RunSpending | undefined
  /** Totals of the run if it ends, its children included. */
  readonly usage?: Usage
  readonly cost?: Cost | null | undefined
  readonly error?: RunRecord['error'] | null
  /** Answers of the commit. If it only changes the status, the last answer before it. */
  readonly answers?: readonly ChildAnswer[]
  /** True if the commit has met a stop request. */
  readonly stopped?: boolean
  readonly at: number
  /** Id of the commit's batch, so that a later change of the child is another notification. */
  readonly batchId: string
}

/**
 * Returns the deliveries to the sessions above for the commit in which a run of a subagent ends or starts to wait: its cost and, if
 * the run is a child, the notification of its parent.
 */
export function newsOfChild(child: Child, news: ChildNews): readonly Delivery[] {
  const { status } = news
  return [
    ...(status ? spendingAbove(child, { ...news, status }) : []),
    ...(child.parent ? toldInLog(child, child.parent, news) : []),
    ...(child.parent && status ? wordToParent(child, child.parent, { ...news, status }) : []),
  ]
}

type Moved = ChildNews & { readonly status: RunStatus }

const textCharacters = 500

/** Returns the events for the log of the parent: each answer of the child, its waits and resumptions, and its end. */
function toldInLog({ id }: Child, { session: to, runId, turn, step, toolCallId, path }: RunParent, news: ChildNews): readonly Delivery[] {
  const { status = 'running', at, batchId, answers = [], usage = {}, cost, error } = news
  const base = { at, runId, turn, toolCallId, childRunId: id, subagent: nameOfChild(path) }
  const stands = status === 'queued' || isTerminal(status) ? 'running' : status
  const events: readonly DurableEvent[] = [
    ...answers.map(({ step: ofChild, message }): ChildUpdateEvent => {
      const said = message && { text: textOf(message).slice(0, textCharacters).toWellFormed() }
      return { ...base, type: 'child-update', step: ofChild, status: stands, ...said, toolNames: message ? callsOf(message) : [] }
    }),
    ...(isTerminal(status)
      ? [{ ...base, type: 'child-end', step, status, usage, ...(cost && { cost }), ...(error && { error: wordsOf(error) }) } as const]
      : []),
  ]
  return events.length > 0 ? [{ id: `log:${id}:${batchId}`, to, writes: [{ op: 'event.append', events: events.map(newEvent) }] }] : []
}

function nameOfChild(path: RunParent['path']): string {
  return path.at(-1) ?? ''
}

function callsOf({ content }: AssistantMessage): readonly string[] {
  return content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [part.toolName] : []))
}

/** Maps errors of the runtime to one that the event of the loop can express. */
function wordsOf(error: NonNullable<RunRecord['error']>): NonNullable<ChildEndEvent['error']> {
  const given =
    'code' in error && (error.code === 'crash-loop' || error.code === 'store-unavailable' || error.code === 'definition-changed')
  return given ? { code: 'journal-failed', message: error.message } : (error as NonNullable<ChildEndEvent['error']>)
}

function spendingAbove({ id, session }: Child, { status, spent }: Moved): readonly Delivery[] {
  if (!isTerminal(status) || !spent) return []
  const patch = { childUsage: spent.usage, ...(spent.cost && { childCost: spent.cost }) }
  return keysAbove(session).map((to) => ({ id: `usage:${id}:${to}`, to, writes: [{ op: 'session.patch', patch }] }))
}

function wordToParent(child: Child, { session: to, runId, taskId, path, description }: RunParent, news: Moved): readonly Delivery[] {
  const { id } = child
  const { status, stopped = child.stop !== undefined, at, batchId } = news
  if (taskId !== undefined) {
    // No notification if the child was stopped. If it only waits for an answer, the root's log has the question.
    if (stopped || status === 'aborted' || !isSettled(news)) return []
    const body = {
      taskId,
      runId: id,
      group: runId,
      agent: nameOfChild(path),
      status,
      ...(description === undefined ? {} : { description }),
    }
    const row = { id: `child-settled:${id}:${status}`, kind: 'child-settled', at, body } as const
    return [{ id: `${row.id}:${batchId}`, to, writes: [{ op: 'inbox.put', rows: [row] }] }]
  }
  if (!concernsParent(child, news)) return []
  const row = { id: `child:${id}:${batchId}`, kind: 'child-changed', at, body: { runId: id } } as const
  return [
    { id: `${row.id}:put`, to, when: [{ that: 'run', runId, status: openStatuses }], writes: [{ op: 'inbox.put', rows: [row] }] },
    // Queues a parent that only waits. A busy parent finds the row before it starts to wait.
    {
      id: `${row.id}:wake`,
      to,
      when: [{ that: 'run', runId, status: waitingStatuses }],
      writes: [{ op: 'run.patch', runId, patch: { status: 'queued' } }],
    },
  ]
}

/**
 * True if the child has ended, needs help, or its questions have changed. Waiting for its own children does not concern the parent.
 */
function concernsParent(before: OpenQuestions, { status, pendingToolCalls = [], pendingApprovals = [] }: Moved): boolean {
  if (isSettled({ status })) return true
  return isWaiting(status) && !(isAllAnswered({ pendingToolCalls, pendingApprovals }) && isAllAnswered(before))
}

type Answering = Pick<RunRecord, 'id' | 'session' | 'parent' | 'step' | 'turnState'>

/** Returns the last answer of a started child, for a commit that only changes its status. `step` is the step of that answer. */
export async function lastAnswerOfChild(
  store: SessionStore,
  child: Answering,
  step = answeredStep(child),
): Promise<readonly ChildAnswer[]> {
  if (!child.parent) return []
  const message = await lastAnswerOf(store, child)
  return [message ? { step, message } : { step: 0 }]
}

function answeredStep({ step, turnState }: Answering): number {
  return turnState?.stepState === 'begun' ? step - 1 : step
}
