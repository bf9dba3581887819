import type { MessageEvent } from '../events.ts'
import type { EventResult } from './event-outlet.ts'
import type { Pump } from './pump.ts'

/** The single reader of a call. It pulls events, or receives all of them by `push`. */
export class EventIterator implements AsyncIterator<MessageEvent, undefined> {
  readonly #pump: Pump

  constructor(pump: Pump) {
    this.#pump = pump
  }

  next(): Promise<EventResult> {
    return this.#pump.next()
  }

  return(): Promise<EventResult> {
    this.#pump.leave()
    return Promise.resolve({ value: undefined, done: true })
  }

  /** Passes all events to `onEvent` as they arrive, without a promise for each. `onEvent` must not throw. */
  push(onEvent: (event: MessageEvent) => void): void {
    this.#pump.push(onEvent)
  }
}
