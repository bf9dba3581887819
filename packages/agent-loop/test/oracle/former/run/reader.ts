import type { ReaderOptions } from '../contract/run.ts'
import { isDelta } from '../events/kinds.ts'
import type { AgentEvent } from '../events/types.ts'
import type { EventBuffer } from './event-buffer.ts'

export type ReadResult = IteratorResult<AgentEvent, undefined>

type Answer = (result: ReadResult) => void

/** One reader and its place in the buffer. */
export class Reader implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #buffer: EventBuffer
  readonly #deltas: boolean
  readonly #afterSeq: number
  #place = 0
  #ended = false
  /** To the earliest question that waits for one. */
  #answer: Answer | undefined
  readonly #furtherAnswers: Answer[] = []
  readonly #keepAnswer = (answer: Answer): void => void (this.#answer = answer)

  constructor(buffer: EventBuffer, { deltas = true, afterSeq = 0 }: ReaderOptions) {
    this.#buffer = buffer
    this.#deltas = deltas
    this.#afterSeq = afterSeq
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<ReadResult> {
    if (this.#answer) return new Promise((answer) => this.#furtherAnswers.push(answer))
    const result = this.#take()
    if (result) return Promise.resolve(result)
    this.#buffer.wait(this)
    return new Promise(this.#keepAnswer)
  }

  return(): Promise<ReadResult> {
    this.#ended = true
    this.wake()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Answers what can be answered. `event` has just come; a reader that waits has been given all before it. */
  wake(event?: AgentEvent): void {
    const answer = this.#answer
    if (event && answer && this.#furtherAnswers.length === 0 && this.#wants(event)) {
      this.#place = this.#buffer.end
      this.#answer = undefined
      return answer({ done: false, value: event })
    }
    this.#answerAll()
  }

  #answerAll(): void {
    while (this.#answer) {
      const result = this.#take()
      if (!result) return this.#buffer.wait(this)
      this.#answer(result)
      this.#answer = this.#furtherAnswers.shift()
    }
  }

  #take(): ReadResult | undefined {
    const buffer = this.#buffer
    while (!this.#ended) {
      const index = buffer.indexOf(this.#place)
      const event = buffer.at(index)
      if (!event) {
        if (!buffer.isClosed) return undefined
        this.#ended = true
        break
      }
      this.#place = buffer.placeOf(index) + 1
      if (this.#wants(event)) return { done: false, value: event }
    }
    return { done: true, value: undefined }
  }

  #wants(event: AgentEvent): boolean {
    if (this.#deltas && this.#afterSeq === 0) return true
    return isDelta(event) ? this.#deltas : (event.seq ?? 0) > this.#afterSeq
  }
}
