import type { MessageEvent } from '../events.ts'
import { EventQueue } from './event-queue.ts'

export type EventResult = IteratorResult<MessageEvent, undefined>

const done: EventResult = { value: undefined, done: true }

/**
 * Queue between events and readers, both in order. A reader that fetches the next event itself reserves it, which avoids a promise.
 * All other readers wait, or receive events by callback.
 */
export class EventOutlet {
  readonly #queue = new EventQueue()
  readonly #waiters: ((result: EventResult) => void)[] = []
  #reserved = false
  #reservedEvent: MessageEvent | undefined
  #receiver: ((event: MessageEvent) => void) | undefined
  /** Whether the receiver is handling an event. Events that it causes are queued until it returns. */
  #handing = false
  #closed = false

  /** Returns whether a reader waits for an event. */
  get isAwaited(): boolean {
    return this.#reserved || this.#waiters.length > 0
  }

  /** Reserves the next event for the caller. Returns false if the events have ended, an event is queued or another reader waits. */
  reserve(): boolean {
    if (this.#closed || this.isAwaited || !this.#queue.isEmpty) return false
    this.#reserved = true
    return true
  }

  /** Returns the given or reserved event, or `done` after the end. If there is none yet, returns `undefined` and keeps the reservation. */
  claim(event = this.#reservedEvent): EventResult | undefined {
    if (!event && !this.#closed) return undefined
    this.#reserved = false
    this.#reservedEvent = undefined
    if (this.#waiters.length > 0) this.#deliver()
    return event ? { value: event, done: false } : done
  }

  /** Fast path of `claim` for a given event. Returns `undefined` if other readers wait. */
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

  /** Passes all events from now on to the receiver, which must not throw. */
  handTo(receiver: (event: MessageEvent) => void): void {
    this.#receiver = receiver
    this.flush()
  }

  /** Stores an event until the next `flush`, so that a reader cannot interrupt the code that emits it. */
  emit(event: MessageEvent): void {
    if (this.#reserved && !this.#reservedEvent) this.#reservedEvent = event
    else this.#queue.push(event)
  }

  /** Like `emit` and `flush`, for an event whose sender has finished its work. */
  send(event: MessageEvent): void {
    if (!this.#receiver || this.#handing || !this.#queue.isEmpty) {
      this.emit(event)
      this.flush()
      return
    }
    this.#hand(this.#receiver, event)
    if (!this.#queue.isEmpty) this.flush()
  }

  /** Marks the end of the events. */
  close(): void {
    this.#closed = true
  }

  /** Discards all events: there is no reader any more. */
  discard(): void {
    this.#reservedEvent = undefined
    this.#queue.clear()
    this.#deliver()
  }

  /** Delivers queued events, after a reserved one. */
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
