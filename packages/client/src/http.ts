import { describeValue } from '@bowline/llm/arguments'
import { isHeader } from './arguments.ts'
import { ClientError, readingAborted } from './client-error.ts'
import { systemClock, type Clock } from './clock.ts'
import { Patience, reconnectOptions, type ReconnectOptions } from './patience.ts'
import { problemOf, retryAfterOf } from './problem.ts'

/** Address of a server and settings of the connection. */
export interface ConnectionOptions {
  /** Address of the server: http or https, or in a page an absolute path (`''` for the origin of the page). */
  readonly baseUrl: string
  /**
   * Bearer token, sent only to `baseUrl`. A function is called for each request, and once more after a 401. If absent, cookies are
   * used.
   */
  readonly token?: string | (() => string | Promise<string>)
  readonly fetch?: typeof globalThis.fetch
  readonly reconnect?: ReconnectOptions
  readonly clock?: Clock
  /** Returns a number from 0 to below 1. */
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
  /** Path below `baseUrl`, with the query. */
  readonly path: string
  /** JSON text. It is made before the first try, so that a value that is not JSON is an input error and not a failed connection. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** True if the request is not idempotent: it is sent once. */
  readonly once?: boolean
}

export interface Http {
  readonly options: HttpOptions
  /** Makes one try, for a stream. Resolves when the headers have arrived. Rejects with a `ClientError`. */
  open(request: HttpRequest, signal: AbortSignal): Promise<Response>
  /** Sends the request, retries where that is safe and useful, and reads the JSON. Rejects with a `ClientError`. */
  json<T>(request: HttpRequest, signal?: AbortSignal): Promise<T>
}

const retriedStatuses: readonly number[] = [429, 502, 503, 504]

/** Creates the HTTP client. The options must have been checked. */
export function httpOf({
  baseUrl,
  token,
  fetch = (input, init) => globalThis.fetch(input, init),
  reconnect,
  clock = systemClock,
  random = Math.random,
}: ConnectionOptions): Http {
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
    throw new ClientError('invalid-answer', 'The answer is not JSON. Check baseUrl.', { status: response.status, cause })
  }
}

/** Makes one request with one token. After a 401 it asks for a new token and makes one more. */
async function attempt(options: HttpOptions, request: HttpRequest, accept: string, signal: AbortSignal): Promise<Response> {
  const leaving = new AbortController()
  const ended = AbortSignal.any([signal, leaving.signal])
  let response = await send(options, request, accept, ended)
  if (response.status === 401 && typeof options.token === 'function') {
    await response.body?.cancel()
    response = await send(options, request, accept, ended)
  }
  if (response.ok) return response
  try {
    throw await inTime(options, leaving, () => refusalOf(response, options.clock.now()))
  } catch (error) {
    // The refusal could not be read to its end. A retry of the request gets it again.
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
    // A token needs no cookies. Without a token, cookies are the only credentials.
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
  if (!isHeader(given))
    throw new ClientError(
      'token-failed',
      `The token function must return a text that is valid in a header; received ${describeValue(given)}.`,
    )
  return given
}

async function refusalOf(response: Response, nowMs: number): Promise<ClientError> {
  const { status } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    return new ClientError('redirect-refused', 'The server answered with a redirect. Check baseUrl.', { status })
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

/** Runs `run` with an inactivity timeout: a lost connection is not always reported. */
export async function inTime<T>(
  { clock, reconnect }: Pick<HttpOptions, 'clock' | 'reconnect'>,
  leaving: AbortController,
  run: () => Promise<T>,
): Promise<T> {
  const { silenceMs } = reconnect
  const giveUp = (): void => leaving.abort(new ClientError('network', `The server sent nothing for ${silenceMs} ms.`, { retryable: true }))
  const cancel = clock.setTimer(clock.now() + silenceMs, giveUp)
  try {
    return await run()
  } finally {
    cancel()
  }
}

/** Converts the error of a failed request or read. If the caller did not abort, it is a network error. */
export function asClientError(error: unknown, signal?: AbortSignal): ClientError {
  if (signal?.aborted) return readingAborted(signal.reason)
  if (ClientError.isInstance(error)) return error
  return new ClientError('network', 'The connection failed.', { retryable: true, cause: error })
}

export function queryOf(fields: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query.toString()}`
}
