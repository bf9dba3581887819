import type { ReaderOptions } from '../contract/run.ts'
import type { AgentEvent, DeltaEvent } from '../events/agent-event.ts'
import { DeltaSource, Stretch } from './delta-source.ts'
import { Reader } from './reader.ts'
import type { Catchup, ReadableLog, WaitingReaders } from './reader.ts'

/**
 * The events of one run, for any number of readers, each at its own place. Durable events stay as long as the run. Deltas stay
 * until the durable event that closes their message or call. A reader that lags may miss deltas, but gets their content with that
 * event. While no reader wants deltas, only the text so far is kept. Readers never slow the writer.
 */
export class EventLog implements ReadableLog {
  readonly durable: AgentEvent[] = []
  /** The number of the latest durable event; 0 if there is none. */
  lastSeq = 0
  isClosed = false
  readonly waiting: WaitingReaders = { readers: [], count: 0 }
  readonly waitingForDurable: WaitingReaders = { readers: [], count: 0 }
  /** The stretches of open messages and calls are a linked list. Its first stretch is empty and stays. */
  readonly #first = new Stretch(new DeltaSource('', false), 0)
  #last = this.#first
  readonly #messages = new Map<string, DeltaSource>()
  readonly #calls = new Map<string, DeltaSource>()
  /** The source of the latest delta, while it is open. */
  #latest: DeltaSource | undefined
  /** Number of readers that want deltas. */
  #listeners = 0

  /** Number of events that are held. */
  get length(): number {
    let length = this.durable.length
    for (let stretch: Stretch | undefined = this.#first; stretch; stretch = stretch.next) length += stretch.deltas.length
    return length
  }

  /** Adds the events of one commit, as one list, or an error event that no commit holds. */
  append(events: readonly AgentEvent[]): void {
    for (const event of events) {
      this.durable.push(event)
      if (event.seq !== undefined) this.lastSeq = event.seq
      if (event.type === 'message-end' || event.type === 'message-discarded') this.#closeSource(this.#messages, event.messageId)
      else if (event.type === 'tool-execution-end') this.#closeSource(this.#calls, event.toolCallId)
    }
    this.#wakeAll()
  }

  /** Adds a live event. */
  publish(delta: DeltaEvent): void {
    const source = this.#sourceOf(delta)
    if (this.#listeners === 0) return source.fold(delta)
    let stretch = this.#last
    if (stretch.source !== source || stretch.after !== this.durable.length) {
      stretch = this.#last = new Stretch(source, this.durable.length, stretch)
      source.stretches.push(stretch)
    }
    stretch.deltas.push(delta)
    const { waiting } = this
    const { readers, count } = waiting
    // A reader that waits again during the loop takes a slot that the loop has passed: its own, or an earlier one.
    waiting.count = 0
    for (let index = 0; index < count; index++) readers[index]?.give(delta, stretch)
  }

  /** Ends every reader after the events that are there. */
  close(): void {
    this.isClosed = true
    this.#wakeAll()
  }

  read(options: ReaderOptions = {}): Reader {
    return new Reader(this, options)
  }

  /** Keeps deltas as events from now on. Returns what the new reader gets before them. */
  join(): Catchup {
    const soFar = [...this.#messages.values(), ...this.#calls.values()].flatMap((source) =>
      source.eventsSoFar().map((event) => ({ source, event })),
    )
    this.#listeners++
    return { until: this.durable.length, soFar, stretch: this.#last, index: this.#last.deltas.length }
  }

  /** Called when a reader that had joined has ended. */
  leave(): void {
    this.#listeners--
    if (this.#listeners > 0) return
    for (const sources of [this.#messages, this.#calls]) for (const source of sources.values()) this.#release(source)
  }

  #sourceOf(delta: DeltaEvent): DeltaSource {
    const isCall = delta.type === 'tool-execution-delta'
    const id = isCall ? delta.toolCallId : delta.messageId
    const latest = this.#latest
    if (latest?.id === id && latest.isCall === isCall) return latest
    const sources = isCall ? this.#calls : this.#messages
    const source = sources.get(id) ?? new DeltaSource(id, isCall)
    sources.set(id, source)
    this.#latest = source
    return source
  }

  #closeSource(sources: Map<string, DeltaSource>, id: string): void {
    const source = sources.get(id)
    if (!source) return
    sources.delete(id)
    if (this.#latest === source) this.#latest = undefined
    source.isClosed = true
    this.#unlink(source.stretches)
  }

  #release(source: DeltaSource): void {
    this.#unlink(source.release())
  }

  #unlink(stretches: readonly Stretch[]): void {
    for (const stretch of stretches) {
      if (this.#last === stretch) this.#last = stretch.previous ?? this.#first
      stretch.unlink()
    }
  }

  #wakeAll(): void {
    for (const waiting of [this.waiting, this.waitingForDurable]) {
      const { readers, count } = waiting
      waiting.count = 0
      for (let index = 0; index < count; index++) readers[index]?.wake()
    }
  }
}
