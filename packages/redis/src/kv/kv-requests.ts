import type { Clock } from '@bowline/llm'
import type { Requester } from '@upstash/redis'
import { SessionError } from '@bowline/sessions/store-parts'
import { answeredUntil, waitUntil } from '../redis/answered.ts'
import { LostAnswer } from '../redis/script-server.ts'
import { busyError, CommandFailed, statusError, unreachableError } from './kv-errors.ts'

const msPerSecond = 1_000

export interface KvRequestsOptions {
  readonly url: string
  readonly token: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly maxWaitMs: number
  readonly fetch: typeof fetch
}

interface Answered {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: unknown
}

const shortestWaitMs = 100

/** Error codes of failures before anything was sent. */
const notSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH']

/** Error texts with which `fetch` refuses a request. */
const refused = ['bad port', 'unexpected redirect']

/**
 * Sends each command of a client over HTTP once. Replaces the client's own requester, which retries a request whose answer is lost,
 * hides the status and shows commands in its errors.
 */
export class KvRequests implements Requester {
  readonly #options: KvRequestsOptions
  #syncToken = ''

  constructor(options: KvRequestsOptions) {
    this.#options = options
  }

  request: Requester['request'] = async <Result>({ body }: { readonly body?: unknown }) => {
    const answered = await this.#sendWhenFree(JSON.stringify(body))
    const { result, error } = fieldsOf(answered.body)
    const { status } = answered
    if (status === 401 || status === 403) throw statusError(status)
    if (typeof error === 'string') throw new CommandFailed(error)
    if (status !== 200 || result === undefined) throw statusError(status)
    // The client parses the result as JSON, which restores it unchanged.
    return { result: JSON.stringify(result) as Result }
  }

  /**
   * Retries a 429 after the wait that the service asks for, within `maxWaitMs`. Never resends a command that may have been
   * executed.
   */
  async #sendWhenFree(text: string): Promise<Answered> {
    const { clock, maxWaitMs } = this.#options
    const untilMs = clock.now() + maxWaitMs
    for (let waits = 0; ; waits++) {
      const answered = await this.#send(text)
      const { status } = answered
      if (status !== 429 && status < 500) return answered
      const waitMs = Math.max(shortestWaitMs * 2 ** waits, retryAfterMs(answered.retryAfter, clock.now()) ?? 0)
      if (clock.now() + waitMs > untilMs) throw busyError(status, waitMs)
      await waitUntil(clock, clock.now() + waitMs)
      if (status !== 429) throw new LostAnswer(`The status is ${status}.`)
    }
  }

  async #send(text: string): Promise<Answered> {
    const { clock, timeoutMs } = this.#options
    const abort = new AbortController()
    try {
      return await answeredUntil(clock, clock.now() + timeoutMs, this.#fetch(text, abort.signal))
    } catch (error) {
      abort.abort()
      if (error instanceof LostAnswer || SessionError.isInstance(error)) throw error
      const reason = reasonOf(error)
      if (refused.includes(reason)) throw statusError(reason)
      throw notSent.includes(reason) ? unreachableError(reason) : new LostAnswer('The connection was lost.')
    }
  }

  async #fetch(text: string, signal: AbortSignal): Promise<Answered> {
    const { url, token, fetch: send } = this.#options
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'upstash-sync-token': this.#syncToken }
    const response = await send(url, { method: 'POST', headers, body: text, signal, cache: 'no-store', redirect: 'error' })
    const body = await response.text()
    this.#syncToken = response.headers.get('upstash-sync-token') ?? this.#syncToken
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: parsed(body, response.status) }
  }
}

/** A truncated body of a success is a lost answer. Another body that is not JSON came from another service. */
function parsed(body: string, status: number): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    if (status !== 200) return undefined
    throw new LostAnswer('The answer was cut.')
  }
}

function fieldsOf(body: unknown): { readonly result?: unknown; readonly error?: unknown } {
  return typeof body === 'object' && body !== null ? body : {}
}

/** Returns why `fetch` failed. The reason is in the cause: a code, or a text for the rules of `fetch` itself. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } }
  return cause?.code ?? cause?.message ?? ''
}

/** Returns the wait of a Retry-After header, in seconds or as a date. Undefined if there is none. */
function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * msPerSecond)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
