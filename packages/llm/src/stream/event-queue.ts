import type { MessageEvent } from '../events.ts'
import { TextBuffer } from './text-buffer.ts'

type DeltaEvent = Extract<MessageEvent, { delta: string }>

interface Entry {
  readonly event: MessageEvent
  /** The text of this delta and of those that came behind it unread. */
  gathered?: TextBuffer
}

/**
 * Events that nobody has read yet. Neighbouring deltas of one block are joined while they wait, so the queue is bounded
 * by the size of the message, whatever the number of deltas.
 */
export class EventQueue {
  #entries: Entry[] = []
  #head = 0

  get isEmpty(): boolean {
    return this.#head === this.#entries.length
  }

  push(event: MessageEvent): void {
    const last = this.isEmpty ? undefined : this.#entries[this.#entries.length - 1]
    if (
      last &&
      isDelta(event) &&
      isDelta(last.event) &&
      last.event.type === event.type &&
      last.event.index === event.index
    ) {
      last.gathered ??= startedWith(last.event.delta)
      last.gathered.add(event.delta)
    } else {
      this.#entries.push({ event })
    }
  }

  /** The oldest event. The queue must not be empty. */
  take(): MessageEvent {
    const entry = this.#entries[this.#head++]
    if (!entry) throw new RangeError('the queue is empty')
    if (this.isEmpty) this.clear()
    return entry.gathered ? ({ ...entry.event, delta: entry.gathered.toString() } as DeltaEvent) : entry.event
  }

  clear(): void {
    this.#entries = []
    this.#head = 0
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
