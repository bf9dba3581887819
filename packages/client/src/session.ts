import { inputChecks } from './arguments.ts'
import { queryOf, type Http, type HttpRequest } from './http.ts'
import { ClientError, hasCode } from './client-error.ts'
import type {
  ApproveOptions,
  AttachOptions,
  CallOptions,
  ClientSession,
  InputOptions,
  OverlayOptions,
  PageOptions,
  SendInput,
  SendOptions,
} from './client-session.ts'
import type { ClientTools } from './client-tool.ts'
import { checkMessage, checkSessionId } from './common-checks.ts'
import { EventReader } from './event-reader.ts'
import {
  checkApproveOptions,
  checkAttachOptions,
  checkBranchesOptions,
  checkCallOptions,
  checkCompactOptions,
  checkDenyOptions,
  checkExportOptions,
  checkForkOptions,
  checkInputOptions,
  checkOverlayOptions,
  checkPageOptions,
  checkResolution,
  checkResults,
  checkSendInput,
  checkSendOptions,
  checkStopOptions,
  checkSwitchOptions,
} from './request-checks.ts'
import { RunHandle, type Run } from './run.ts'
import { RunReader } from './run-reader.ts'
import { wholeState } from './whole-state.ts'
import type { SubmissionReceipt, ToolResultInput, UserInput } from './wire.ts'
import type {
  ApprovalAnswer,
  ApprovalReceipt,
  BranchList,
  CompactionResult,
  ForkRequest,
  InputReceipt,
  ResolveRequest,
  SessionView,
  StopReceipt,
  StopRequest,
  SwitchRequest,
} from './wire-sessions.ts'

export interface SessionParts {
  readonly http: Http
  readonly tools: ClientTools
  readonly ids: () => string
  /** Ids generated here that no request has carried yet. */
  readonly unsent: Set<string>
}

type CheckOptions = (options: unknown) => void

const { checkName } = inputChecks

export function createSession(parts: SessionParts, id: string): ClientSession {
  checkSessionId('id', id)
  return new SessionHandle(parts, id)
}

class SessionHandle implements ClientSession {
  readonly id: string
  readonly tools: ClientTools
  readonly #http: Http
  readonly #path: string
  readonly #parts: SessionParts

  constructor(parts: SessionParts, id: string) {
    this.#parts = parts
    this.id = id
    this.tools = parts.tools
    this.#http = parts.http
    this.#path = `/api/agent/session/${encodeURIComponent(id)}`
  }

  send(input: SendInput, options: SendOptions = {}): Run {
    checkSendInput(input)
    checkSendOptions(options)
    const signal = options.abortSignal ?? new AbortController().signal
    const execute = this.#execution(input, options)
    return new RunHandle(this.id, this.#http.options.clock, (onAccepted) => {
      return new RunReader({
        http: this.#http.options,
        sessionId: this.id,
        tools: { ...this.tools, ...options.tools },
        signal,
        onAccepted,
        execute,
        openEvents: (cursor, connection) => this.#openEvents({ cursor }, connection),
        loadState: (connection) => wholeState(this, connection),
        submit: (results, abortSignal) => this.submitToolResults(results, { abortSignal }),
      })
    })
  }

  attach(options: AttachOptions = {}): EventReader {
    checkAttachOptions(options)
    const { cursor, from, until, abortSignal, onConnection } = options
    return new EventReader({
      http: this.#http.options,
      cursor,
      abortSignal,
      onConnection,
      loadState: (abort) => wholeState(this, abort),
      open: (position, signal) => this.#openEvents({ cursor: position, from: position === undefined ? from : undefined, until }, signal),
    })
  }

  async state(options?: CallOptions & PageOptions): Promise<SessionView> {
    if (this.#parts.unsent.has(this.id)) throw new ClientError('session-missing', 'The session has no input yet: send one first.')
    return this.#get('', checkPageOptions, options)
  }

  async messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>> {
    const { messages, hasMore, cursor } = await this.state(options)
    return { messages, hasMore, cursor }
  }

  stop(options?: CallOptions & StopRequest): Promise<StopReceipt> {
    return this.#post('/stop', checkStopOptions, options)
  }

  async submitToolResults(results: readonly ToolResultInput[], options?: CallOptions): Promise<SubmissionReceipt> {
    checkResults(results)
    return this.#post('/tool-results', checkCallOptions, options, { results })
  }

  async resolveTool(toolCallId: string, resolution: ResolveRequest, options?: CallOptions): Promise<{ readonly runId: string }> {
    checkName('toolCallId', toolCallId)
    checkResolution(resolution)
    return this.#post(`/tool-calls/${encodeURIComponent(toolCallId)}/resolve`, checkCallOptions, options, resolution)
  }

  steer(input: UserInput, options?: InputOptions): Promise<InputReceipt> {
    return this.#give('/steer', input, options)
  }

  followUp(input: UserInput, options?: InputOptions): Promise<InputReceipt> {
    return this.#give('/follow-up', input, options)
  }

  overlay(input: UserInput, options?: OverlayOptions): Promise<void> {
    return this.#give('/overlay', input, options, checkOverlayOptions)
  }

  approve(approvalId: string, options?: ApproveOptions): Promise<ApprovalReceipt> {
    return this.#decide('approve', approvalId, checkApproveOptions, options)
  }

  deny(approvalId: string, options?: Omit<ApproveOptions, 'input'>): Promise<ApprovalReceipt> {
    return this.#decide('deny', approvalId, checkDenyOptions, options)
  }

  async fork(options: CallOptions & ForkRequest = {}): Promise<ClientSession> {
    checkForkOptions(options)
    const { newSessionId = `s_${this.#parts.ids()}` } = options
    const fork = createSession(this.#parts, newSessionId)
    await this.#post('/fork', checkForkOptions, options, { newSessionId }).catch((error: unknown) => {
      // An id generated here is unique. So an earlier try succeeded, and its answer was lost.
      if (options.newSessionId !== undefined || !hasCode(error, 'session-exists')) throw error
    })
    return fork
  }

  async switchTo(entryId: string | null, options?: CallOptions & Omit<SwitchRequest, 'entryId'>): Promise<SessionView> {
    if (entryId !== null) checkName('entryId', entryId)
    return this.#post('/switch', checkSwitchOptions, options, { entryId }, options?.summarize)
  }

  branches(options?: CallOptions & { readonly limit?: number; readonly cursor?: string }): Promise<BranchList> {
    return this.#get('/branches', checkBranchesOptions, options)
  }

  async label(entryId: string, text: string | null, options?: CallOptions): Promise<void> {
    checkName('entryId', entryId)
    if (text !== null) checkName('text', text)
    return this.#post('/labels', checkCallOptions, options, { entryId, text })
  }

  unlabel(entryId: string, options?: CallOptions): Promise<void> {
    return this.label(entryId, null, options)
  }

  compact(options?: CallOptions & { readonly instructions?: string }): Promise<CompactionResult> {
    return this.#post('/compact', checkCompactOptions, options, {}, true)
  }

  async export(
    options: CallOptions & { readonly events?: boolean; readonly allBranches?: boolean } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    checkExportOptions(options)
    const { abortSignal = new AbortController().signal, ...flags } = options
    const { body } = await this.#http.open({ method: 'GET', path: `${this.#path}/export${queryOf(flags)}` }, abortSignal)
    if (!body) throw new ClientError('invalid-answer', 'The answer has no body. Check baseUrl.')
    return body
  }

  async delete(options: CallOptions = {}): Promise<void> {
    checkCallOptions(options)
    await this.#http.json<undefined>({ method: 'DELETE', path: this.#path }, options.abortSignal)
  }

  async #give<T>(path: string, input: UserInput, options: InputOptions = {}, check = checkInputOptions): Promise<T> {
    checkMessage(input)
    check(options)
    const { id = this.#parts.ids() } = options
    return this.#post(path, check, options, { input, id })
  }

  async #decide(
    decision: ApprovalAnswer['decision'],
    approvalId: string,
    check: CheckOptions,
    options?: ApproveOptions,
  ): Promise<ApprovalReceipt> {
    checkName('approvalId', approvalId)
    return this.#post(`/approvals/${encodeURIComponent(approvalId)}`, check, options, { decision })
  }

  /** Sends the options, except the signal, and the further fields. Rejects if the options are invalid. */
  async #post<T>(path: string, check: CheckOptions, options: CallOptions = {}, more: object = {}, once = false): Promise<T> {
    check(options)
    const { abortSignal, ...given } = options
    return this.#http.json<T>({ method: 'POST', path: this.#path + path, body: JSON.stringify({ ...given, ...more }), once }, abortSignal)
  }

  /** Likewise, with the options as the query. */
  async #get<T>(path: string, check: CheckOptions, options: CallOptions = {}): Promise<T> {
    check(options)
    const { abortSignal, ...query } = options
    return this.#http.json<T>({ method: 'GET', path: this.#path + path + queryOf(query) }, abortSignal)
  }

  #openEvents(query: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Promise<Response> {
    return this.#http.open({ method: 'GET', path: `${this.#path}/events${queryOf({ ...query, deltas: 'short' })}` }, signal)
  }

  /**
   * Uses one idempotency key for all tries. Only the server knows whether the session exists: it requires the context or refuses
   * it.
   */
  #execution(input: SendInput, given: SendOptions): (signal: AbortSignal) => Promise<Response> {
    const { agent, metadata, history: messages, declarations: tools, model, runtimeParams, output, onBusy, id = this.#parts.ids() } = given
    const headers = { ...given.headers, 'idempotency-key': id }
    // JSON leaves out undefined fields.
    const context = { agent, messages, tools, metadata }
    const options = { model, runtimeParams, output, onBusy, deltas: 'short' }
    const body = {
      sessionId: this.id,
      input,
      options,
    }
    const request: HttpRequest = { method: 'POST', path: '/api/agent/execute', headers, body: JSON.stringify(body) }
    const requestWithContext: HttpRequest = { ...request, body: JSON.stringify({ ...body, context }) }
    const post = (withContext: boolean, signal: AbortSignal): Promise<Response> => {
      return this.#http.open(withContext ? requestWithContext : request, signal)
    }
    return async (signal) => {
      const { unsent } = this.#parts
      const withContext = unsent.has(this.id)
      const response = await post(withContext, signal).catch((error: unknown) => {
        const contrary = withContext ? 'session-exists' : 'context-required'
        if (hasCode(error, contrary)) return post(!withContext, signal)
        throw error
      })
      unsent.delete(this.id)
      return response
    }
  }
}
