import type { Clock } from '@bowline/llm'

export interface StreamTimes {
  readonly clock: Clock
  /** Silence after which the reader gets a sign of life. */
  readonly heartbeatMs: number
  /** How long the reader may leave what was given to it. */
  readonly slowReaderMs: number
  /** When the stream ends whatever happens. */
  readonly endsAt?: number
}

export interface StreamMoments {
  /** Nothing was given for so long, and the reader waits. */
  onSilence(): void
  onSlow(): void
  onEnd(): void
}

/** All times of one stream on one timer. It is set again when it fires, not with every frame. */
export class StreamTimer {
  readonly #times: StreamTimes
  readonly #moments: StreamMoments
  #slowReaderMs: number
  #endsAt: number
  #givenAt: number
  /** The reader has taken what it was given, and waits. */
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

  /** From now on, for what the reader has not taken by now. */
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
    // What the reader does in between only moves these times on.
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
