import type { Clock } from '@bowline/llm'

interface Timer {
  /** By the time that passes, which no setting of the clock changes. */
  readonly dueAt: number
  readonly order: number
  readonly run: () => void
}

/**
 * The time of a program. It passes only through `pass`. As on a real machine the clock can be set without time passing,
 * and a timer then still runs when so much time has passed as was left when it was set.
 */
export class ProgramTime {
  readonly clock: Clock
  readonly #timers = new Set<Timer>()
  #passed = 0
  #offset: number
  #order = 0

  constructor(startMs = 1_000_000_000) {
    this.#offset = startMs
    this.clock = { now: () => this.now, setTimer: (atMs, run) => this.#set(atMs, run) }
  }

  get now(): number {
    return this.#passed + this.#offset
  }

  /** Since the program began. */
  get passed(): number {
    return this.#passed
  }

  /** Sets the clock; no time passes. */
  setBy(ms: number): void {
    this.#offset += ms
  }

  /** Advances time. `settle` waits for the effects of one timer before the next one runs. */
  async pass(ms: number, settle: () => Promise<unknown>): Promise<void> {
    const until = this.#passed + ms
    await settle()
    for (let timer = this.#next(until); timer; timer = this.#next(until)) {
      this.#timers.delete(timer)
      this.#passed = Math.max(this.#passed, timer.dueAt)
      timer.run()
      await settle()
    }
    this.#passed = until
  }

  clear(): void {
    this.#timers.clear()
  }

  #set(atMs: number, run: () => void): () => void {
    const timer = { dueAt: this.#passed + Math.max(0, atMs - this.now), order: this.#order++, run }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.dueAt > until) continue
      if (!next || timer.dueAt < next.dueAt || (timer.dueAt === next.dueAt && timer.order < next.order)) next = timer
    }
    return next
  }
}
