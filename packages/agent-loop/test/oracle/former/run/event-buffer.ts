import type { ReaderOptions } from '../contract/run.ts'
import { isDelta } from '../events/kinds.ts'
import type { AgentEvent } from '../events/types.ts'
import { OpenDeltas } from './open-deltas.ts'
import { Reader } from './reader.ts'

export type { ReaderOptions } from '../contract/run.ts'

/**
 * One list of events, read by any number of readers, each at its own place. Durable events stay as long as the run;
 * deltas leave the list behind the durable event that ends their message or call, so a reader that lags misses only
 * what that event holds whole. Readers never slow the writer, and the list knows only those that wait: one that never
 * asks holds nothing.
 */
export class EventBuffer {
  readonly #events: AgentEvent[] = []
  /**
   * The place of an event is its number among all that ever came. Of the events that were there when deltas last left
   * the list it stands here; behind them nothing is missing.
   */
  readonly #places: number[] = []
  #dropped = 0
  /** No delta stands before this index. */
  #clean = 0
  readonly #open = new OpenDeltas()
  readonly #waiting: Reader[] = []
  /** The slots behind it are leftovers: an array that shrinks and grows at each event costs more than they do. */
  #waitingCount = 0
  #lastSeq = 0
  #closed = false

  /** The number of the latest durable event; 0 when there is none. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** How many events are held. */
  get length(): number {
    return this.#events.length
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The place of the event that comes next. */
  get end(): number {
    return this.#events.length + this.#dropped
  }

  push(event: AgentEvent): void {
    this.#events.push(event)
    if (isDelta(event)) this.#open.add(event)
    else {
      this.#lastSeq = event.seq ?? this.#lastSeq
      this.#open.end(event)
      if (this.#open.isWorthDropping) this.#drop()
    }
    if (this.#waitingCount > 0) this.#wake(event)
  }

  /** Every reader ends when it has read what is there. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  read(options: ReaderOptions = {}): Reader {
    return new Reader(this, options)
  }

  at(index: number): AgentEvent | undefined {
    return this.#events[index]
  }

  /** The index of the event at this place, or of the first one behind it. */
  indexOf(place: number): number {
    const index = place - this.#dropped
    if (index >= this.#places.length) return index
    let [low, high] = [0, this.#places.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.placeOf(middle) < place) low = middle + 1
      else high = middle
    }
    return low
  }

  placeOf(index: number): number {
    return this.#places[index] ?? index + this.#dropped
  }

  /** The reader has read all there is, and asks for more. */
  wait(reader: Reader): void {
    this.#waiting[this.#waitingCount++] = reader
  }

  #wake(event?: AgentEvent): void {
    const count = this.#waitingCount
    // A reader that waits on takes the slot of one that was woken before.
    this.#waitingCount = 0
    for (let index = 0; index < count; index++) this.#waiting[index]?.wake(event)
  }

  #drop(): void {
    const [events, places, end] = [this.#events, this.#places, this.end]
    let kept = this.#clean
    let clean: number | undefined
    for (let index = kept; index < events.length; index++) {
      const event = events[index]
      if (!event) continue
      if (isDelta(event)) {
        if (this.#open.isSuperfluous(event)) continue
        clean ??= kept
      }
      places[kept] = this.placeOf(index)
      events[kept++] = event
    }
    events.length = places.length = kept
    this.#dropped = end - kept
    this.#clean = clean ?? kept
    this.#open.forgetEnded()
  }
}
