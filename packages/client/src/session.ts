import type { HttpRequest, Http } from './http.ts'
import { ClientError } from './client-error.ts'
import type { ClientEvent } from './client-event.ts'
import type { Connection } from './connection.ts'
import { EventReader } from './event-reader.ts'
import type { ClientTools } from './client-tool.ts'
import { RunHandle, type Run } from './run.ts'
import { RunReader } from './run-reader.ts'
import { wholeState } from './whole-state.ts'
import type {
  ExecuteRequest,
  JsonObject,
  SessionView,
  StopReceipt,
  StopRequest,
  SubmissionReceipt,
  ToolResolution,
  ToolResultInput,
  UserMessageInput,
} from './wire.ts'

export type SendInput = string | UserMessageInput | readonly ToolResultInput[]

export interface SendOptions {
  /** Besides the client's; the same name replaces. */
  readonly tools?: ClientTools
  /** Ends the reading and the client tools, not the run. */
  readonly abortSignal?: AbortSignal
  /** For the session that this input makes; without effect when there is one already. */
  readonly agent?: string
  readonly metadata?: JsonObject
  /** What to do while a run is open. Default: the server refuses with `busy`. */
  readonly onBusy?: 'queue' | 'reject'
}

export interface AttachOptions {
  /** Go on behind this position. Without it `from` says where to begin. */
  readonly cursor?: string
  /** `run`: the open or last run (default); `start`: the whole log; `now`: what happens next. */
  readonly from?: 'run' | 'start' | 'now'
  /** End when nothing is open. Default: never. */
  readonly until?: 'settled'
  readonly abortSignal?: AbortSignal
  readonly onConnection?: (connection: Connection) => void
}

export interface CallOptions {
  readonly abortSignal?: AbortSignal
}

/** A conversation at the server. A handle makes no request until a method is called. */
export interface ClientSession {
  readonly id: string
  /** The client's tools. */
  readonly tools: ClientTools
  /** Sends the input at once. It becomes at most one run, however often the connection is lost. */
  send(input: SendInput, options?: SendOptions): Run
  /** The session's events over all its runs, over any number of connections. Rejects with a `ClientError` when there is no going on. */
  attach(options?: AttachOptions): AsyncIterable<ClientEvent> & { readonly cursor: string | undefined }
  /** The newest page of messages and what is open. */
  state(options?: CallOptions & PageOptions): Promise<SessionView>
  /** A page of messages, oldest first; the newest page comes first and `before` gives older ones. */
  messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>>
  /** Ends the run. Safe to repeat. */
  stop(options?: CallOptions & StopRequest): Promise<StopReceipt>
  /** Answers waiting calls. Safe to repeat with the same results. */
  submitToolResults(results: readonly ToolResultInput[], options?: CallOptions): Promise<SubmissionReceipt>
  /** Says what became of a call whose outcome is unknown. Safe to repeat. */
  resolveTool(toolCallId: string, resolution: ToolResolution, options?: CallOptions): Promise<{ readonly runId: string }>
}

export interface PageOptions {
  /** 1–500; the server's default is 200. */
  readonly limit?: number
  /** Only what is older than this message. */
  readonly before?: string
}

export interface SessionParts {
  readonly http: Http
  readonly tools: ClientTools
  readonly ids: () => string
  /** Ids made here of which the server has not heard yet. */
  readonly unsent: Set<string>
}

const sessionIdForm = /^[A-Za-z0-9][A-Za-z0-9_~-]{0,255}$/

export function createSession(parts: SessionParts, id: string): ClientSession {
  if (!sessionIdForm.test(id)) throw new ClientError('invalid-config', `"${id}" is no session id.`)
  return new SessionHandle(parts, id)
}

class SessionHandle implements ClientSession {
  readonly id: string
  readonly tools: ClientTools
  readonly #http: Http
  readonly #ids: () => string
  readonly #path: string
  readonly #unsent: Set<string>

  constructor({ http, tools, ids, unsent }: SessionParts, id: string) {
    this.id = id
    this.tools = tools
    this.#http = http
    this.#ids = ids
    this.#path = `/api/agent/session/${encodeURIComponent(id)}`
    this.#unsent = unsent
  }

  send(input: SendInput, options: SendOptions = {}): Run {
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

  async state({ abortSignal, ...page }: CallOptions & PageOptions = {}): Promise<SessionView> {
    if (this.#unsent.has(this.id)) throw new ClientError('session-missing', 'The session begins with its first input.')
    return this.#http.json<SessionView>({ method: 'GET', path: this.#path + queryOf({ ...page }) }, abortSignal)
  }

  async messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>> {
    const { messages, hasMore, cursor } = await this.state(options)
    return { messages, hasMore, cursor }
  }

  stop({ abortSignal, ...body }: CallOptions & StopRequest = {}): Promise<StopReceipt> {
    return this.#post('/stop', body, abortSignal)
  }

  submitToolResults(results: readonly ToolResultInput[], { abortSignal }: CallOptions = {}): Promise<SubmissionReceipt> {
    return this.#post('/tool-results', { results }, abortSignal)
  }

  resolveTool(
    toolCallId: string,
    resolution: ToolResolution,
    { abortSignal }: CallOptions = {},
  ): Promise<{ readonly runId: string }> {
    return this.#post(`/tool-calls/${encodeURIComponent(toolCallId)}/resolve`, resolution, abortSignal)
  }

  async #post<T>(path: string, body: unknown, signal: AbortSignal | undefined): Promise<T> {
    return this.#http.json<T>({ method: 'POST', path: this.#path + path, body: JSON.stringify(body) }, signal)
  }

  #openEvents(query: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Promise<Response> {
    return this.#http.open({ method: 'GET', path: `${this.#path}/events${queryOf(query)}` }, signal)
  }

  /** One key for all tries. Whether the session exists is known to the server only: it asks for the context or refuses it. */
  #execution(input: SendInput, { agent, metadata, onBusy }: SendOptions): (signal: AbortSignal) => Promise<Response> {
    const headers = { 'idempotency-key': this.#ids() }
    const context = { ...(agent === undefined ? {} : { agent }), ...(metadata === undefined ? {} : { metadata }) }
    const body: ExecuteRequest = {
      sessionId: this.id,
      input: typeof input === 'string' ? { role: 'user', content: input } : input,
      ...(onBusy === undefined ? {} : { options: { onBusy } }),
    }
    const request: HttpRequest = { method: 'POST', path: '/api/agent/execute', headers, body: JSON.stringify(body) }
    const requestWithContext: HttpRequest = { ...request, body: JSON.stringify({ ...body, context }) }
    const post = (withContext: boolean, signal: AbortSignal): Promise<Response> => {
      return this.#http.open(withContext ? requestWithContext : request, signal)
    }
    return async (signal) => {
      const withContext = this.#unsent.has(this.id)
      const response = await post(withContext, signal).catch((error: unknown) => {
        const contrary = withContext ? 'session-exists' : 'context-required'
        if (ClientError.isInstance(error) && error.code === contrary) return post(!withContext, signal)
        throw error
      })
      this.#unsent.delete(this.id)
      return response
    }
  }
}

export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query.toString()}`
}
