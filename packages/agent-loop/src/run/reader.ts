import type { ReaderOptions } from '../contract/run.ts'
import type { AgentEvent, DeltaEvent } from '../events/agent-event.ts'
import { missingDeltas } from '../events/catch-up.ts'
import type { MessageEndEvent } from '../events/message-events.ts'
import { DeltaSource, Stretch } from './delta-source.ts'

export type ReadResult = IteratorResult<AgentEvent, undefined>

type Answer = (result: ReadResult) => void

/** The readers from index `count` on are leftovers: they cost less than an array that shrinks and grows at each event. */
export interface WaitingReaders {
  readonly readers: Reader[]
  count: number
}

/** The events that a reader which wants deltas gets first. */
export interface Catchup {
  /** Number of durable events when the reader joined. */
  readonly until: number
  /** The deltas that it gets after those events. */
  readonly soFar: readonly { readonly source: DeltaSource; readonly event: DeltaEvent }[]
  /** Its place after these deltas. */
  readonly stretch: Stretch
  readonly index: number
}

/** The log as its readers see it. */
export interface ReadableLog {
  readonly durable: readonly AgentEvent[]
  readonly isClosed: boolean
  readonly waiting: WaitingReaders
  readonly waitingForDurable: WaitingReaders
  join(): Catchup
  leave(): void
}

/** The place of readers that want no deltas. */
const nowhere = new Stretch(new DeltaSource('', false), 0)

/** One reader and its place in the log. The log knows the reader from its first `next` on, and holds it only while it waits. */
export class Reader implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #log: ReadableLog
  readonly #wantsDeltas: boolean
  readonly #afterSeq: number
  readonly #waiting: WaitingReaders
  #stage: 'new' | 'late' | 'live' | 'ended' = 'new'
  /** The remaining events before the live ones. */
  #catchup: Catchup | undefined
  #soFarIndex = 0
  /** Number of durable events that it has passed. */
  #durables = 0
  /** The stretch that it reads, and the number of its deltas that it has passed. */
  #stretch = nowhere
  #index = 0
  /** How many characters it has had of each block of the latest answer. Counted in place: a call per delta would cost more. */
  #had: number[] = []
  /** Resolves the earliest `next` that waits. */
  #answer: Answer | undefined
  readonly #furtherAnswers: Answer[] = []
  readonly #keepAnswer = (answer: Answer): void => void (this.#answer = answer)

  constructor(log: ReadableLog, { deltas = true, afterSeq = 0 }: ReaderOptions) {
    this.#log = log
    this.#wantsDeltas = deltas
    this.#afterSeq = afterSeq
    this.#waiting = deltas ? log.waiting : log.waitingForDurable
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<ReadResult> {
    if (this.#answer) return new Promise((answer) => this.#furtherAnswers.push(answer))
    const event = this.#take()
    if (event) return Promise.resolve({ done: false, value: event })
    if (this.#stage === 'ended') return Promise.resolve({ done: true, value: undefined })
    this.#waiting.readers[this.#waiting.count++] = this
    return new Promise(this.#keepAnswer)
  }

  return(): Promise<ReadResult> {
    this.#end()
    this.wake()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Answers one `next` with the delta that has just come. A reader that waits has passed everything before it. */
  give(delta: DeltaEvent, stretch: Stretch): void {
    const answer = this.#answer
    // The reader has ended meanwhile.
    if (!answer) return
    this.#stretch = stretch
    this.#index = stretch.deltas.length
    this.#answer = undefined
    if ('delta' in delta && 'index' in delta) this.#had[delta.index] = (this.#had[delta.index] ?? 0) + delta.delta.length
    answer({ done: false, value: delta })
    if (this.#furtherAnswers.length > 0) this.#waitOn()
  }

  /** Answers every waiting `next` that can be answered. */
  wake(): void {
    while (this.#answer) {
      const event = this.#take()
      if (!event && this.#stage !== 'ended') return this.#wait()
      this.#answer(event ? { done: false, value: event } : { done: true, value: undefined })
      this.#answer = this.#furtherAnswers.shift()
    }
  }

  /** Waits for the following `next`, if several were called ahead. */
  #waitOn(): void {
    this.#answer = this.#furtherAnswers.shift()
    this.#wait()
  }

  #wait(): void {
    this.#waiting.readers[this.#waiting.count++] = this
  }

  /** Returns undefined if the reader has ended or has to wait. */
  #take(): AgentEvent | undefined {
    if (this.#stage !== 'live') {
      const event = this.#takeEarlier()
      if (event || this.#isEnded) return event
    }
    const { durable } = this.#log
    for (;;) {
      const stretch = this.#stretch
      if (stretch.source.isClosed) this.#enter(stretch.previous ?? nowhere, Infinity)
      else if (this.#index < stretch.deltas.length) {
        const delta = stretch.deltas[this.#index++]
        if (delta && 'delta' in delta && 'index' in delta) this.#had[delta.index] = (this.#had[delta.index] ?? 0) + delta.delta.length
        return delta
      } else if (stretch.next && stretch.next.after <= this.#durables) this.#enter(stretch.next, 0)
      else if (this.#durables < durable.length) {
        const event = durable[this.#durables++]
        if (!event || (event.seq !== undefined && event.seq <= this.#afterSeq)) continue
        if (event.type === 'message-start') this.#had = []
        return event.type === 'message-end' && this.#wantsDeltas ? this.#endOf(event) : event
      } else if (this.#log.isClosed) return this.#end()
      else return undefined
    }
  }

  #takeEarlier(): AgentEvent | undefined {
    if (this.#stage === 'new') this.#begin()
    const { durable } = this.#log
    const catchup = this.#catchup
    if (!catchup) return undefined
    if (this.#durables < catchup.until) {
      const event = durable[this.#durables++]
      if (event?.type === 'message-start') this.#had = []
      return event?.type === 'message-end' ? this.#endOf(event) : event
    }
    while (this.#soFarIndex < catchup.soFar.length) {
      const { source, event } = catchup.soFar[this.#soFarIndex++] as Catchup['soFar'][number]
      if (source.isClosed) continue
      if ('delta' in event && 'index' in event) this.#had[event.index] = event.delta.length
      return event
    }
    this.#catchup = undefined
    this.#stage = 'live'
    return undefined
  }

  /** Returns what the reader lacks of an answer, one delta after the other, then the end of the answer. */
  #endOf(event: MessageEndEvent): AgentEvent {
    const { content } = event.message
    for (let index = 0; index < content.length; index++) {
      const part = content[index]
      if ((part?.type !== 'text' && part?.type !== 'reasoning') || part.text.length <= (this.#had[index] ?? 0)) continue
      const [missing = event] = missingDeltas(event, this.#had)
      // The event comes again after the delta.
      this.#durables--
      this.#had[index] = Infinity
      return missing
    }
    return event
  }

  #begin(): void {
    const { durable } = this.#log
    // Events without a number count like their neighbours.
    if (this.#afterSeq > 0) this.#durables = durable.findLastIndex(({ seq }) => seq !== undefined && seq <= this.#afterSeq) + 1
    if (!this.#wantsDeltas) {
      this.#stage = 'live'
      return
    }
    this.#stage = 'late'
    this.#catchup = this.#log.join()
    this.#stretch = this.#catchup.stretch
    this.#index = this.#catchup.index
  }

  #end(): undefined {
    const hadJoined = this.#wantsDeltas && (this.#stage === 'late' || this.#stage === 'live')
    this.#stage = 'ended'
    this.#catchup = undefined
    this.#stretch = nowhere
    if (hadJoined) this.#log.leave()
  }

  /** Moves after the first `index` deltas of the stretch; `Infinity`: after all of them. */
  #enter(stretch: Stretch, index: number): void {
    this.#stretch = stretch
    this.#index = Math.min(index, stretch.deltas.length)
  }

  get #isEnded(): boolean {
    return this.#stage === 'ended'
  }
}
