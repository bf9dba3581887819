import type { Clock } from '../clock.ts'
import type { Timeouts } from '../model-request.ts'

export type Expired = 'first-part' | 'idle' | 'total' | 'grace'

interface Watch {
  /** Whether the call waits for a part now, because a reader waits for an event. */
  isWaiting(): boolean
  /** Whether a caller waits for an event or the result, also while the provider is being called. */
  isAwaited(): boolean
  onExpired(limit: Expired): void
}

/** The idle limit is checked this often within its own length, so it may fire that much late, never early. */
const checksPerIdle = 16

/**
 * All limits of one call on one timer. A part costs one assignment: no timer is set and no clock is read per part, the
 * timer looks at intervals whether anything has moved since it last looked. It holds the process while a caller waits:
 * the limit must end the wait, also when nothing else keeps the process alive. A call that is forgotten holds nothing.
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

  /** Nobody waits for the first part: its limit starts anew with the first who does. */
  pause(): void {
    this.#paused = true
    this.#dueAt = Infinity
  }

  /** The call has begun to wait for its next part. */
  moved(): void {
    this.#moved = true
    if (this.#paused) this.#resume()
    else this.hold()
  }

  /** A caller waits from now on. */
  hold(): void {
    if (this.#holds) return
    this.#holds = true
    if (this.#cancelTimer) this.#arm(this.#clock.now())
  }

  /** From here on the idle limit counts. The timer that is set looks early enough for it. */
  firstPart(now: number): void {
    if (this.#phase !== 'first-part') return
    this.#phase = 'idle'
    this.#dueAt = now + this.#idleMs
  }

  /** Nothing but the end is awaited any more: the call ends at `dueAt`, whether parts come or not. */
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
    // The end is near in any case.
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

  /** Whether the idle limit has to start anew: a part came, or the reader takes its time. */
  #hasMoved(): boolean {
    const moved = this.#moved
    this.#moved = false
    return moved || !this.#watch.isWaiting()
  }
}

function limitOf(ms: number): number {
  return ms > 0 ? ms : Infinity
}
