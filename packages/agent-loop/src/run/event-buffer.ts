import { isDelta, isDurable } from '../events/kinds.ts'
import type { AgentEvent, DeltaEvent } from '../events/types.ts'

interface Node {
  readonly event: AgentEvent | undefined
  next: Node | undefined
}

export interface ReaderOptions {
  /** False: durable events only. Default true. */
  readonly deltas?: boolean
  /** Durable events up to this number are left out. Default 0. */
  readonly afterSeq?: number
}

/**
 * One list of events, read by any number of readers, each at its own place. Durable events stay as long as the run;
 * deltas leave the list when the durable event that closes their message or call is there, so a reader that lags
 * misses only what that event holds whole. Readers never slow the writer.
 */
export class EventBuffer {
  readonly #head: Node = { event: undefined, next: undefined }
  #tail: Node = this.#head
  /** No delta stands before or at this node. */
  #clean: Node = this.#head
  readonly #waiting = new Set<Reader>()
  #closed = false

  push(event: AgentEvent): void {
    const node: Node = { event, next: undefined }
    this.#tail.next = node
    this.#tail = node
    if (isDurable(event)) this.#drop(closedBy(event))
    if (this.#waiting.size > 0) for (const reader of this.#waiting) reader.wake()
  }

  /** Every reader ends when it has read what is there. */
  close(): void {
    this.#closed = true
    for (const reader of this.#waiting) reader.wake()
  }

  read(options: ReaderOptions = {}): AsyncIterableIterator<AgentEvent> {
    return new Reader(this.#head, options, () => this.#closed, this.#waiting)
  }

  #drop(isClosed: ((delta: DeltaEvent) => boolean) | undefined): void {
    if (!isClosed) {
      if (this.#clean.next === this.#tail) this.#clean = this.#tail
      return
    }
    let kept = this.#clean
    let clean: Node | undefined
    let dropped: Node[] = []
    for (let node = kept.next; node; node = node.next) {
      const { event } = node
      if (event && isDelta(event) && isClosed(event)) {
        dropped.push(node)
        continue
      }
      if (event && isDelta(event)) clean ??= kept
      kept.next = node
      // A reader may stand on a dropped node: it must find its way back, and must not hold the others.
      for (const gone of dropped) gone.next = node
      dropped = []
      kept = node
    }
    this.#clean = clean ?? kept
  }
}

/** Which deltas a durable event makes superfluous. */
function closedBy(event: AgentEvent): ((delta: DeltaEvent) => boolean) | undefined {
  switch (event.type) {
    case 'message-end':
    case 'message-discarded':
      return (delta) => delta.type !== 'tool-execution-delta' && delta.messageId === event.messageId
    case 'tool-execution-end':
      return (delta) => delta.type === 'tool-execution-delta' && delta.toolCallId === event.toolCallId
    default:
      return undefined
  }
}

class Reader implements AsyncIterableIterator<AgentEvent> {
  #place: Node
  #ended = false
  readonly #deltas: boolean
  readonly #afterSeq: number
  readonly #isClosed: () => boolean
  readonly #waiting: Set<Reader>
  readonly #asked: ((result: IteratorResult<AgentEvent>) => void)[] = []

  constructor(head: Node, options: ReaderOptions, isClosed: () => boolean, waiting: Set<Reader>) {
    this.#place = head
    this.#deltas = options.deltas ?? true
    this.#afterSeq = options.afterSeq ?? 0
    this.#isClosed = isClosed
    this.#waiting = waiting
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<AgentEvent>> {
    const result = this.#asked.length === 0 ? this.#take() : undefined
    if (result) return Promise.resolve(result)
    return new Promise((resolve) => {
      this.#asked.push(resolve)
      this.#waiting.add(this)
    })
  }

  return(): Promise<IteratorResult<AgentEvent>> {
    this.#ended = true
    this.wake()
    return Promise.resolve({ done: true, value: undefined })
  }

  wake(): void {
    while (this.#asked.length > 0) {
      const result = this.#take()
      if (!result) return
      this.#asked.shift()?.(result)
    }
    this.#waiting.delete(this)
  }

  #take(): IteratorResult<AgentEvent> | undefined {
    while (!this.#ended) {
      const { next } = this.#place
      if (!next) {
        if (!this.#isClosed()) return undefined
        this.#ended = true
        break
      }
      this.#place = next
      if (next.event && this.#wants(next.event)) return { done: false, value: next.event }
    }
    return { done: true, value: undefined }
  }

  #wants(event: AgentEvent): boolean {
    return isDelta(event) ? this.#deltas : (event.seq ?? 0) > this.#afterSeq
  }
}
