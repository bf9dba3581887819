import type { AgentEvent } from '../events/agent-event.ts'
import type { EventLog } from './event-log.ts'
import type { Gate } from './gate.ts'
import type { Reader, ReadResult } from './reader.ts'

export interface IterationOptions {
  readonly events: EventLog
  readonly gate: Gate
  /** The driver leaves before it has seen the end. */
  readonly onBreak: () => void
}

/** The iterator of a run: its driver while it waits for one, else one more reader. Throws `busy` for a second driver. */
export function iterate({ events, gate, onBreak }: IterationOptions): AsyncIterableIterator<AgentEvent, undefined> {
  if (gate.isOpen) return events.read()
  gate.takeDriver()
  return new Driver(events.read(), gate, onBreak)
}

/** The reader for whose questions a synchronized run waits. One that leaves frees the run. */
class Driver implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #reader: Reader
  readonly #gate: Gate
  readonly #onBreak: () => void
  /** Of the latest durable event that was given. */
  #seq = 0
  #questions = 0
  #ended = false

  constructor(reader: Reader, gate: Gate, onBreak: () => void) {
    this.#reader = reader
    this.#gate = gate
    this.#onBreak = onBreak
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<ReadResult> {
    this.#questions++
    this.#gate.ask(this.#seq)
    const result = await this.#reader.next()
    this.#questions--
    if (result.done) this.#ended = true
    else this.#seq = result.value.seq ?? this.#seq
    // A driver may ask ahead.
    if (this.#questions > 0) this.#gate.ask(this.#seq)
    return result
  }

  return(): Promise<ReadResult> {
    if (!this.#ended) {
      this.#ended = true
      this.#gate.open()
      this.#onBreak()
    }
    return this.#reader.return()
  }
}
