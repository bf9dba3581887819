import type { Clock } from '@bowline/llm'
import { encodeHints, mergeHints } from './hint-format.ts'
import type { Hint } from './hint-format.ts'
import type { Queries } from './pg-session.ts'

export interface HintSenderOptions {
  readonly channel: string
  /** Id of this process in the hints that it sends. Must not contain spaces. */
  readonly sender: string
  readonly clock: Clock
  /** Connection on which no writer waits. */
  readonly queries: Queries
  /** Called with the first failure of a series. Must not throw. */
  readonly onError: (error: unknown) => void
}

/** Hints are collected for this many ms from the last batch. */
const gatherMs = 10
/** Above this number of keys, one hint asks to read everything. */
const mostKeys = 10_000
const retryMs = 1000
/** Number of batches whose send time is remembered. */
const mostBatches = 64

/** NOTIFY holds locks of the server until its transaction ends, so the transaction does not wait for the disk. */
const notify = "select set_config('synchronous_commit', 'off', true), pg_notify($1, payload) from unnest($2::text[]) as given (payload)"

/** Sends hints to other processes, at most one pending per key. */
export class HintSender {
  readonly #options: HintSenderOptions
  readonly #waiting = new Map<string, Hint>()
  readonly #sentAt = new Map<number, number>()
  #isEverything = false
  #isFailing = false
  #isClosed = false
  #batches = 0
  #sent = 0
  #failed = 0
  #nextAt = -Infinity
  #sending: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: HintSenderOptions) {
    this.#options = options
  }

  get counts(): { readonly batches: number; readonly sent: number; readonly failed: number } {
    return { batches: this.#batches, sent: this.#sent, failed: this.#failed }
  }

  tell(hint: Hint): void {
    if (!this.#isEverything) {
      const before = this.#waiting.get(hint.key)
      this.#waiting.set(hint.key, before ? mergeHints(before, hint) : hint)
      if (this.#waiting.size > mostKeys) this.#sendEverything()
    }
    this.#schedule()
  }

  /** Sends pending hints and stops. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    await this.#sending
    if (this.#hasWaiting) await this.#send()
  }

  /** Returns the age of a batch in ms, or undefined if its send time is no longer known. */
  ageOf(batch: number): number | undefined {
    const sentAt = this.#sentAt.get(batch)
    return sentAt === undefined ? undefined : this.#options.clock.now() - sentAt
  }

  get #hasWaiting(): boolean {
    return this.#isEverything || this.#waiting.size > 0
  }

  #sendEverything(): void {
    this.#waiting.clear()
    this.#isEverything = true
  }

  #schedule(): void {
    if (this.#sending || this.#cancelTimer || this.#isClosed) return
    const { clock } = this.#options
    const now = clock.now()
    // Bounded, since the clock may have been set back.
    const atMs = Math.min(Math.max(now, this.#nextAt), now + (this.#isFailing ? retryMs : gatherMs))
    this.#cancelTimer = clock.setTimer(atMs, () => {
      this.#cancelTimer = undefined
      void this.#send()
    })
  }

  #send(): Promise<void> {
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = undefined
      if (this.#hasWaiting) this.#schedule()
    })
    return this.#sending
  }

  async #sendBatch(): Promise<void> {
    const { channel, sender, clock, queries, onError } = this.#options
    const hints = this.#isEverything ? undefined : [...this.#waiting.values()]
    this.#waiting.clear()
    this.#isEverything = false
    const batch = ++this.#batches
    this.#note(batch, clock.now())
    try {
      await queries.query(notify, [channel, encodeHints({ sender, batch, hints })])
      this.#sent += hints?.length ?? 1
      this.#isFailing = false
      this.#nextAt = clock.now() + gatherMs
    } catch (error) {
      this.#failed += hints?.length ?? 1
      if (!this.#isFailing) onError(error)
      this.#isFailing = true
      this.#nextAt = clock.now() + retryMs
      this.#sendEverything()
    }
  }

  #note(batch: number, now: number): void {
    this.#sentAt.set(batch, now)
    this.#sentAt.delete(batch - mostBatches)
  }
}
