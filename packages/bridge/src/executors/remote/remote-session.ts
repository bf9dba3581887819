import { createHash } from 'node:crypto'
import { emptyView, statusOf } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import { foldEvent } from '@bowline/client'
import type { ClientEvent, ClientSession, ExecuteResult, Run, SendOptions, SessionView } from '@bowline/client'
import type { RuntimeParams } from '@bowline/llm'
import type { Answer, BridgeEvent, CancelContext, PromptContext, PromptResult, SessionContext } from '../../agent.ts'
import { giveAnswers } from '../../agents/give-answers.ts'
import { BridgeError } from '../../errors.ts'
import { hasSettled, heldFailure, isWaiting, lastText, pendingInputs, settledRun } from '../../requests/run-result.ts'
import { isMissing, remoteFailure } from './remote-failure.ts'
import type { RemoteServer } from './remote-server.ts'

const stopWaitMs = 5000

/** One conversation on a server. This process stores nothing that the server does not have. */
export class RemoteSession {
  readonly #server: RemoteServer
  readonly #agentName: string
  readonly #context: SessionContext
  readonly #session: ClientSession
  /** Runs by request id, until a run ends or first waits. */
  readonly #runs = new Map<string, Run>()

  constructor(server: RemoteServer, agentName: string, context: SessionContext) {
    this.#server = server
    this.#agentName = agentName
    this.#context = context
    this.#session = server.client.session(sessionIdOf(context))
  }

  /** Checks that the conversation to continue still exists. With `onClose: 'delete'`, a missing session means that it was closed. */
  async checkResumable(): Promise<void> {
    const { agentId } = this.#context
    if (this.#server.options.onClose !== 'delete') return
    try {
      await this.#session.state({ limit: 1 })
    } catch (error) {
      if (!isMissing(error)) throw this.#failure(error)
      throw new BridgeError('CONFIG', `Agent ${agentId} no longer has this conversation`, { details: { agentId, reason: 'not-resumable' } })
    }
  }

  async *events(request: PromptContext, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    try {
      yield* request.answers ? this.#resumed(request.answers, reading) : this.#begun(request, reading)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  async cancel({ requestId }: CancelContext): Promise<void> {
    const run = this.#runs.get(requestId)
    try {
      if (!run) await this.#session.stop({ waitMs: stopWaitMs })
      else if ((await run.accepted()).ok) await this.#session.stop({ ...(run.runId !== undefined && { runId: run.runId }), waitMs: 0 })
    } catch (error) {
      if (!isMissing(error)) throw this.#failure(error)
    }
  }

  async close(): Promise<void> {
    if (this.#server.options.onClose !== 'delete') return
    await this.#session.delete().catch((error: unknown) => {
      if (!isMissing(error)) throw this.#failure(error)
    })
  }

  /** Starts the run, or joins the run that already has this id on the server. */
  async *#begun({ prompt, requestId, runtimeParams }: PromptContext, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    const { metadata, depth } = this.#context
    const run = this.#session.send(prompt, {
      id: requestId,
      agent: this.#agentName,
      metadata,
      abortSignal: reading,
      ...paramsOf(runtimeParams),
      ...(depth > 0 && { headers: { 'x-bowline-depth': String(depth) } }),
    })
    this.#runs.set(requestId, run)
    let resynced = false
    let counted = false
    try {
      for await (const event of run) {
        resynced ||= event.type === 'resync'
        counted ||= event.type === 'turn-end'
        if (isLoopEvent(event)) yield { type: 'agent-event', event }
      }
    } finally {
      this.#runs.delete(requestId)
    }
    const result = await run.result()
    if (result.failure) throw result.failure
    this.#checkHeld({ pendingToolCalls: [], pendingApprovals: [], ...result })
    // Some events were skipped, so the result of the server replaces the one folded from events.
    if (resynced) yield { type: 'result', result: this.#resultOf(viewOfResult(result, counted)) }
  }

  async *#resumed(answers: readonly Answer[], reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    const session = this.#session
    const options = { abortSignal: reading }
    const before = await this.#state(reading)
    const fresh = await giveAnswers(
      {
        pendingToolCalls: before.pendingToolCalls,
        decide: (approvalId, decision, details) => session[decision](approvalId, { ...details, ...options }),
        submit: (results) => session.submitToolResults(results, options),
      },
      answers,
    )
    const after = await this.#state(reading)
    this.#checkHeld(after)
    if (isLeftOver(after, fresh ? before : after)) {
      yield waitingFor(after, '')
      return
    }
    // If no answer is new, the run may have advanced since they were accepted. So all its events are read again.
    yield* this.#followed(fresh ? { cursor: before.cursor } : { from: 'run' }, reading)
  }

  /** Yields the events of the open run until it ends or asks a question, and the log has no more of its events. */
  async *#followed(from: { readonly cursor: string } | { readonly from: 'run' }, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    let view = emptyView
    let resynced = false
    let isBehind = false
    const events = this.#session.attach({ ...from, abortSignal: reading })
    for await (const event of events) {
      view = foldEvent(view, event)
      resynced ||= event.type === 'resync'
      if (isLoopEvent(event)) yield { type: 'agent-event', event }
      const isHeld = event.type === 'error' && event.source === 'definition'
      if (isHeld) this.#checkHeld(await this.#state(reading))
      if (event.type !== 'save-point' && event.type !== 'resync' && !isBehind) continue
      if (!hasSettled(view) && !(event.type === 'resync' && !event.state.run)) continue
      if (!isWaiting(view)) break
      // The run may be waiting for subagents, or for a question that has been answered meanwhile.
      const state = await this.#state(reading)
      this.#checkHeld(state)
      // A state at a later cursor says nothing about this point of the log.
      isBehind = state.cursor !== events.cursor
      if (isBehind || pendingInputs(state).length === 0) continue
      yield waitingFor(state, lastText(view))
      return
    }
    if (resynced) yield { type: 'result', result: this.#resultOf(endedView(view)) }
  }

  /** Throws if the run waits only for held runs. */
  #checkHeld(run: Pick<SessionView, 'heldRuns' | 'pendingToolCalls' | 'pendingApprovals'>): void {
    if (run.heldRuns && pendingInputs(run).length === 0) throw heldFailure(this.#context.agentId, run.heldRuns)
  }

  async #state(abortSignal: AbortSignal): Promise<SessionView> {
    return this.#session.state({ limit: 1, abortSignal })
  }

  #resultOf(view: RunView): PromptResult {
    return settledRun(view, this.#context.agentId).result
  }

  #failure(error: unknown): unknown {
    return remoteFailure(error, { agentId: this.#context.agentId, durable: this.#server.durable })
  }
}

type LoopEvent = Extract<BridgeEvent, { type: 'agent-event' }>['event']

/** True for events of a run whose type this version knows. */
function isLoopEvent(event: ClientEvent): event is LoopEvent & ClientEvent {
  return event.type !== 'unknown' && event.type !== 'resync' && 'runId' in event
}

/** Returns whether a question from before is still open. */
function isLeftOver(after: SessionView, before: SessionView): boolean {
  const asked = new Set(pendingInputs(before).map(({ id }) => id))
  return pendingInputs(after).some(({ id }) => asked.has(id))
}

function waitingFor(state: SessionView, text: string): BridgeEvent {
  return { type: 'result', result: { text, stopReason: 'needs_input', pending: pendingInputs(state) } }
}

/** `counted`: the usage in the result covers this run only, not all runs of the session. */
function viewOfResult(
  { status, messages, usage, pendingToolCalls = [], pendingApprovals = [], error }: ExecuteResult,
  counted: boolean,
): RunView {
  const told = error && { error: error as NonNullable<RunView['error']> }
  return {
    ...emptyView,
    phase: 'idle',
    status: statusOf(status),
    outcome: status,
    messages,
    usage: counted ? usage : {},
    pendingToolCalls,
    pendingApprovals,
    ...told,
  }
}

/** If the run's last events were skipped, the outcome comes from the session. Its usage covers all runs, so it is dropped. */
function endedView(view: RunView): RunView {
  return view.runId === undefined ? { ...view, usage: {}, outcome: view.outcome ?? 'completed' } : view
}

function paramsOf({ model, ...runtimeParams }: RuntimeParams): Pick<SendOptions, 'model' | 'runtimeParams'> {
  return { ...(model !== undefined && { model }), ...(Object.keys(runtimeParams).length > 0 && { runtimeParams }) }
}

/**
 * Servers restrict the characters of session ids, so owner and conversation id are hashed. The hash also keeps others from guessing
 * the id.
 */
function sessionIdOf({ owner, conversationId }: SessionContext): string {
  return `bridge-${createHash('sha256')
    .update(JSON.stringify([owner, conversationId]))
    .digest('base64url')}`
}
