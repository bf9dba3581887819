import type { TransportFrame } from '@bowline/client'
import type { LoggedEvent } from '@bowline/sessions'
import type { TextDelta } from './join-deltas.ts'
import type { SharedFrames } from './shared-frames.ts'

export type Frames = readonly Uint8Array[]

/** What a stream is on the wire. A form may remember what it has said: it belongs to one stream. */
export interface FrameForm {
  event(event: LoggedEvent): Frames
  /** Consecutive deltas of one part. */
  deltas(deltas: readonly [TextDelta, ...TextDelta[]]): Frames
  /** How the stream ends. Without a frame it is cut: its reader is to come back. */
  last(frame: TransportFrame, cursor: string | undefined): Frames
}

/** The log as it is: one frame for each event, and a last one that says why there are no more. */
export function logForm(shared: SharedFrames, log: string): FrameForm {
  return {
    event: (event) => [shared.frame(log, event)],
    deltas: (deltas) => [shared.joinedFrame(log, deltas)],
    last: (frame, cursor) => [shared.lastFrame(cursor, frame)],
  }
}

/**
 * As `logForm`, but text and reasoning come as `[index, text]` once the stream has had an event of their block in full: its
 * start, or its first delta after the place where the reader came in. That event has all that such deltas share.
 */
export function shortForm(shared: SharedFrames, log: string): FrameForm {
  const whole = logForm(shared, log)
  const known = new BlocksOfMessage()
  return {
    event(event) {
      if (event.type === 'text-start' || event.type === 'reasoning-start') known.add(event)
      return whole.event(event)
    },
    deltas(deltas) {
      const [first] = deltas
      if (first.type === 'tool-call-delta') return whole.deltas(deltas)
      if (known.has(first)) return [shared.joinedFrame(log, deltas, 'short')]
      known.add(first)
      return whole.deltas(deltas)
    },
    last: (frame, cursor) => whole.last(frame, cursor),
  }
}

type TextBlockEvent = Extract<LoggedEvent, { type: 'text-start' | 'reasoning-start' | 'text-delta' | 'reasoning-delta' }>

/** The text blocks of one message that a stream has named. */
class BlocksOfMessage {
  #messageId: string | undefined
  #runId: string | undefined
  readonly #kinds = new Map<number, string>()

  has(event: TextBlockEvent): boolean {
    return this.#isOf(event) && this.#kinds.get(event.index) === kindOf(event)
  }

  add(event: TextBlockEvent): void {
    if (!this.#isOf(event)) this.#kinds.clear()
    this.#messageId = event.messageId
    this.#runId = event.runId
    this.#kinds.set(event.index, kindOf(event))
  }

  #isOf({ messageId, runId }: TextBlockEvent): boolean {
    return messageId === this.#messageId && runId === this.#runId
  }
}

function kindOf({ type }: TextBlockEvent): string {
  return type.startsWith('text') ? 'text' : 'reasoning'
}
