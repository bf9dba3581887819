import { isDelta } from '@bowline/agent-loop/events'
import type { BridgeEvent } from '../agent.ts'
import { BridgeError } from '../errors.ts'

const maxQueuedEvents = 10_000

/** Readers of one request. Events are not stored: each reader sees the events after its first step. */
export interface EventReaders {
  publish(event: BridgeEvent): void
  end(): void
  open(): AsyncIterator<BridgeEvent>
}

export function createEventReaders(): EventReaders {
  const readers = new Set<ReaderQueue>()
  let ended = false
  return {
    publish(event) {
      for (const reader of readers) reader.push(event)
    },
    end() {
      ended = true
      for (const reader of readers) reader.end()
    },
    open() {
      const queue = new ReaderQueue()
      if (ended) queue.end()
      else readers.add(queue)
      return {
        next: async () => {
          const step = await queue.next()
          if (step.done) readers.delete(queue)
          return step
        },
        return: async () => {
          readers.delete(queue)
          queue.end()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/**
 * Events that a slow reader has not read yet. Text deltas are merged. If the queue is full, deltas of the loop are dropped, because
 * their closing event has the whole content; any other event ends the reader with `CAPACITY`. The request never waits for a reader.
 */
class ReaderQueue {
  readonly #events: BridgeEvent[] = []
  #state: 'open' | 'ended' | 'overrun' = 'open'
  #wake: (() => void) | undefined

  push(event: BridgeEvent): void {
    if (this.#state !== 'open') return
    const last = this.#events.at(-1)
    if (event.type === 'text-delta' && last?.type === 'text-delta') {
      this.#events[this.#events.length - 1] = { type: 'text-delta', delta: last.delta + event.delta }
    } else if (event.type === 'progress' && last?.type === 'progress') {
      this.#events[this.#events.length - 1] = event
    } else if (this.#events.length < maxQueuedEvents) {
      this.#events.push(event)
    } else if (event.type !== 'agent-event' || !isDelta(event.event)) {
      this.#events.length = 0
      this.#state = 'overrun'
    }
    this.#signal()
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended'
    this.#signal()
  }

  async next(): Promise<IteratorResult<BridgeEvent, undefined>> {
    while (this.#events.length === 0) {
      if (this.#state === 'overrun') {
        this.#state = 'ended'
        throw new BridgeError('CAPACITY', 'The reader was too slow', { details: { reason: 'slow-reader' } })
      }
      if (this.#state === 'ended') return { done: true, value: undefined }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return { done: false, value: this.#events.shift() as BridgeEvent }
  }

  #signal(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}
