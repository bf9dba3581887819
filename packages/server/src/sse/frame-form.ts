import type { TransportFrame } from '@bowline/client'
import type { LoggedEvent } from '@bowline/sessions'
import type { TextDelta } from './join-deltas.ts'
import type { SharedFrames } from './shared-frames.ts'

export type Frames = readonly Uint8Array[]

/** Encoding of a stream. A form may keep state about its stream, so it belongs to one stream. */
export interface FrameForm {
  event(event: LoggedEvent): Frames
  /** Consecutive deltas of one part. */
  deltas(deltas: readonly [TextDelta, ...TextDelta[]]): Frames
  /** Returns the last frames. Without a frame the stream is cut off, so that its reader reconnects. */
  last(frame: TransportFrame, cursor: string | undefined): Frames
}

/** Encodes the log unchanged: one frame per event, and a last one with the reason of the end. */
export function logForm(shared: SharedFrames, log: string): FrameForm {
  return {
    event: (event) => [shared.frame(log, event)],
    deltas: (deltas) => [shared.joinedFrame(log, deltas)],
    last: (frame, cursor) => [shared.lastFrame(cursor, frame)],
  }
}

/**
 * Same as `logForm`, but text and reasoning deltas are sent as `[index, text]` once the stream has sent a full event of their
 * block: its start, or the first delta after the position where the reader connected. That event holds all shared fields.
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
      if (first.type === 'tool-call-delta' || first.catchUp) return whole.deltas(deltas)
      if (known.has(first)) return [shared.joinedFrame(log, deltas, 'short')]
      known.add(first)
      return whole.deltas(deltas)
    },
    last: (frame, cursor) => whole.last(frame, cursor),
  }
}

type TextBlockEvent = Extract<LoggedEvent, { type: 'text-start' | 'reasoning-start' | 'text-delta' | 'reasoning-delta' }>

/** Text blocks of one message that the stream has already named in a full event. */
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
