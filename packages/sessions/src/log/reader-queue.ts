import type { LoggedEvent } from '../session/types.ts'

const maxQueueBytes = 1024 * 1024
const durableBytes = 1024

export type QueueItem =
  | { readonly kind: 'durable'; readonly event: LoggedEvent; readonly seq: number }
  | { readonly kind: 'delta'; readonly event: LoggedEvent; readonly base: number; readonly n: number }

/** What one reader has yet to read. When it grows too long it is emptied: the reader then goes back to the store. */
export class ReaderQueue {
  overflowed = false
  #items: QueueItem[] = []
  #next = 0
  #bytes = 0
  #wake: (() => void) | undefined
  readonly #mutedBase: number | undefined

  /** Deltas that follow `mutedBase` are not taken. */
  constructor(mutedBase: number | undefined) {
    this.#mutedBase = mutedBase
  }

  pushDurable(event: LoggedEvent, seq: number): void {
    this.#push({ kind: 'durable', event, seq }, durableBytes)
  }

  pushDelta(event: LoggedEvent, base: number, n: number, bytes: number): void {
    if (base !== this.#mutedBase) this.#push({ kind: 'delta', event, base, n }, bytes)
  }

  shift(): QueueItem | undefined {
    const item = this.#items[this.#next]
    if (item === undefined) return undefined
    this.#next++
    if (this.#next === this.#items.length) {
      this.#items = []
      this.#next = 0
      this.#bytes = 0
    }
    return item
  }

  /** Resolves at the next push, or when the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.overflowed || this.#items.length > 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake)
    })
  }

  #push(item: QueueItem, bytes: number): void {
    if (this.overflowed) return
    this.#bytes += bytes
    if (this.#bytes > maxQueueBytes) {
      this.overflowed = true
      this.#items = []
      this.#next = 0
    } else {
      this.#items.push(item)
    }
    this.#wake?.()
  }
}
