import type { MessageEvent } from '../events.ts'
import { TextBuffer } from './text-buffer.ts'

type DeltaEvent = Extract<MessageEvent, { delta: string }>

interface Entry {
  readonly event: MessageEvent
  /** Text of this delta and of later unread deltas of its block. */
  gathered?: TextBuffer
  next?: Entry
}

/**
 * Unread events. Waiting deltas of one block are merged, even with deltas of other blocks between them. So the queue is bounded by
 * the size of the message, not by the number of deltas.
 */
export class EventQueue {
  #first: Entry | undefined
  #last: Entry | undefined
  /** Unread delta of each block, by block index; later deltas are merged into it. */
  readonly #deltas = new Map<number, Entry>()

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  push(event: MessageEvent): void {
    if (!isDelta(event)) return this.#append({ event })
    const waiting = this.#deltas.get(event.index)
    if (!waiting) {
      const entry = { event }
      this.#deltas.set(event.index, entry)
      return this.#append(entry)
    }
    waiting.gathered ??= startedWith((waiting.event as DeltaEvent).delta)
    waiting.gathered.add(event.delta)
  }

  /** Removes and returns the oldest event. The queue must not be empty. */
  take(): MessageEvent {
    const entry = this.#first
    if (!entry) throw new RangeError('the queue is empty')
    this.#first = entry.next
    if (!entry.next) this.#last = undefined
    const { event, gathered } = entry
    if (!isDelta(event)) return event
    this.#deltas.delete(event.index)
    return gathered ? { ...event, delta: gathered.toString() } : event
  }

  clear(): void {
    this.#first = undefined
    this.#last = undefined
    this.#deltas.clear()
  }

  #append(entry: Entry): void {
    if (this.#last) this.#last.next = entry
    else this.#first = entry
    this.#last = entry
  }
}

function isDelta(event: MessageEvent): event is DeltaEvent {
  return 'delta' in event
}

function startedWith(text: string): TextBuffer {
  const buffer = new TextBuffer()
  buffer.add(text)
  return buffer
}
