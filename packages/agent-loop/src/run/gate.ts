import type { Clock } from '@bowline/llm'
import { AgentError } from '../base/agent-error.ts'
import type { AgentEvent } from '../events/agent-event.ts'
import type { EventLog } from './event-log.ts'
import type { Reader, ReadResult } from './reader.ts'

export interface GateOptions {
  readonly events: EventLog
  readonly clock: Clock
  /** True: a live run, which never waits for a reader. Default false. */
  readonly isOpen?: boolean
  /** Signal of the run: an abort opens the gate. */
  readonly signal: AbortSignal
  /** Time in ms that a run waits for its driver. Default: no limit. */
  readonly driverTimeoutMs?: number
}

/** A synchronized run waits here for its driver. Once open, the gate stays open: from then on the run is live. */
export class Gate {
  #open: boolean
  #driven = false
  /** Number of the durable event after which the driver has asked for more. */
  #askedBehind = 0
  #waiting: { readonly seq: number; readonly go: () => void } | undefined
  readonly #events: EventLog
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #driverTimeoutMs: number | undefined
  readonly #onAbort = (): void => this.open()

  constructor({ isOpen = false, events, clock, signal, driverTimeoutMs }: GateOptions) {
    this.#open = isOpen
    this.#events = events
    this.#clock = clock
    this.#signal = signal
    this.#driverTimeoutMs = driverTimeoutMs
    if (isOpen) return
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.open()
  }

  get isOpen(): boolean {
    return this.#open
  }

  /** Makes the caller the driver. Throws `busy` if there is a driver already. */
  takeDriver(): void {
    if (this.#driven) throw new AgentError('busy', 'the run is driven already; use the handle that drives it, or events() to read along')
    this.#driven = true
  }

  /** Opens the gate if no reader drives the run: then the run waits for none. */
  openUnlessDriven(): void {
    if (!this.#driven) this.open()
  }

  /**
   * Resolves when the driver has got the latest durable event and asks for the next one, or when the gate is open. Only one wait at
   * a time: a run is at one boundary.
   */
  async passed(): Promise<void> {
    const seq = this.#events.lastSeq
    if (this.#open || this.#askedBehind >= seq) return
    const cancelTimer = this.#setTimer()
    await new Promise<void>((go) => (this.#waiting = { seq, go }))
    cancelTimer?.()
  }

  /** Called when the driver asks for the event after the durable event with this number. */
  ask(seq: number): void {
    this.#askedBehind = seq
    if (this.#waiting && seq >= this.#waiting.seq) this.#go()
  }

  /** Opens the gate: the run waits no more. */
  open(): void {
    if (this.#open) return
    this.#open = true
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#go()
  }

  #go(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.go()
  }

  #setTimer(): (() => void) | undefined {
    if (this.#driverTimeoutMs === undefined) return undefined
    return this.#clock.setTimer(this.#clock.now() + this.#driverTimeoutMs, () => this.open())
  }
}

export interface IterationOptions {
  readonly events: EventLog
  readonly gate: Gate
  /** Called if the driver stops iterating before the end. */
  readonly onBreak: () => void
}

/**
 * Returns the iterator of a run: its driver while the run waits for one, else one more reader. Throws `busy` for a second driver.
 */
export function iterate({ events, gate, onBreak }: IterationOptions): AsyncIterableIterator<AgentEvent, undefined> {
  if (gate.isOpen) return events.read()
  gate.takeDriver()
  return new Driver(events.read(), gate, onBreak)
}

/** The reader that a synchronized run waits for. If it stops iterating, the run continues. */
class Driver implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #reader: Reader
  readonly #gate: Gate
  readonly #onBreak: () => void
  /** Number of the latest durable event that it returned. */
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
    // A driver may call `next` before the previous call has resolved.
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
