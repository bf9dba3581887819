import { ClientError, readingAborted } from './client-error.ts'
import type { Clock } from './clock.ts'
import { onReturn } from './on-return.ts'

/** Times of the retries of a lost connection, in milliseconds. */
export interface ReconnectOptions {
  /** Backoff window of the first wait. It doubles with each try. Default 250. */
  readonly baseMs?: number
  /** Maximum backoff window. Default 10,000. */
  readonly maxMs?: number
  /** Time without contact after which the client gives up. Default 120,000. */
  readonly maxDownMs?: number
  /** Inactivity timeout of an answer. The server sends something at least every 15,000. Default 45,000. */
  readonly silenceMs?: number
}

export function reconnectOptions({
  baseMs = 250,
  maxMs = 10_000,
  maxDownMs = 120_000,
  silenceMs = 45_000,
}: ReconnectOptions = {}): Required<ReconnectOptions> {
  return { baseMs, maxMs, maxDownMs, silenceMs }
}

export interface PatienceOptions {
  readonly reconnect: Required<ReconnectOptions>
  readonly clock: Clock
  readonly random: () => number
}

/** Decides how long to wait before the next try and when to give up. One instance per request or stream. */
export class Patience {
  /** Minimum wait, from `retry:` of the stream. */
  retryMs: number | undefined
  readonly #options: PatienceOptions
  #tries = 0
  #contactAt: number

  constructor(options: PatienceOptions) {
    this.#options = options
    this.#contactAt = options.clock.now()
  }

  /** Records that the server was reached. */
  contact(): void {
    this.#contactAt = this.#options.clock.now()
  }

  /** Records that the server sent data: the next wait starts again with the first backoff window. */
  progress(): void {
    this.contact()
    this.#tries = 0
  }

  /** Resolves when it is time for the next try. Rejects with `error` or `disconnected` if the time is up. */
  async wait(error: ClientError, signal: AbortSignal | undefined, onWait?: (nextTryAt: number) => void): Promise<void> {
    const { clock, reconnect } = this.#options
    const { retryAfterMs = 0 } = error
    const now = clock.now()
    const leftMs = this.#contactAt + reconnect.maxDownMs - now
    if (leftMs <= 0 || retryAfterMs > leftMs) throw givenUp(error, reconnect.maxDownMs)
    // The last try is made exactly at the end of the time.
    const nextTryAt = now + Math.min(leftMs, Math.max(retryAfterMs, this.retryMs ?? 0, this.#backOffMs()))
    onWait?.(nextTryAt)
    await this.#pause(nextTryAt, signal)
  }

  #backOffMs(): number {
    const { baseMs, maxMs } = this.#options.reconnect
    const windowMs = Math.min(maxMs, baseMs * 2 ** this.#tries++)
    return this.#options.random() * windowMs
  }

  #pause(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (then: () => void): void => {
        cancelTimer()
        cancelReturn()
        signal?.removeEventListener('abort', onAbort)
        then()
      }
      const onAbort = (): void => settle(() => reject(readingAborted(signal?.reason)))
      const cancelTimer = this.#options.clock.setTimer(untilMs, () => settle(resolve))
      const cancelReturn = onReturn(() => settle(resolve))
      if (signal?.aborted) onAbort()
      else signal?.addEventListener('abort', onAbort)
    })
  }
}

/** Keeps the error of a refusal and of a failed token function. Otherwise the code is `disconnected`. */
function givenUp(error: ClientError, maxDownMs: number): ClientError {
  if (error.problem || !error.retryable) return error
  return new ClientError('disconnected', `The server was not reachable for ${maxDownMs} ms.`, { retryable: true, cause: error })
}
