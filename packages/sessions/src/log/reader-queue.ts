import type { Clock } from '@bowline/llm'
import type { LoggedEvent } from '../contract/log-events.ts'
import type { DeltaPlace } from '../contract/session-store.ts'

/** Limit of buffered bytes, unless the reader asks for less. */
export const maxQueueBytes = 1024 * 1024

/**
 * `seq` is the number of the newest durable event when the delta was made. `had` tells how much of its answer the deltas up to it
 * hold.
 */
export interface QueuedPlace extends DeltaPlace {
  readonly seq: number
  readonly had: string
}

export type QueueItem =
  /** `endedRun` is the run that ended in the commit, if this event is the last of the commit. */
  | { readonly kind: 'durable'; readonly event: LoggedEvent; readonly seq: number; readonly endedRun: string | undefined }
  | ({ readonly kind: 'delta'; readonly event: LoggedEvent } & QueuedPlace)

/** Events that one reader has not read yet. If they exceed the limit, the queue drops them and the reader reads the store. */
export class ReaderQueue {
  overflowed = false
  /** True after a change that the queue does not contain. */
  outdated = false
  #items: { readonly item: QueueItem; readonly bytes: number }[] = []
  #next = 0
  #bytes = 0
  #wasQuiet = false
  #wake: (() => void) | undefined
  /** Cancels the timer that keeps the process alive. */
  #release: (() => void) | undefined
  readonly #mutedBase: number | undefined
  readonly #maxBytes: number
  readonly #runId: string | undefined

  /** Ignores deltas that follow `mutedBase`. With `runId`, lets the reader pass over events of other runs in larger pieces. */
  constructor(mutedBase: number | undefined, maxBytes = maxQueueBytes, runId?: string) {
    this.#mutedBase = mutedBase
    this.#runId = runId
    this.#maxBytes = Math.min(maxBytes, maxQueueBytes)
  }

  pushDurable(event: LoggedEvent, seq: number, bytes: number, endedRun?: string): void {
    this.#push({ kind: 'durable', event, seq, endedRun }, bytes)
  }

  pushDelta(event: LoggedEvent, { seq, base, n, had }: QueuedPlace, bytes: number): void {
    if (base !== this.#mutedBase) this.#push({ kind: 'delta', event, seq, base, n, had }, bytes)
  }

  /** The item that `shift` would return. */
  get head(): QueueItem | undefined {
    return this.#items[this.#next]?.item
  }

  shift(): QueueItem | undefined {
    const first = this.#items[this.#next]
    if (first === undefined) return undefined
    this.#next++
    this.#bytes -= first.bytes
    // Removes read items once they are half of the list: a reader that never quite catches up keeps no old items.
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

  /** Wakes the waiting reader if nothing was published for a while. */
  poll(isQuiet: boolean): void {
    // A reader that has stopped to read must not keep the process alive.
    if (!this.#wake) this.letProcessEnd()
    if (!isQuiet) return
    this.#wasQuiet = true
    this.#wake?.()
  }

  /**
   * Waits for the next push, a change, or a poll. Returns true if nothing was published for a while. A timer of
   * `holdBy` keeps the process alive meanwhile, and between this wait and the next: a timer for each wait would be one for each
   * delta.
   */
  async wait(holdBy?: Clock): Promise<boolean> {
    if (holdBy) this.#release ??= holdBy.setTimer(Infinity, () => undefined, { hold: true })
    else this.letProcessEnd()
    if (!this.overflowed && !this.outdated && this.#items.length === 0 && !this.#wasQuiet) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
      this.#wake = undefined
    }
    const wasQuiet = this.#wasQuiet
    this.#wasQuiet = false
    return wasQuiet
  }

  letProcessEnd(): void {
    this.#release?.()
    this.#release = undefined
  }

  #push(item: QueueItem, bytes: number): void {
    if (this.overflowed) return
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) {
      this.overflowed = true
      this.#items = []
      this.#next = 0
    } else {
      this.#items.push({ item, bytes })
    }
    if (this.overflowed || this.#bytes * 2 > this.#maxBytes || this.#concerns(item)) this.#wake?.()
  }

  #concerns({ event }: QueueItem): boolean {
    return this.#runId === undefined || !('runId' in event) || event.runId === this.#runId
  }
}
