import type { MessageEvent } from '../events.ts'
import { EventQueue } from './event-queue.ts'

export type EventResult = IteratorResult<MessageEvent, undefined>

const done: EventResult = { value: undefined, done: true }

/**
 * Where events wait for readers, or readers for events; both in order. A reader who can fetch the next event itself
 * reserves it, which costs no promise of its own; everybody else waits, or takes what is handed over.
 */
export class EventOutlet {
  readonly #queue = new EventQueue()
  readonly #waiters: ((result: EventResult) => void)[] = []
  #reserved = false
  #reservedEvent: MessageEvent | undefined
  #receiver: ((event: MessageEvent) => void) | undefined
  /** Whether the receiver holds an event now. What its doing brings about waits behind it. */
  #handing = false
  #closed = false

  /** Whether somebody waits for an event that is not there. */
  get isAwaited(): boolean {
    return this.#reserved || this.#waiters.length > 0
  }

  /** Keeps the next event for the caller, if the caller is the first to want one and none is there. */
  reserve(): boolean {
    if (this.#closed || this.isAwaited || !this.#queue.isEmpty) return false
    this.#reserved = true
    return true
  }

  /** The reserved event, or the one at hand. `undefined` as long as there is none; the reservation then stays. */
  claim(event = this.#reservedEvent): EventResult | undefined {
    if (!event && !this.#closed) return undefined
    this.#reserved = false
    this.#reservedEvent = undefined
    if (this.#waiters.length > 0) this.#deliver()
    return event ? { value: event, done: false } : done
  }

  /** What `claim` does, for the usual case: an event at hand, and nobody who waits behind it. `undefined` else. */
  handOver(event: MessageEvent): EventResult | undefined {
    if (this.#waiters.length > 0) return undefined
    this.#reserved = false
    return { value: event, done: false }
  }

  wait(): Promise<EventResult> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve)
      this.#deliver()
    })
  }

  /** Hands over all events from now on. The receiver must not throw. */
  handTo(receiver: (event: MessageEvent) => void): void {
    this.#receiver = receiver
    this.flush()
  }

  /** Keeps an event until the next `flush`: what makes it is not to be disturbed by its reader. */
  emit(event: MessageEvent): void {
    if (this.#reserved && !this.#reservedEvent) this.#reservedEvent = event
    else this.#queue.push(event)
  }

  /** What `emit` and `flush` do, for an event whose maker has come to rest. */
  send(event: MessageEvent): void {
    if (!this.#receiver || this.#handing || !this.#queue.isEmpty) {
      this.emit(event)
      this.flush()
      return
    }
    this.#hand(this.#receiver, event)
    if (!this.#queue.isEmpty) this.flush()
  }

  /** No more events will come. */
  close(): void {
    this.#closed = true
  }

  /** Nobody wants the events any more. */
  discard(): void {
    this.#reservedEvent = undefined
    this.#queue.clear()
    this.#deliver()
  }

  /** Hands out what is there, behind an event that is reserved. */
  flush(): void {
    if (this.#waiters.length > 0) this.#deliver()
    const receiver = this.#receiver
    while (receiver && !this.#handing && !this.#queue.isEmpty) this.#hand(receiver, this.#queue.take())
  }

  #hand(receiver: (event: MessageEvent) => void, event: MessageEvent): void {
    this.#handing = true
    receiver(event)
    this.#handing = false
  }

  #deliver(): void {
    while (!this.#reserved && this.#waiters.length > 0) {
      if (!this.#queue.isEmpty) this.#waiters.shift()?.({ value: this.#queue.take(), done: false })
      else if (this.#closed) this.#waiters.shift()?.(done)
      else return
    }
  }
}
