import type { Clock } from '@bowline/llm'
import type { LoggedEvent } from '../contract/log-events.ts'
import type { DeltaPlace } from '../contract/session-store.ts'

/** What a reader may have waiting, if it does not ask for less. */
export const maxQueueBytes = 1024 * 1024

/** `seq`: the newest durable event when the delta was made. */
export interface QueuedPlace extends DeltaPlace {
  readonly seq: number
}

export type QueueItem =
  /** `endedRun`: the run that has ended in the commit of which this event is the last. */
  | { readonly kind: 'durable'; readonly event: LoggedEvent; readonly seq: number; readonly endedRun: string | undefined }
  | ({ readonly kind: 'delta'; readonly event: LoggedEvent } & QueuedPlace)

/** Events that one reader has not read yet. If they exceed the limit, the queue drops them and the reader reads the store. */
export class ReaderQueue {
  overflowed = false
  /** Something has changed that the queue does not tell of. */
  outdated = false
  #items: { readonly item: QueueItem; readonly bytes: number }[] = []
  #next = 0
  #bytes = 0
  /** How often; only whether it has changed is of interest. */
  #pushed = 0
  #wasQuiet = false
  #wake: (() => void) | undefined
  #clock: Clock | undefined
  readonly #mutedBase: number | undefined
  readonly #maxBytes: number

  /** Deltas that follow `mutedBase` are not taken. */
  constructor(mutedBase: number | undefined, maxBytes = maxQueueBytes) {
    this.#mutedBase = mutedBase
    this.#maxBytes = Math.min(maxBytes, maxQueueBytes)
  }

  pushDurable(event: LoggedEvent, seq: number, bytes: number, endedRun?: string): void {
    this.#push({ kind: 'durable', event, seq, endedRun }, bytes)
  }

  pushDelta(event: LoggedEvent, { seq, base, n }: QueuedPlace, bytes: number): void {
    if (base !== this.#mutedBase) this.#push({ kind: 'delta', event, seq, base, n }, bytes)
  }

  /** What `shift` would give. */
  get head(): QueueItem | undefined {
    return this.#items[this.#next]?.item
  }

  shift(): QueueItem | undefined {
    const first = this.#items[this.#next]
    if (first === undefined) return undefined
    this.#next++
    this.#bytes -= first.bytes
    // What was read is let go when it is half of the list: a reader that never quite catches up holds nothing old.
    if (this.#next * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#next)
      this.#next = 0
    }
    return first.item
  }

  lookUp(): void {
    this.outdated = true
    this.#wake?.()
  }

  /**
   * Wakes who waits when the signal is aborted, and when nothing was pushed for `quiet.firstMs`, then ever more rarely, up to
   * each `quiet.mostMs`. Returns what ends it.
   */
  attend(signal: AbortSignal, clock: Clock, quiet: { readonly firstMs: number; readonly mostMs: number }): () => void {
    this.#clock = clock
    let cancelTimer: () => void
    const arm = (quietMs: number): void => {
      const before = this.#pushed
      cancelTimer = clock.setTimer(clock.now() + quietMs, () => {
        if (this.#pushed !== before) return arm(quiet.firstMs)
        arm(Math.min(quietMs * 4, quiet.mostMs))
        this.#wasQuiet = true
        this.#wake?.()
      })
    }
    const wake = (): void => this.#wake?.()
    arm(quiet.firstMs)
    signal.addEventListener('abort', wake)
    return () => {
      cancelTimer()
      signal.removeEventListener('abort', wake)
    }
  }

  /**
   * Until the next push, a change, or whatever `attend` tells; true when nothing was pushed for a while. `hold`: the process
   * does not end meanwhile.
   */
  async wait(signal: AbortSignal, hold: boolean): Promise<boolean> {
    if (!this.overflowed && !this.outdated && this.#items.length === 0 && !signal.aborted && !this.#wasQuiet) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const release = hold ? this.#clock?.setTimer(Infinity, resolve, { hold }) : undefined
      await promise
      release?.()
      this.#wake = undefined
    }
    const wasQuiet = this.#wasQuiet
    this.#wasQuiet = false
    return wasQuiet
  }

  #push(item: QueueItem, bytes: number): void {
    if (this.overflowed) return
    this.#pushed++
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) {
      this.overflowed = true
      this.#items = []
      this.#next = 0
    } else {
      this.#items.push({ item, bytes })
    }
    this.#wake?.()
  }
}
