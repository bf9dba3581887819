import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { FieldChecks } from '@bowline/llm/arguments'
import { SessionError } from '@bowline/sessions'
import type { LoggedEvent, RunInfo, Runtime, Session } from '@bowline/sessions'
import { sessionsVersionCheck } from '@bowline/sessions/internal'
import type { BridgeAgent, BridgeEvent, CancelContext, PromptContext, PromptResult, SessionContext } from '../agent.ts'
import { defineBridgeAgent } from '../agent.ts'
import { checkId, configChecks as check, refusedConfig } from '../arguments.ts'
import { workContextOf } from '../context.ts'
import { BridgeError } from '../errors.ts'
import { ownerKey } from '../owner-key.ts'
import { readableEvents } from '../readable-events.ts'
import { hasSettled, heldFailure, isWaiting, lastText, pendingInputs } from '../requests/run-result.ts'
import { giveAnswers } from './give-answers.ts'
import type { AnswerTarget } from './give-answers.ts'
import { noteRun } from './run-contexts.ts'
import { throwRuntimeFailure } from './runtime-failure.ts'

/** Agent of the runtime, its id in the bridge, and what happens to its sessions on close. */
export interface RuntimeAgentOptions {
  /** Name of the agent in the runtime. */
  readonly agent: string
  /** Id of the agent in the bridge. Default: its name. */
  readonly id?: string
  /**
   * Whether to keep or delete the runtime's session when the bridge session is closed. `delete` also ends it for other bridge
   * sessions that continue the same conversation. Default `keep`.
   */
  readonly onClose?: 'keep' | 'delete'
}

const checkRuntimeVersion = sessionsVersionCheck(refusedConfig)

const optionChecks: FieldChecks<RuntimeAgentOptions> = {
  agent: check.checkName,
  id: check.optionalName,
  onClose: check.oneOf('keep', 'delete'),
}

type LoopEvent = Extract<BridgeEvent, { type: 'agent-event' }>

interface Resting {
  readonly run: RunInfo
  /** Last text of the run's events. */
  readonly text: string
}

const stopWaitMs = 5000

/**
 * Creates a durable agent from an agent of a runtime. Each conversation is a session. Each request is a run under the request's id,
 * which any process on the store may execute. Does not start or stop the runtime. Throws `CONFIG`.
 */
export function runtimeAgent(runtime: Runtime, options: RuntimeAgentOptions): BridgeAgent {
  checkRuntimeVersion('runtimeAgent.runtime', runtime)
  check.requiredMethods('session', 'start', 'stop')('runtimeAgent.runtime', runtime)
  check.record(optionChecks)('runtimeAgent.options', options)
  const { agent, id = agent, onClose = 'keep' } = options
  checkId('id', id)
  checkAgentOf(runtime, agent)
  /** Run ids by request, for runs whose events this process is reading. */
  const followed = new Map<string, string>()

  function sessionOf({ owner, conversationId, metadata }: SessionContext): Session {
    return runtime.session(`bridge:${ownerKey(owner)}:${conversationId}`, { agent, metadata })
  }

  async function* answer(request: PromptContext, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    const session = sessionOf(request.session)
    const forget = noteRun(session.key, workContextOf(request.session, request.requestId))
    try {
      yield* request.answers ? resumed(session, request, request.answers, reading) : begun(session, request, reading)
    } finally {
      forget()
    }
  }

  /** Starts the run, or joins the run that already has this id. */
  async function* begun(session: Session, request: PromptContext, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    const { prompt, requestId, runtimeParams } = request
    const run = await session
      // The store ensures that a session has one prompt at a time, across all processes.
      .send(prompt, { id: requestId, onBusy: 'reject', ...(Object.keys(runtimeParams).length > 0 && { runtimeParams }) })
      .catch(throwRuntimeFailure(id, 'prompt'))
    yield* follow(session, run.runId, request, run.events({ abortSignal: reading }))
  }

  async function* resumed(
    session: Session,
    request: PromptContext,
    answers: NonNullable<PromptContext['answers']>,
    reading: AbortSignal,
  ): AsyncGenerator<BridgeEvent> {
    const before = await session.info().catch(throwRuntimeFailure(id, 'answers'))
    const run = await runOf(session, request).catch(throwRuntimeFailure(id, 'answers'))
    if (!run || !before) throw unknownRequest(request)
    const { runId } = run
    const fresh = await giveAnswers(targetOf(session, run, request), answers).catch(throwRuntimeFailure(id, 'answers'))
    // If no answer is new, the run may have advanced since they were accepted. So all its events are read again.
    const cursor = fresh ? before.cursor : run.cursor
    const resting = yield* follow(session, runId, request, session.events({ runId, cursor, abortSignal: reading }))
    const result = resting && waitingResult(resting.run, resting.text)
    // The log does not record which of several questions have been answered.
    if (result) yield { type: 'result', result }
  }

  /** Yields the events of the run until it ends or waits. Returns the run if it has not ended. */
  async function* follow(
    session: Session,
    runId: string,
    request: PromptContext,
    events: AsyncIterable<LoggedEvent>,
  ): AsyncGenerator<LoopEvent, Resting | undefined> {
    let view = emptyView
    const key = followKey(request)
    followed.set(key, runId)
    try {
      // The cancel may have arrived before there was a run to stop.
      if (request.abortSignal.aborted) await session.stop({ runId, waitMs: 0 })
      for await (const event of events) {
        view = reduceEvents(view, event)
        yield { type: 'agent-event', event }
      }
      if (hasSettled(view) && !isWaiting(view)) return undefined
      const run = await runOf(session, request)
      if (run?.heldRuns && pendingInputs(run).length === 0) throw heldFailure(id, run.heldRuns)
      return run && { run, text: lastText(view) }
    } catch (error) {
      throwRuntimeFailure(id, 'events')(error)
    } finally {
      followed.delete(key)
    }
  }

  function unknownRequest({ requestId }: PromptContext): BridgeError {
    return new BridgeError('NOT_FOUND', `Agent ${id} has no run for this request`, { details: { agentId: id, requestId } })
  }

  return defineBridgeAgent({
    specificationVersion: 'v1',
    info: { id },
    durable: true,
    stateStore: runtime.store.state,
    async onSessionCreate(context) {
      if (onClose === 'keep' || context.conversationId === context.sessionId) return
      if (!(await sessionOf(context).info().catch(throwRuntimeFailure(id, 'prompt')))) throw notResumable(id)
    },
    onPrompt: (request) => readableEvents((reading) => answer(request, reading)),
    async onCancel(request) {
      const session = sessionOf(request.session)
      const reading = followed.get(followKey(request))
      const runId = reading ?? (await runOf(session, request))?.runId
      // A reader of the events sees the end of the run there, so do not wait for it here.
      if (runId !== undefined) await session.stop({ runId, reason: request.reason, waitMs: reading === undefined ? stopWaitMs : 0 })
    },
    async onSessionClose(context) {
      if (onClose === 'delete') await sessionOf(context).delete().catch(throwRuntimeFailure(id, 'close'))
    },
  })
}

function targetOf(session: Session, { pendingToolCalls }: RunInfo, { session: { owner } }: PromptContext): AnswerTarget {
  return {
    pendingToolCalls,
    decide: (approvalId, decision, details) => session[decision](approvalId, { ...details, by: owner }),
    submit: (results) => session.submitToolResults(results, { unknownOutcomes: false }),
  }
}

/** Returns the result of a run with open questions, or undefined if it has none. */
function waitingResult(run: RunInfo, text: string): PromptResult | undefined {
  const pending = pendingInputs(run)
  if (pending.length === 0) return undefined
  const { usage, cost } = run
  return { text, stopReason: 'needs_input', pending, ...(Object.keys(usage).length > 0 && { usage }), ...(cost && { cost }) }
}

/** Finds the run with the request's id: the open run, or one of the newest. */
async function runOf(session: Session, { requestId }: Pick<PromptContext, 'requestId'>): Promise<RunInfo | undefined> {
  const info = await session.info()
  if (!info || info.openRun?.inputId === requestId) return info?.openRun
  for (let page: string | undefined; ;) {
    const { items, next } = await session.runs({ newestFirst: true, ...(page !== undefined && { page }) })
    const found = items.find(({ inputId }) => inputId === requestId)
    if (found || next === undefined) return found
    page = next
  }
}

/** Throws `CONFIG` if the runtime has no such agent. Creating a session handle does no I/O. */
function checkAgentOf(runtime: Runtime, agent: string): void {
  try {
    runtime.session('bridge:check', { agent })
  } catch (error) {
    if (!SessionError.isInstance(error)) throw error
    throw new BridgeError('CONFIG', `The runtime has no agent ${agent}; add it to agents of createRuntime`, {
      details: { reason: error.code },
    })
  }
}

function notResumable(agentId: string): BridgeError {
  const details = { agentId, reason: 'not-resumable' }
  return new BridgeError('CONFIG', `Agent ${agentId} no longer has this conversation`, { details })
}

function followKey({ session, requestId }: Pick<CancelContext, 'session' | 'requestId'>): string {
  return `${session.sessionId} ${requestId}`
}
