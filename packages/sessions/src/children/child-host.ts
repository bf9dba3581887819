import {
  AgentError,
  hashJson,
  type ChildHost,
  type ChildOutcome,
  type ChildRequest,
  type ChildStartEvent,
  type Tool,
} from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import { insertion, sessionStart } from '../commands/queued-run.ts'
import { messageOf } from '../commands/new-run.ts'
import { lastTextOf } from '../writer/run-messages.ts'
import { openQuestions, readAnswers } from '../contract/answers.ts'
import { isTerminal, isWaiting } from '../contract/run-status.ts'
import type { CommitResult, Delivery, NewRun, NewSession, Write } from '../contract/batch.ts'
import type { RunParent, RunRecord, SessionRecord } from '../contract/records.ts'
import type { ChildContext } from './child-context.ts'
import { childSessionKey, taskIdOf } from '../contract/child-keys.ts'
import { approvalsBelow } from '../writer/approvals-below.ts'
import { checkLimits } from './limits.ts'
import { originOf } from '../contract/origin.ts'

export interface ChildHostOptions {
  readonly context: ChildContext
  readonly session: SessionRecord
  readonly run: RunRecord
  readonly tools: readonly Tool[]
  /** Stores a start in the queue of the run's commits, under its fence. */
  readonly spawn: (deliveries: readonly Delivery[], event: ChildStartEvent) => Promise<CommitResult>
}

const notStarted = { kind: 'not-started' } as const

/** Runs subagents as runs of their own, in sessions below their parent's. */
export function childHost(options: ChildHostOptions): ChildHost {
  const { context, tools } = options
  const background = context.background.mode !== 'none'
  // One after the other, so that the limits count earlier launches.
  let launches: Promise<unknown> = Promise.resolve()
  const launchNext = (request: ChildRequest): Promise<RunRecord | undefined> => {
    const launched = launches.then(() => launch(options, request))
    launches = launched.catch(() => undefined)
    return launched
  }
  return {
    sessionKeys: true,
    logs: true,
    background,
    ...(background ? { tools } : {}),
    ...depthOf(options.run),
    start,
  }

  async function start(request: ChildRequest): Promise<ChildOutcome> {
    const child = (await readChild(options, request.key)) ?? (await launchNext(request))
    if (!child) return notStarted
    if (request.abortSignal.aborted && !isTerminal(child.status)) await context.stopChild(child)
    return outcomeOf(options, request.abortSignal.aborted ? await required(options, child.id) : child, request.asked)
  }
}

function depthOf(run: RunRecord): Pick<ChildHost, 'depth' | 'maxDepth' | 'onBudget'> {
  const origin = originOf(run)
  return origin
    ? { depth: origin.path.length, maxDepth: origin.maxDepth, ...(origin.onBudget && { onBudget: origin.onBudget }) }
    : { depth: 0 }
}

async function readChild({ context: { store } }: ChildHostOptions, runId: string): Promise<RunRecord | undefined> {
  const read = await store.readRun(runId)
  return read.status === 'found' ? read.value : undefined
}

async function required(options: ChildHostOptions, runId: string): Promise<RunRecord> {
  const child = await readChild(options, runId)
  if (!child) throw new AgentError('invalid-input', 'The conversation with the subagent was deleted or has expired.')
  return child
}

/** Launches a child. Returns undefined if the parent was stopped before, in the store or here. */
async function launch(options: ChildHostOptions, request: ChildRequest): Promise<RunRecord | undefined> {
  const { context, spawn } = options
  const { abortSignal } = request
  if (!abortSignal.aborted) await checkLimits(options, request)
  if (abortSignal.aborted) return undefined
  const [opening, start] = spawnOf(options, request)
  const result = await spawn([opening, start], startOf(options, request))
  if (!result.ok && result.reason === 'stopping') return undefined
  if (!result.ok) throw new AgentError('fenced', 'Another process has taken over the run.')
  context.announce(start.to)
  context.wake(start.to)
  return required(options, request.key)
}

function spawnOf({ context, session, run }: ChildHostOptions, request: ChildRequest): readonly [Delivery, Delivery] {
  const at = context.clock.now()
  const { agent, key: runId, toolCallId, turn, step, description, background, maxDepth, onBudget } = request
  const taskId = taskIdOf(runId)
  const origin = originOf(run)
  const to = childSessionKey(session.key, agent, request.sessionKey ?? taskId)
  const parent: RunParent = {
    session: session.key,
    runId: run.id,
    toolCallId,
    turn,
    step,
    path: [...(origin?.path ?? []), agent],
    root: origin?.root ?? session.key,
    rootAgent: origin?.rootAgent ?? session.agent,
    maxDepth,
    ...(onBudget === 'ask' && { onBudget }),
    ...(description === undefined ? {} : { description }),
    ...(background ? { taskId } : {}),
  }
  const input = messageOf(request.input) as unknown as JSONValue
  const child: NewRun = { id: runId, kind: 'child', inputHash: hashJson(input), input, parent, at }
  const { metadata, owner } = session
  const { notify: _ofTheRoot, ...settings } = session.settings
  const created: NewSession = {
    id: context.ids.next('session'),
    agent,
    metadata,
    settings,
    parent: session.key,
    at,
    ...(owner === undefined ? {} : { owner }),
  }
  const opening: Write[] = [
    { op: 'session.ensure', session: created },
    { op: 'event.append', events: [{ event: sessionStart(to, at) }] },
  ]
  return [
    { id: `open:${runId}`, to, when: [{ that: 'session', id: null }], writes: opening },
    { id: `spawn:${runId}`, to, writes: insertion(child) },
  ]
}

/** Returns the event for the log of the parent, stored in the commit that starts the child. */
function startOf(
  { context, run }: ChildHostOptions,
  { agent, key, toolCallId, turn, step, description, background }: ChildRequest,
): ChildStartEvent {
  return {
    type: 'child-start',
    at: context.clock.now(),
    runId: run.id,
    turn,
    step,
    toolCallId,
    childRunId: key,
    subagent: agent,
    ...(description === undefined ? {} : { description }),
    ...(background ? { taskId: taskIdOf(key) } : {}),
  }
}

/** Returns the outcome of a child for its parent. */
async function outcomeOf({ context: { store } }: ChildHostOptions, child: RunRecord, asked: readonly string[]): Promise<ChildOutcome> {
  const { id: childRunId, status, parent, usage, cost, error, step: steps } = child
  if (parent?.taskId !== undefined) return { kind: 'launched', childRunId, taskId: parent.taskId }
  const { pendingToolCalls } = isWaiting(status) ? openQuestions(child, await readAnswers(store, child.session)) : { pendingToolCalls: [] }
  // While a child works, its earlier questions stay open and there are no others.
  const pendingApprovals = child.pendingApprovals.filter(({ approvalId }) => isWaiting(status) || asked.includes(approvalId))
  const approvals = await approvalsBelow(store, child, [...new Set([...asked, ...pendingApprovals.map(({ approvalId }) => approvalId)])])
  const decided = approvals.decided.filter(({ approvalId }) => asked.includes(approvalId))
  if (isTerminal(status)) {
    const ended = { kind: 'ended', childRunId, status, text: await lastTextOf(store, child), steps, usage } as const
    const told =
      error && error.code !== 'crash-loop' && error.code !== 'store-unavailable' && error.code !== 'definition-changed' ? { error } : {}
    return { ...ended, ...(cost && { cost }), ...told, decided } as ChildOutcome
  }
  return {
    kind: 'pending',
    childRunId,
    pendingToolCalls,
    pendingApprovals: pendingApprovals.filter(({ approvalId }) => approvals.open.has(approvalId)),
    decided,
  }
}
