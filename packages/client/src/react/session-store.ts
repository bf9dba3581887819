import { emptyView } from '@bowline/agent-loop/events'
import type { PendingToolCall, RunView, Status } from '@bowline/agent-loop/events'
import { inputChecks } from '../arguments.ts'
import { isReadingAborted } from '../client-error.ts'
import type { ClientEvent } from '../client-event.ts'
import type { Connection } from '../connection.ts'
import { positionOf } from '../cursor.ts'
import { foldEvent, viewOf } from '../fold-event.ts'
import { asClientError } from '../http.ts'
import type { ClientTools } from '../client-tool.ts'
import { ToolRunner, type LocalState } from '../tool-runner.ts'
import type { Acceptance } from '../run.ts'
import type { ExecuteResult } from '../run-reader.ts'
import type { ApproveOptions, AttachOptions, ClientSession, SendInput, SendOptions } from '../client-session.ts'
import { wholeState } from '../whole-state.ts'
import type { SubmissionReceipt, ToolResultInput, UserInput } from '../wire.ts'
import type { ApprovalReceipt, ForkRequest, InputReceipt, ResolveRequest, SessionView, StopReceipt, StopRequest } from '../wire-sessions.ts'
import { hookSendChecks } from '../request-checks.ts'
import { nextFrame } from './next-frame.ts'

/** Consistent state of a session for a page. Unchanged parts keep their reference. */
export interface SessionSnapshot {
  /** Fold of the log. While `loading`, it holds only the newest messages. */
  readonly view: RunView
  /** Messages of the view. While `loading`, at most the newest 40. */
  readonly messages: RunView['messages']
  /** `loading` until the fold has caught up with the log. Then the status of the latest run, or `idle` before the first run. */
  readonly status: 'loading' | 'idle' | Status
  readonly run: { readonly runId: string; readonly status: Status } | undefined
  readonly pending: readonly PendingCall[]
  /** Tokens of the latest turn. */
  readonly usage: RunView['usage']
  /** Cost of the latest turn. Undefined if the price of a part is unknown. */
  readonly cost: RunView['cost']
  readonly connection: Connection
  /** Newest events, at most 10,000. */
  readonly events: readonly ClientEvent[]
  /** Error of the last failed action, else of the latest turn. */
  readonly error: ExecuteResult['error'] | undefined
}

/** Waiting call. `local` is what this page does about it: `needs-confirm` waits for `confirmTool`. */
export interface PendingCall extends PendingToolCall {
  readonly local?: LocalState
}

/** Options of `send` in a component. The hook sets the tools and the abort signal. */
export type HookSendOptions = Omit<SendOptions, 'tools' | 'abortSignal'>

/** Actions on a session. They never reject: a failure is in `error`, and the promise resolves without a value. */
export interface SessionActions {
  send(input: SendInput, options?: HookSendOptions): Promise<Acceptance>
  stop(options?: StopRequest): Promise<StopReceipt | undefined>
  submitToolResults(results: readonly ToolResultInput[]): Promise<SubmissionReceipt | undefined>
  resolveTool(toolCallId: string, resolution: ResolveRequest): Promise<{ readonly runId: string } | undefined>
  /** Adds an input to the open run. Without an open run it starts one. */
  steer(input: UserInput): Promise<InputReceipt | undefined>
  approve(approvalId: string, options?: Omit<ApproveOptions, 'abortSignal'>): Promise<ApprovalReceipt | undefined>
  deny(approvalId: string, options?: Omit<ApproveOptions, 'abortSignal' | 'input'>): Promise<ApprovalReceipt | undefined>
  fork(options?: ForkRequest): Promise<ClientSession | undefined>
  switchTo(entryId: string | null): Promise<SessionView | undefined>
  /** Runs a client tool that may have run before this page was loaded. */
  confirmTool(toolCallId: string): void
  /** Connects again after the client gave up. */
  reconnect(): void
}

const usualKeptEvents = 10_000
/** Number of newest messages that are shown before the log is read. */
const firstMessages = 40

export const emptySnapshot: SessionSnapshot = Object.freeze({
  view: emptyView,
  messages: emptyView.messages,
  status: 'loading',
  run: undefined,
  pending: Object.freeze([]),
  usage: emptyView.usage,
  cost: undefined,
  connection: Object.freeze({ state: 'idle' }),
  events: Object.freeze([]),
  error: undefined,
})

export interface SessionStoreOptions {
  /** Called when the store has no listener any more. */
  readonly onIdle?: () => void
  /** Calls `run` once when a change should be rendered. Returns a function that cancels it. */
  readonly schedule?: (run: () => void) => () => void
  /** Number of events in a snapshot. Default 10,000. */
  readonly keptEvents?: number
}

/** Follows one session while it has a listener: one stream, one fold, and at most one change per frame. */
export class SessionStore {
  readonly session: ClientSession
  readonly actions: SessionActions
  readonly #listeners = new Set<() => void>()
  readonly #runner: ToolRunner
  #tools: ClientTools = {}
  #snapshot = emptySnapshot
  #view: RunView = emptyView
  #events: ClientEvent[] = []
  #cursor: string | undefined
  #connection: Connection = emptySnapshot.connection
  #failure: ExecuteResult['error'] | undefined
  /** True when the fold has reached the log position at which the page was loaded. */
  #loaded = false
  #presentSeq = 0
  #following: AbortController | undefined
  #cancelFrame: (() => void) | undefined
  readonly #onIdle: () => void
  readonly #keptEvents: number
  readonly #schedule: (run: () => void) => () => void

  constructor(
    session: ClientSession,
    { onIdle = () => undefined, schedule = nextFrame, keptEvents = usualKeptEvents }: SessionStoreOptions = {},
  ) {
    this.session = session
    this.#onIdle = onIdle
    this.#schedule = schedule
    this.#keptEvents = keptEvents
    this.#runner = new ToolRunner({
      tools: () => ({ ...session.tools, ...this.#tools }),
      submit: (results, abortSignal) => session.submitToolResults(results, { abortSignal }),
      onChange: () => this.#change(),
    })
    this.actions = {
      send: (input, options) => this.#send(input, options),
      stop: (options) => this.#try(() => session.stop(options)),
      submitToolResults: (results) =>
        this.#try(() => session.submitToolResults(Array.isArray(results) ? results.map(withoutLocal) : results)),
      resolveTool: (toolCallId, resolution) => this.#try(() => session.resolveTool(toolCallId, withoutLocal(resolution))),
      steer: (input) => this.#try(() => session.steer(input)),
      approve: (approvalId, options) => this.#try(() => session.approve(approvalId, options)),
      deny: (approvalId, options) => this.#try(() => session.deny(approvalId, options)),
      fork: (options) => this.#try(() => session.fork(options)),
      switchTo: (entryId) => this.#try(() => session.switchTo(entryId)),
      confirmTool: (toolCallId) => this.#confirm(toolCallId),
      reconnect: () => this.#start(),
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#start()
    this.#change()
    return () => {
      this.#listeners.delete(listener)
      // React strict mode unsubscribes and subscribes again within one task.
      queueMicrotask(() => this.#stopWhenUnused())
    }
  }

  readonly getSnapshot = (): SessionSnapshot => this.#snapshot

  setTools(tools: ClientTools): void {
    this.#tools = tools
  }

  #start(): void {
    if (this.#following || this.#listeners.size === 0) return
    const following = new AbortController()
    this.#following = following
    void this.#follow(following.signal).finally(() => {
      if (this.#following === following) this.#following = undefined
      this.#change()
    })
  }

  #stopWhenUnused(): void {
    if (this.#listeners.size > 0) return
    this.#following?.abort()
    this.#following = undefined
    this.#runner.close()
    // Calls that are pending when the page returns count as found: they may already have run.
    this.#loaded = false
    this.#cancelFrame?.()
    this.#cancelFrame = undefined
    this.#onIdle()
  }

  /** Reads the state and then the log until the signal aborts. Never rejects. */
  async #follow(signal: AbortSignal): Promise<void> {
    try {
      this.#failure = undefined
      this.#connect({ state: 'connecting' })
      const state = await this.session.state({ limit: firstMessages, abortSignal: signal })
      this.#presentSeq = positionOf(state.cursor)?.seq ?? 0
      // Reading a long log takes a while: show the newest messages first.
      if (this.#view === emptyView) this.#snapshot = { ...this.#snapshot, ...messagesOf(viewOf(state)) }
      this.#change()
      this.#loadWhenPresent()
      await this.#readLog(signal)
    } catch (error) {
      if (isReadingAborted(error)) return
      const { code, message } = asClientError(error, signal)
      // A session does not exist before its first input.
      if (code === 'session-missing') this.#load()
      else this.#failure = { code, message }
      this.#connect({ state: code === 'session-missing' ? 'idle' : 'closed' })
    }
  }

  async #readLog(signal: AbortSignal): Promise<void> {
    for (;;) {
      const position: AttachOptions = this.#cursor === undefined ? { from: 'start' } : { cursor: this.#cursor }
      const onConnection = (connection: Connection): void => this.#connect(connection)
      const events = this.session.attach({ ...position, onConnection, abortSignal: signal })
      for await (const event of events) {
        if (signal.aborted) return
        this.#cursor = events.cursor
        this.#fold(event)
        if (this.#view.gap) break
      }
      if (!this.#view.gap) return
      const state = await wholeState(this.session, signal)
      this.#cursor = state.cursor
      this.#fold({ type: 'resync', state })
    }
  }

  #fold(event: ClientEvent): void {
    const before = this.#view
    this.#view = foldEvent(before, event)
    this.#events.push(event)
    // Trims rarely, so that an event costs nothing.
    if (this.#events.length > 2 * this.#keptEvents) this.#events = this.#events.slice(-this.#keptEvents)
    if (!this.#loaded) return this.#loadWhenPresent()
    if (this.#view.pendingToolCalls !== before.pendingToolCalls) this.#runner.offer(this.#view.pendingToolCalls)
    this.#change()
  }

  #loadWhenPresent(): void {
    if (!this.#loaded && !this.#view.gap && this.#view.seq >= this.#presentSeq) this.#load()
  }

  #load(): void {
    this.#loaded = true
    this.#runner.offer(this.#view.pendingToolCalls, true)
    this.#change()
  }

  #connect(connection: Connection): void {
    this.#connection = connection
    this.#change()
  }

  #change(): void {
    if (this.#listeners.size === 0) return
    this.#cancelFrame ??= this.#schedule(() => {
      this.#cancelFrame = undefined
      this.#snapshot = this.#take()
      for (const listener of [...this.#listeners]) listener()
    })
  }

  #take(): SessionSnapshot {
    const connection = this.#connection
    if (!this.#loaded) return { ...this.#snapshot, connection, error: this.#failure }
    const view = this.#view
    const { runId, status } = view
    return {
      view,
      messages: view.messages,
      status: status ?? 'idle',
      run: runId !== undefined && status !== undefined ? { runId, status } : undefined,
      pending: view.pendingToolCalls.map((call) => {
        const local = this.#runner.stateOf(call.toolCallId)
        return local ? { ...call, local } : call
      }),
      usage: view.usage,
      cost: view.cost,
      connection,
      events: this.#events.slice(-this.#keptEvents),
      error: this.#failure ?? this.#runner.error ?? view.error,
    }
  }

  /** Waits only until the input is durable: the stream delivers everything else. */
  async #send(input: SendInput, options: HookSendOptions = {}): Promise<Acceptance> {
    const acceptance = await this.#try(async () => {
      inputChecks.checkFields('options', options, hookSendChecks)
      const leaving = new AbortController()
      const accepted = await this.session.send(input, { ...options, abortSignal: leaving.signal }).accepted()
      leaving.abort()
      if (accepted.ok) this.#start()
      else this.#failure = accepted.error
      return accepted
    })
    return acceptance ?? { ok: false, error: this.#failure ?? { code: 'network', message: 'The input was not accepted.' } }
  }

  async #try<T>(action: () => Promise<T>): Promise<T | undefined> {
    this.#failure = undefined
    try {
      return await action()
    } catch (error) {
      const { code, message } = asClientError(error, undefined)
      this.#failure = { code, message }
      return undefined
    } finally {
      this.#change()
    }
  }

  #confirm(toolCallId: string): void {
    const call = this.#view.pendingToolCalls.find((pending) => pending.toolCallId === toolCallId)
    if (call) this.#runner.confirm(call)
  }
}

/** Returns the view that is shown before the log is folded. Open questions come with the fold. */
function messagesOf(state: RunView): Pick<SessionSnapshot, 'view' | 'messages'> {
  const { messages, toolCalls } = state
  return { view: { ...emptyView, messages, toolCalls }, messages }
}

/** Removes `local`, which is state of this page. The server does not know it. */
function withoutLocal<Answer>(answer: Answer): Answer {
  if (typeof answer !== 'object' || answer === null || !('local' in answer)) return answer
  const { local: _local, ...rest } = answer
  return rest as Answer
}
