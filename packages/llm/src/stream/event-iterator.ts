import type { MessageEvent } from '../events.ts'
import type { EventResult } from './event-outlet.ts'
import type { Pump } from './pump.ts'

/** The one reader of a call: it asks for each event, or has all of them handed over. */
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

  /** Hands over all events as they come, without a promise for each. `onEvent` must not throw. */
  push(onEvent: (event: MessageEvent) => void): void {
    this.#pump.push(onEvent)
  }
}
