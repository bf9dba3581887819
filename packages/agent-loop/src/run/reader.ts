import type { ReaderOptions } from '../contract/run.ts'
import type { AgentEvent, DeltaEvent } from '../events/agent-event.ts'
import { DeltaSource, Stretch } from './delta-source.ts'

export type ReadResult = IteratorResult<AgentEvent, undefined>

type Answer = (result: ReadResult) => void

/** The slots from `count` on are leftovers: an array that shrinks and grows at each event costs more than they do. */
export interface WaitingReaders {
  readonly readers: Reader[]
  count: number
}

/** What a reader that wants deltas gets first. */
export interface Catchup {
  /** How many durable events there were when it came. */
  readonly until: number
  /** The deltas that it gets after those. */
  readonly soFar: readonly { readonly source: DeltaSource; readonly event: DeltaEvent }[]
  /** Its place after that. */
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

/** One reader and its place in the log. The log knows it from its first question on, and holds it only while it waits. */
export class Reader implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #log: ReadableLog
  readonly #wantsDeltas: boolean
  readonly #afterSeq: number
  readonly #waiting: WaitingReaders
  #stage: 'new' | 'late' | 'live' | 'ended' = 'new'
  /** The rest of what it gets before live events. */
  #catchup: Catchup | undefined
  #soFarIndex = 0
  /** How many durable events it has passed. */
  #durables = 0
  /** The deltas that it reads, and how many of them it has passed. */
  #stretch = nowhere
  #index = 0
  /** To the earliest question that waits for one. */
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

  /** Answers one question with the delta that has just come. A reader that waits has passed all before it. */
  give(delta: DeltaEvent, stretch: Stretch): void {
    const answer = this.#answer
    // It has left meanwhile.
    if (!answer) return
    this.#stretch = stretch
    this.#index = stretch.deltas.length
    this.#answer = undefined
    answer({ done: false, value: delta })
    if (this.#furtherAnswers.length > 0) this.#waitOn()
  }

  /** Answers the questions that can be answered. */
  wake(): void {
    while (this.#answer) {
      const event = this.#take()
      if (!event && this.#stage !== 'ended') return this.#wait()
      this.#answer(event ? { done: false, value: event } : { done: true, value: undefined })
      this.#answer = this.#furtherAnswers.shift()
    }
  }

  /** For the next of the questions that were asked ahead. */
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
      else if (this.#index < stretch.deltas.length) return stretch.deltas[this.#index++]
      else if (stretch.next && stretch.next.after <= this.#durables) this.#enter(stretch.next, 0)
      else if (this.#durables < durable.length) {
        const event = durable[this.#durables++]
        if (event && (event.seq === undefined || event.seq > this.#afterSeq)) return event
      } else if (this.#log.isClosed) return this.#end()
      else return undefined
    }
  }

  #takeEarlier(): AgentEvent | undefined {
    if (this.#stage === 'new') this.#begin()
    const { durable } = this.#log
    const catchup = this.#catchup
    if (!catchup) return undefined
    if (this.#durables < catchup.until) return durable[this.#durables++]
    while (this.#soFarIndex < catchup.soFar.length) {
      const { source, event } = catchup.soFar[this.#soFarIndex++] as Catchup['soFar'][number]
      if (!source.isClosed) return event
    }
    this.#catchup = undefined
    this.#stage = 'live'
    return undefined
  }

  #begin(): void {
    const { durable } = this.#log
    // Events without a number count as those beside them.
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

  /** Its place is after the first `index` deltas of the stretch; `Infinity`: after all of them. */
  #enter(stretch: Stretch, index: number): void {
    this.#stretch = stretch
    this.#index = Math.min(index, stretch.deltas.length)
  }

  get #isEnded(): boolean {
    return this.#stage === 'ended'
  }
}
