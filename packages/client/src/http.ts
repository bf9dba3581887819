import { describeValue } from '@bowline/llm/arguments'
import { isHeader } from './arguments.ts'
import { ClientError, readingAborted } from './client-error.ts'
import { systemClock, type Clock } from './clock.ts'
import { Patience, reconnectOptions, type ReconnectOptions } from './patience.ts'
import { problemOf, retryAfterOf } from './problem.ts'

/** Where a server is, and how to reach it. */
export interface ConnectionOptions {
  /** Where the server is: an http or https address, or in a page an absolute path (`''` for the page's own origin). */
  readonly baseUrl: string
  /** Sent to `baseUrl` only; a function is asked for each request, and once more after a 401. None: cookies. */
  readonly token?: string | (() => string | Promise<string>)
  readonly fetch?: typeof globalThis.fetch
  readonly reconnect?: ReconnectOptions
  readonly clock?: Clock
  /** From 0 to below 1. */
  readonly random?: () => number
}

export interface HttpOptions {
  readonly baseUrl: string
  readonly token: string | (() => string | Promise<string>) | undefined
  readonly fetch: typeof globalThis.fetch
  readonly reconnect: Required<ReconnectOptions>
  readonly clock: Clock
  readonly random: () => number
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `baseUrl`, with its query. */
  readonly path: string
  /** JSON. Made before the first try, so that what is no JSON is a misuse and no failed connection. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** It is not safe to repeat. */
  readonly once?: boolean
}

export interface Http {
  readonly options: HttpOptions
  /** One try, for a stream: resolves when the headers are there. Rejects with a `ClientError`. */
  open(request: HttpRequest, signal: AbortSignal): Promise<Response>
  /** Tries again where that is safe and useful, and reads the JSON. Rejects with a `ClientError`. */
  json<T>(request: HttpRequest, signal?: AbortSignal): Promise<T>
}

const retriedStatuses: readonly number[] = [429, 502, 503, 504]

/** The options must have been checked. */
export function httpOf({ baseUrl, token, fetch = (input, init) => globalThis.fetch(input, init), reconnect, clock = systemClock, random = Math.random }: ConnectionOptions): Http {
  const options = { baseUrl: baseUrl.replace(/\/$/, ''), token, fetch, reconnect: reconnectOptions(reconnect), clock, random }
  return {
    options,
    open: (request, signal) => attempt(options, request, 'text/event-stream, application/x-ndjson', signal),
    json: (request, signal) => jsonOf(options, request, signal),
  }
}

async function jsonOf<T>(options: HttpOptions, request: HttpRequest, signal: AbortSignal | undefined): Promise<T> {
  const patience = new Patience(options)
  for (;;) {
    try {
      return await tryJson<T>(options, request, signal)
    } catch (reason) {
      const error = asClientError(reason, signal)
      if (request.once || !error.retryable) throw error
      await patience.wait(error, signal)
    }
  }
}

async function tryJson<T>(options: HttpOptions, request: HttpRequest, signal: AbortSignal | undefined): Promise<T> {
  const leaving = new AbortController()
  const ended = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal
  const response = await attempt(options, request, 'application/json', ended)
  const text = await inTime(options, leaving, () => response.text())
  if (response.status === 204) return undefined as T
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new ClientError('invalid-answer', 'The answer is not JSON.', { status: response.status, cause })
  }
}

/** One request with one token; after a 401 once more with a new one. */
async function attempt(options: HttpOptions, request: HttpRequest, accept: string, signal: AbortSignal): Promise<Response> {
  const leaving = new AbortController()
  const ended = AbortSignal.any([signal, leaving.signal])
  const first = await send(options, request, accept, ended)
  const again = first.status === 401 && typeof options.token === 'function'
  if (again) await first.body?.cancel()
  const response = again ? await send(options, request, accept, ended) : first
  if (response.ok) return response
  try {
    throw await inTime(options, leaving, () => refusalOf(response, options.clock.now()))
  } catch (error) {
    // A refusal that was cut off says nothing: what it was is told when the request is made again.
    throw asClientError(error, signal)
  }
}

async function send(options: HttpOptions, request: HttpRequest, accept: string, signal: AbortSignal): Promise<Response> {
  const { token } = options
  const value = typeof token === 'function' ? await askToken(token) : token
  const headers: Record<string, string> = { accept, ...request.headers }
  if (value !== undefined) headers['authorization'] = `Bearer ${value}`
  if (request.body !== undefined) headers['content-type'] = 'application/json'
  const leaving = new AbortController()
  const init: RequestInit = {
    method: request.method,
    headers,
    // A token needs no cookies; without one they are the only proof.
    credentials: value === undefined ? 'include' : 'same-origin',
    cache: 'no-store',
    redirect: 'manual',
    signal: AbortSignal.any([signal, leaving.signal]),
  }
  if (request.body !== undefined) init.body = request.body
  try {
    return await inTime(options, leaving, () => options.fetch(options.baseUrl + request.path, init))
  } catch (error) {
    throw asClientError(error, signal)
  }
}

async function askToken(token: () => string | Promise<string>): Promise<string> {
  let given: unknown
  try {
    given = await token()
  } catch (cause) {
    throw new ClientError('token-failed', 'The token function failed.', { cause })
  }
  if (!isHeader(given)) throw new ClientError('token-failed', `The token function must give a text that a header can carry; it gave ${describeValue(given)}.`)
  return given
}

async function refusalOf(response: Response, nowMs: number): Promise<ClientError> {
  const { status } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    return new ClientError('redirect-refused', 'The server answered with a redirect; the token is not taken there.', { status })
  }
  const problem = await problemOf(response)
  const retryAfterMs = retryAfterOf(response.headers, nowMs) ?? problem?.retryAfterMs
  const retryable = retriedStatuses.includes(status) || (status >= 500 && problem?.retryable === true)
  return new ClientError(problem?.code ?? 'invalid-answer', problem?.detail ?? `The server answered with status ${status}.`, {
    status,
    retryable,
    retryAfterMs,
    problem,
  })
}

/** Runs it, and lets it go when nothing came for too long: a lost connection does not always say so. */
export async function inTime<T>(
  { clock, reconnect }: Pick<HttpOptions, 'clock' | 'reconnect'>,
  leaving: AbortController,
  run: () => Promise<T>,
): Promise<T> {
  const late = new ClientError('network', `Nothing came for ${reconnect.silenceMs} ms.`, { retryable: true })
  const cancel = clock.setTimer(clock.now() + reconnect.silenceMs, () => leaving.abort(late))
  try {
    return await run()
  } finally {
    cancel()
  }
}

/** What a failed request or read was. Without the caller's signal behind it, it is the network. */
export function asClientError(error: unknown, signal: AbortSignal | undefined): ClientError {
  if (signal?.aborted) return readingAborted(signal.reason)
  if (ClientError.isInstance(error)) return error
  return new ClientError('network', 'The connection failed.', { retryable: true, cause: error })
}

export function queryOf(fields: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query.toString()}`
}
