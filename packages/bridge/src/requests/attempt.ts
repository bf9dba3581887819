import type { BridgeEvent } from '../agent.ts'
import type { BridgeResult } from '../bridge-contract.ts'
import { createEventReaders } from './event-readers.ts'

/** Work on a request until it ends or waits for input. */
export class Attempt {
  readonly #readers = createEventReaders()
  readonly #result = Promise.withResolvers<BridgeResult>()
  settled: BridgeResult | undefined

  get result(): Promise<BridgeResult> {
    return this.#result.promise
  }

  publish(event: BridgeEvent): void {
    this.#readers.publish(event)
  }

  open(): AsyncIterator<BridgeEvent> {
    return this.#readers.open()
  }

  settle(result: BridgeResult): void {
    if (this.settled) return
    this.settled = result
    this.#result.resolve(result)
    this.#readers.end()
  }
}
