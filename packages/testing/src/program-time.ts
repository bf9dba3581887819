import type { Clock } from '@bowline/llm'

interface Timer {
  /** Due time in ms since the start, which setting the clock does not change. */
  readonly dueAt: number
  readonly order: number
  readonly run: () => void
}

/**
 * Time of a program, which passes only through `pass`. The clock can be set without time passing. As on a real machine, a
 * pending timer then still runs after its remaining time.
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

  /** Time in ms since the program began. */
  get passed(): number {
    return this.#passed
  }

  /** Sets the clock forward or back. No time passes. */
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
