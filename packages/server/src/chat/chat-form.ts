import { isDelta } from '@bowline/agent-loop/events'
import type { TransportFrame } from '@bowline/client'
import type { Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { encodeJson } from '../json.ts'
import type { FrameForm, Frames } from '../sse/frame-form.ts'
import { textFrame, withoutSecrets } from '../sse/frames.ts'
import { joinDeltas, type TextDelta } from '../sse/join-deltas.ts'
import type { SharedFrames } from '../sse/shared-frames.ts'
import { endingChunk, heldRunChunk } from './ending-chunks.ts'
import { numberOf } from '../session-log.ts'
import { TurnChunks, type TurnName } from './turn-chunks.ts'
import type { Chunks, UiChunk } from './ui-chunk.ts'

export interface ChatFormOptions extends TurnName {
  readonly shared: SharedFrames
  /** Key of the session. */
  readonly log: string
  /** Number of the last event that the page already has. It gets the events after it. */
  readonly knownUntil?: number | undefined
  readonly redaction: Redaction
}

const deleted: UiChunk = { type: 'error', errorText: 'The conversation was deleted.' }

/** Encodes the events of a turn as one UI message stream. */
export class ChatForm implements FrameForm {
  readonly #shared: SharedFrames
  readonly #log: string
  readonly #knownUntil: number | undefined
  readonly #redaction: Redaction
  readonly #turn: TurnChunks
  #hasStarted = false

  constructor({ shared, log, knownUntil, redaction, ...name }: ChatFormOptions) {
    this.#shared = shared
    this.#log = log
    this.#redaction = redaction
    this.#knownUntil = knownUntil
    this.#turn = new TurnChunks(name)
  }

  event(event: LoggedEvent): Frames {
    return this.#tell(event, this.#turn.push(withoutSecrets(event, this.#redaction)))
  }

  deltas(deltas: readonly [TextDelta, ...TextDelta[]]): Frames {
    // A text that ends with the last delta is the same for every reader if its length is the same, so the length is in the name.
    return this.#tell(deltas.at(-1) ?? deltas[0], this.#turn.push(joinDeltas(deltas)))
  }

  last(frame: TransportFrame, cursor: string | undefined): Frames {
    switch (frame.type) {
      case 'execute-complete':
        return [...this.#closing(cursor, [...(frame.heldRuns ?? []).map(heldRunChunk), endingChunk(frame)]), textFrame(cursor, '[DONE]')]
      case 'stream-error':
        return this.#closing(cursor, [{ type: 'error', errorText: frame.problem.detail }])
      case 'stream-end':
        // A final frame would end the message in the page. After an interrupted stream, the page reconnects by itself.
        return frame.resume ? [] : [...this.#closing(cursor, [deleted]), textFrame(cursor, '[DONE]')]
      default: {
        const unknown: never = frame
        return unknown
      }
    }
  }

  #isKnown(event: LoggedEvent): boolean {
    if (this.#knownUntil === undefined) return false
    const number = numberOf(event.cursor)
    // A delta has the number of the last durable event before it.
    return isDelta(event) ? number < this.#knownUntil : number <= this.#knownUntil
  }

  #tell(event: LoggedEvent, parts: readonly Chunks[]): Frames {
    if (this.#isKnown(event)) return []
    const frames = parts.flatMap((chunks, part) =>
      chunks.map((chunk) => this.#shared.named(this.#log, event, frameName(part, chunk), () => chunkFrame(event.cursor, chunk))),
    )
    // Sent with the first event, so that the answer appears in the page before its text begins.
    return this.#withStart(event.cursor, frames)
  }

  /** Returns chunks that only this stream has. */
  #closing(cursor: string | undefined, chunks: Chunks): Frames {
    return this.#withStart(
      cursor,
      chunks.map((chunk) => chunkFrame(cursor, chunk)),
    )
  }

  #withStart(cursor: string | undefined, frames: Frames): Frames {
    if (this.#hasStarted) return frames
    this.#hasStarted = true
    return [chunkFrame(cursor, this.#turn.start), ...frames]
  }
}

function chunkFrame(cursor: string | undefined, chunk: UiChunk): Uint8Array {
  return textFrame(cursor, encodeJson(chunk))
}

/**
 * Names a frame among the frames of its event. The length distinguishes the rest of a text, which a reader gets that has seen its
 * beginning.
 */
function frameName(part: number, chunk: UiChunk): string {
  const call = 'toolCallId' in chunk ? chunk.toolCallId : ''
  const length = 'delta' in chunk ? chunk.delta.length : 'inputTextDelta' in chunk ? chunk.inputTextDelta.length : ''
  return `chat ${part} ${chunk.type} ${length} ${call}`
}
