import type { Clock } from '../clock.ts'
import type { Timeouts } from '../model-request.ts'

export type Expired = 'first-part' | 'idle' | 'total' | 'grace'

interface Watch {
  /** Returns whether the call is waiting for a part, because a reader waits for an event. */
  isWaiting(): boolean
  /** Returns whether a caller waits for an event or the result, also while the provider is being called. */
  isAwaited(): boolean
  onExpired(limit: Expired): void
}

/** Number of checks per idle limit. The limit may fire late by one such interval, never early. */
const checksPerIdle = 16

/**
 * All limits of one call, with one timer. A part costs one assignment: instead of a timer or clock read per part, the timer checks
 * periodically for activity. It keeps the process alive while a caller waits, so that a limit can end that wait. An abandoned call
 * does not keep the process alive.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #watch: Watch
  readonly #firstPartMs: number
  readonly #idleMs: number
  readonly #totalMs: number
  #phase: 'first-part' | 'idle' | 'grace' = 'first-part'
  #dueAt = Infinity
  #totalAt = Infinity
  #moved = false
  #paused = false
  #holds = false
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, timeouts: Timeouts, watch: Watch) {
    this.#clock = clock
    this.#watch = watch
    this.#firstPartMs = limitOf(timeouts.firstPartMs ?? 300_000)
    this.#idleMs = limitOf(timeouts.idleMs ?? 120_000)
    this.#totalMs = limitOf(timeouts.totalMs ?? 0)
  }

  start(now: number): void {
    this.#holds = this.#watch.isAwaited()
    this.#dueAt = now + this.#firstPartMs
    this.#totalAt = now + this.#totalMs
    this.#arm(now)
  }

  /** Suspends the limit of the first part while no caller waits. It restarts when a caller waits. */
  pause(): void {
    this.#paused = true
    this.#dueAt = Infinity
  }

  /** Called when the call begins to wait for its next part. */
  moved(): void {
    this.#moved = true
    if (this.#paused) this.#resume()
    else this.hold()
  }

  /** Called when a caller begins to wait. */
  hold(): void {
    if (this.#holds) return
    this.#holds = true
    if (this.#cancelTimer) this.#arm(this.#clock.now())
  }

  /** Starts the idle limit. The pending timer fires early enough for it. */
  firstPart(now: number): void {
    if (this.#phase !== 'first-part') return
    this.#phase = 'idle'
    this.#dueAt = now + this.#idleMs
  }

  /** Sets a fixed end: the call ends at `dueAt`, even if parts arrive. */
  endAt(dueAt: number, now: number): void {
    this.#phase = 'grace'
    this.#dueAt = dueAt
    this.#arm(now)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #arm(now: number): void {
    this.stop()
    const checkAt = this.#phase === 'grace' ? Infinity : now + this.#idleMs / checksPerIdle
    const wakeAt = Math.min(this.#dueAt, this.#totalAt, checkAt)
    // In the grace phase, the end is near anyway.
    const hold = this.#holds || this.#phase === 'grace'
    if (wakeAt !== Infinity) this.#cancelTimer = this.#clock.setTimer(wakeAt, () => this.#wake(), { hold })
  }

  #resume(): void {
    const now = this.#clock.now()
    this.#paused = false
    this.#holds = true
    this.#dueAt = now + this.#firstPartMs
    this.#arm(now)
  }

  #wake(): void {
    const now = this.#clock.now()
    if (now >= this.#totalAt) return this.#watch.onExpired('total')
    if (this.#phase === 'idle' && this.#hasMoved()) this.#dueAt = now + this.#idleMs
    if (now >= this.#dueAt) return this.#watch.onExpired(this.#phase)
    this.#holds = this.#watch.isAwaited()
    this.#arm(now)
  }

  /** Returns whether the idle limit restarts: a part arrived, or the reader is not waiting. */
  #hasMoved(): boolean {
    const moved = this.#moved
    this.#moved = false
    return moved || !this.#watch.isWaiting()
  }
}

function limitOf(ms: number): number {
  return ms > 0 ? ms : Infinity
}
