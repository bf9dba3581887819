import { SessionError, type SessionErrorCode } from '@bowline/sessions'
import type { RestateOptions } from './options.ts'

const answerMs = 4_000
/** Waits in ms before a request is sent again that Restate did not answer. */
const retriesMs = [50, 200, 800]

/** Cause of an error that also comes shortly after a start of Restate, before it knows the workers. */
const unknownHandler = new Error('Restate knows no such handler.')

interface Call {
  /** JSON. Default: none. */
  readonly body?: unknown
  /** The request is sent again under this key if its answer was lost. */
  readonly idempotencyKey?: string
  /** Returns once Restate has stored the call, without waiting for its result. */
  readonly send?: { readonly delayMs: number }
  /** Default: as long as the handler takes. */
  readonly timeoutMs?: number
}

/** Calls handlers of the object through Restate's ingress. */
export class Ingress {
  readonly #url: string
  readonly #name: string
  readonly #headers: Readonly<Record<string, string>>
  /** True if the last wake found no worker of the object. */
  #isUnknown = false

  constructor({ url = 'http://127.0.0.1:8080', name = 'sessions', headers = {} }: RestateOptions) {
    this.#url = url.replace(/\/+$/, '')
    this.#name = name
    this.#headers = headers
  }

  /**
   * Resolves once Restate has stored that this session is to be worked on. Rejects with `store-unavailable` if Restate is away. If
   * Restate does not know the object, the first wake rejects with `invalid-config`, and later ones are silent until one succeeds.
   */
  async wake(key: string, delayMs: number): Promise<void> {
    try {
      await this.call(key, 'work', { send: { delayMs }, timeoutMs: answerMs }, this.#isUnknown ? [] : retriesMs)
      this.#isUnknown = false
    } catch (error) {
      const wasUnknown = this.#isUnknown
      this.#isUnknown = SessionError.isInstance(error) && error.code === 'invalid-config'
      if (!wasUnknown || !this.#isUnknown) throw error
    }
  }

  /** Rejects with `store-unavailable` if Restate does not answer. */
  async check(): Promise<void> {
    const { ok, status } = await this.#fetch('/restate/health', { signal: AbortSignal.timeout(answerMs) })
    if (!ok) throw new SessionError('store-unavailable', `Restate at ${this.#url} is not healthy: it answered ${status}.`)
  }

  /** Calls a handler. Rejects with the error of the handler, or with `store-unavailable` if Restate is away. */
  async call(key: string, handler: string, call: Call, [waitMs, ...later]: readonly number[] = retriesMs): Promise<unknown> {
    try {
      return await this.#once(key, handler, call)
    } catch (error) {
      if (waitMs === undefined || !mayPass(error)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    return this.call(key, handler, call, later)
  }

  async #once(key: string, handler: string, { body, idempotencyKey, send, timeoutMs }: Call): Promise<unknown> {
    const delay = send && send.delayMs > 0 ? `?delay=${Math.ceil(send.delayMs)}ms` : ''
    const { ok, status, text } = await this.#fetch(`/${this.#name}/${encodeURIComponent(key)}/${handler}${send ? `/send${delay}` : ''}`, {
      method: 'POST',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    })
    if (!ok) throw this.#errorOf(status, text, handler)
    try {
      return text === '' ? undefined : (JSON.parse(text) as unknown)
    } catch (cause) {
      throw new SessionError('invalid-config', `The answer of ${this.#url} is no JSON: is it the ingress of Restate?`, { cause })
    }
  }

  /** Resolves with the whole answer: a connection may also break while it is read. */
  async #fetch(path: string, request: RequestInit & { readonly headers?: Readonly<Record<string, string>> }) {
    try {
      const response = await fetch(`${this.#url}${path}`, { ...request, headers: { ...this.#headers, ...request.headers } })
      return { ok: response.ok, status: response.status, text: await response.text() }
    } catch (cause) {
      throw new SessionError('store-unavailable', `Restate does not answer at ${this.#url}.`, { cause })
    }
  }

  #errorOf(status: number, text: string, handler: string): SessionError {
    const message = messageOf(text)
    const told = /^\[([a-z-]+)\] (.*)$/s.exec(message)
    if (told?.[1] !== undefined && told[2] !== undefined) return new SessionError(told[1] as SessionErrorCode, told[2])
    if (status === 404)
      return new SessionError(
        'invalid-config',
        `Restate knows no handler ${this.#name}/${handler}: register a worker of this object with \`restate deployments register <url>\`. ${message}`,
        { cause: unknownHandler },
      )
    const code = status >= 500 || status === 429 ? 'store-unavailable' : 'invalid-input'
    return new SessionError(code, `Restate answered ${status}: ${message}`)
  }
}

function mayPass(error: unknown): boolean {
  return SessionError.isInstance(error) && (error.retryable || error.cause === unknownHandler)
}

/** Returns the message of a handler's error as Restate hands it on. */
export function tellError({ code, message }: SessionError): string {
  return `[${code}] ${message}`
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}
