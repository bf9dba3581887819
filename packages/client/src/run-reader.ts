import { emptyView } from '@bowline/agent-loop/events'
import type { AgentEvent, ApprovalRequest, PendingToolCall, RunView, TurnStatus, ViewMessage } from '@bowline/agent-loop/events'
import { ClientError, isReadingAborted } from './client-error.ts'
import type { ClientEvent } from './client-event.ts'
import { follow, type Received } from './event-stream.ts'
import { foldEvent, viewOf } from './fold-event.ts'
import { asClientError, type HttpOptions } from './http.ts'
import type { ClientTools } from './client-tool.ts'
import { ToolRunner } from './tool-runner.ts'
import type { ExecuteComplete, StreamEnd, SubmissionReceipt, ToolResultInput } from './wire.ts'
import type { SessionView } from './wire-sessions.ts'

/** Outcome of a run that has ended, waits, or can no longer be read. */
export interface ExecuteResult {
  readonly sessionId: string
  /** Absent if the input never arrived. */
  readonly runId?: string
  readonly status: TurnStatus
  /** Messages that this run added to the transcript. */
  readonly messages: readonly ViewMessage[]
  /** Text of the last answer; empty if there is none. With an output schema: the output as JSON. */
  readonly text: string
  /** Output of an agent with an output schema. Present if the run is `completed`. */
  readonly output?: NonNullable<RunView['output']>
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  readonly heldRuns?: NonNullable<ExecuteComplete['heldRuns']>
  readonly usage: ExecuteComplete['usage']
  /** Absent if the price of a part is unknown. */
  readonly cost?: NonNullable<ExecuteComplete['cost']>
  readonly reason?: ExecuteComplete['reason']
  /** Error of the run, or of the connection to it: `disconnected`, `reading-aborted`, or the code with which the server refused. */
  readonly error?: NonNullable<ExecuteComplete['error']>
  /** Error of the reading. Absent if the run itself failed. */
  readonly failure?: ClientError
}

export interface RunReading {
  readonly http: HttpOptions
  readonly sessionId: string
  /** Sends the input. May be called any number of times: the server starts one run. */
  readonly execute: (signal: AbortSignal) => Promise<Response>
  readonly openEvents: (cursor: string, signal: AbortSignal) => Promise<Response>
  readonly loadState: (signal: AbortSignal) => Promise<SessionView>
  readonly submit: (results: readonly ToolResultInput[], signal: AbortSignal) => Promise<SubmissionReceipt>
  readonly tools: ClientTools
  /** Ends the reading and aborts the client tools. */
  readonly signal: AbortSignal
  readonly onAccepted: () => void
}

/** Outcome of a segment of the run. */
interface SegmentEnd {
  readonly status: TurnStatus
  readonly reason?: ExecuteComplete['reason'] | undefined
  readonly error?: ExecuteComplete['error'] | undefined
  readonly usage?: ExecuteComplete['usage'] | undefined
  readonly cost?: ExecuteComplete['cost'] | undefined
  readonly pendingToolCalls?: readonly PendingToolCall[] | undefined
  readonly pendingApprovals?: readonly ApprovalRequest[] | undefined
  readonly heldRuns?: ExecuteComplete['heldRuns'] | undefined
}

/** The save-point follows the end of the turn. If none comes within this time, the run had never started and there is none. */
const savePointMs = 2_000

/** Reads one run from its first event until it ends or waits, over any number of connections, and runs its remote tools. */
export class RunReader {
  runId: string | undefined
  cursor: string | undefined
  readonly #reading: RunReading
  readonly #tools: ToolRunner
  #view: RunView = emptyView
  #end: SegmentEnd | undefined
  /** True when the current segment has been read to its end. */
  #atRest = false

  constructor(reading: RunReading) {
    this.#reading = reading
    this.#tools = new ToolRunner({ tools: () => reading.tools, submit: reading.submit })
  }

  /**
   * Yields the events of the run and returns its result. Returns undefined if `pause` was aborted; a further call resumes. Never
   * throws.
   */
  async *read(pause: AbortSignal): AsyncGenerator<ClientEvent, ExecuteResult | undefined, undefined> {
    const { signal } = this.#reading
    try {
      for (;;) {
        if (!this.#atRest) yield* this.#readSegment(AbortSignal.any([signal, pause]))
        if (this.#tools.error) throw this.#tools.error
        // A run that has ended needs no results: abort the tools that still run here.
        this.#tools.offer(this.#waits ? this.#pending : [])
        if (!this.#waits || this.#end?.heldRuns || !this.#goesOn) break
        this.#atRest = false
      }
      return this.#result()
    } catch (error) {
      if (isReadingAborted(error) && !signal.aborted) return undefined
      this.#tools.close()
      return this.#failure(asClientError(error, signal))
    }
  }

  get #pending(): readonly PendingToolCall[] {
    return this.#end?.pendingToolCalls ?? this.#view.pendingToolCalls
  }

  /** True if the run waits for tool results or for subagents. */
  get #waits(): boolean {
    return this.#end?.status === 'awaiting-tools' || this.#end?.status === 'awaiting-subagent'
  }

  /** True if tools run here, or if all calls are answered and the run continues by itself. */
  get #goesOn(): boolean {
    return this.#tools.busy || this.#tools.open.size === 0
  }

  async *#readSegment(signal: AbortSignal): AsyncGenerator<ClientEvent, void, undefined> {
    const { clock } = this.#reading.http
    const leaving = new AbortController()
    let cancelTimer: (() => void) | undefined
    // Stops reading when no tool runs here and a call is open: a call that this client cannot answer may wait forever.
    void this.#tools.whenIdle().then(() => (this.#tools.error || !this.#goesOn ? leaving.abort() : undefined))
    try {
      for await (const { frame, cursor } of this.#follow(AbortSignal.any([signal, leaving.signal]))) {
        this.cursor = cursor ?? this.cursor
        const event = this.#take(frame)
        if (event) yield event
        if (this.#atRest) return
        if (frame.type === 'save-point') cancelTimer?.()
        if (frame.type === 'turn-end') cancelTimer = clock.setTimer(clock.now() + savePointMs, () => leaving.abort())
      }
    } catch (error) {
      if (!leaving.signal.aborted || signal.aborted) throw error
    } finally {
      cancelTimer?.()
    }
    this.#atRest = true
  }

  #follow(signal: AbortSignal): AsyncGenerator<Received, void, undefined> {
    const { http, execute, openEvents, loadState, onAccepted } = this.#reading
    return follow({
      http,
      cursor: this.cursor,
      signal,
      loadState,
      open: async (cursor, connection) => {
        if (cursor !== undefined) return openEvents(cursor, connection)
        const response = await execute(connection)
        this.runId = response.headers.get('x-run-id') ?? this.runId
        onAccepted()
        return response
      },
    })
  }

  /** Returns the event to pass on if it belongs to this run. */
  #take(frame: ClientEvent | ExecuteComplete | StreamEnd): ClientEvent | undefined {
    switch (frame.type) {
      case 'stream-end':
        return undefined
      case 'unknown':
        return frame
      case 'resync':
        this.#resync(frame.state)
        return frame
      case 'execute-complete':
        this.#end = frame
        this.#atRest = true
        return undefined
      default:
        return this.#takeEvent(frame)
    }
  }

  #takeEvent(event: AgentEvent): AgentEvent | undefined {
    if (!('runId' in event)) return undefined
    this.runId ??= event.runId
    if (event.runId !== this.runId) return undefined
    this.#view = foldEvent(this.#view, event)
    if (event.type === 'turn-start') this.#end = undefined
    if (event.type === 'turn-end') this.#end = event
    if (event.type === 'save-point') this.#atRest = this.#end !== undefined && !(this.#waits && this.#pending.length === 0)
    if (event.type === 'tool-execution-end') this.#tools.settle(event.toolCallId)
    if (event.type === 'awaiting-tools' && event.continues) this.#tools.offer(this.#view.pendingToolCalls)
    return event
  }

  #resync(state: SessionView): void {
    const first = this.#view.messages[0]?.id
    const from = state.messages.findIndex((message) => message.id === first)
    this.#view = { ...viewOf(state), messages: state.messages.slice(Math.max(0, from)) }
    const { run, usage } = state
    const isOpen = run && (run.runId !== this.runId || !run.outcome)
    if (isOpen) return
    this.#end = { status: run?.outcome ?? state.outcome ?? 'completed', usage }
    this.#atRest = true
  }

  #result(): ExecuteResult {
    const end = this.#end
    if (!end) return this.#failure(new ClientError('invalid-answer', 'The stream ended before the run.'))
    const { status, usage = this.#view.usage, cost, pendingApprovals = this.#view.pendingApprovals, heldRuns, reason, error } = end
    const open = this.#waits ? this.#pending.filter((call) => this.#tools.open.has(call.toolCallId)) : this.#pending
    return this.#resultOf({
      status,
      usage,
      cost,
      heldRuns,
      reason,
      error,
      pendingToolCalls: open.length > 0 ? open : undefined,
      pendingApprovals: pendingApprovals.length > 0 ? pendingApprovals : undefined,
    })
  }

  /** Result of a failed reading. The run itself may continue. */
  #failure(error: ClientError): ExecuteResult {
    return this.#resultOf({ status: 'error', usage: this.#view.usage, error: { code: error.code, message: error.message }, failure: error })
  }

  /** Adds the facts that are known of every run, and leaves absent ones out. */
  #resultOf(facts: Facts): ExecuteResult {
    const { messages } = this.#view
    const answer = messages.findLast((message) => message.role === 'assistant')
    const output = facts.status === 'completed' ? this.#view.output : undefined
    const said = answer?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''
    const text = output ? JSON.stringify(output) : said
    const result = { sessionId: this.#reading.sessionId, runId: this.runId, messages, text, output, ...facts }
    return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined)) as unknown as ExecuteResult
  }
}

type Facts = {
  readonly [Key in keyof Omit<ExecuteResult, 'sessionId' | 'runId' | 'messages' | 'text' | 'output'>]: ExecuteResult[Key] | undefined
}
