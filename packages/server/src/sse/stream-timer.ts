import type { Clock } from '@bowline/llm'

export interface StreamTimes {
  readonly clock: Clock
  /** Silence in ms after which the reader gets a heartbeat. */
  readonly heartbeatMs: number
  /** Time in ms that the reader has to take data. */
  readonly slowReaderMs: number
  /** Time at which the stream ends in any case. */
  readonly endsAt?: number
}

export interface StreamMoments {
  /** Called if the reader waits and got nothing for `heartbeatMs`. */
  onSilence(): void
  onSlow(): void
  onEnd(): void
}

/** All timeouts of one stream in one timer. It is set again when it fires, not with every frame. */
export class StreamTimer {
  readonly #times: StreamTimes
  readonly #moments: StreamMoments
  #slowReaderMs: number
  #endsAt: number
  #givenAt: number
  /** True if the reader has taken all data and waits. */
  #isAsked = false
  #stopped = false
  #cancel: () => void = () => undefined

  constructor(times: StreamTimes, moments: StreamMoments) {
    this.#times = times
    this.#moments = moments
    this.#slowReaderMs = times.slowReaderMs
    this.#endsAt = times.endsAt ?? Infinity
    this.#givenAt = times.clock.now()
    this.#arm()
  }

  asked(): void {
    this.#isAsked = true
  }

  given(): void {
    this.#isAsked = false
    this.#givenAt = this.#times.clock.now()
  }

  /** Starts a new timeout for data that the reader has not taken yet. */
  giveTime(ms: number): void {
    this.#slowReaderMs = ms
    this.#givenAt = this.#times.clock.now()
    this.#arm()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #arm(): void {
    const { clock, heartbeatMs } = this.#times
    const now = clock.now()
    // Activity of the reader can only move these times later.
    const silentAt = (this.#isAsked ? this.#givenAt : now) + heartbeatMs
    const slowAt = (this.#isAsked ? now : this.#givenAt) + this.#slowReaderMs
    this.#cancel()
    this.#cancel = clock.setTimer(Math.min(silentAt, slowAt, this.#endsAt), () => this.#fire())
  }

  #fire(): void {
    const { clock, heartbeatMs } = this.#times
    const now = clock.now()
    if (now >= this.#endsAt) {
      this.#endsAt = Infinity
      this.#moments.onEnd()
    }
    if (!this.#isAsked && now - this.#givenAt >= this.#slowReaderMs) this.#moments.onSlow()
    if (this.#isAsked && now - this.#givenAt >= heartbeatMs) {
      this.#givenAt = now
      this.#moments.onSilence()
    }
    if (!this.#stopped) this.#arm()
  }
}
