import type { Clock } from '@bowline/llm'

interface Waiter {
  readonly dueAt: number
  readonly wake: () => void
}

/** All waiters for one event, with individual time limits and a single timer. */
export class Waiters {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiter>()
  #timer: { readonly dueAt: number; readonly cancel: () => void } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves on `wakeAll`, after `waitMs`, or when the signal is aborted. */
  async wait(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (waitMs <= 0 || signal?.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { dueAt: this.#clock.now() + waitMs, wake: resolve }
    this.#waiting.add(waiter)
    if (!this.#timer || waiter.dueAt < this.#timer.dueAt) this.#arm(waiter.dueAt)
    const leave = (): void => resolve()
    signal?.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', leave)
      this.#waiting.delete(waiter)
      if (this.#waiting.size === 0) this.#disarm()
    }
  }

  wakeAll(): void {
    this.#disarm()
    for (const { wake } of this.#waiting) wake()
    this.#waiting.clear()
  }

  #arm(dueAt: number): void {
    this.#disarm()
    this.#timer = { dueAt, cancel: this.#clock.setTimer(dueAt, () => this.#wakeDue()) }
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #wakeDue(): void {
    const now = this.#clock.now()
    let next = Number.POSITIVE_INFINITY
    for (const { dueAt, wake } of this.#waiting) {
      if (dueAt <= now) wake()
      else next = Math.min(next, dueAt)
    }
    this.#timer = undefined
    if (Number.isFinite(next)) this.#arm(next)
  }
}
