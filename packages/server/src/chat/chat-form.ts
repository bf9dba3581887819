import { isDelta } from '@bowline/agent-loop/events'
import type { TransportFrame } from '@bowline/client'
import type { Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { encodeJson } from '../json.ts'
import type { FrameForm, Frames } from '../sse/frame-form.ts'
import { textFrame, withoutSecrets } from '../sse/frames.ts'
import { joinDeltas, type TextDelta } from '../sse/join-deltas.ts'
import { endingChunk } from './ending-chunks.ts'
import { numberOf } from '../session-log.ts'
import { TurnChunks, type TurnName } from './turn-chunks.ts'
import type { UiChunk } from './ui-chunk.ts'

export interface ChatFormOptions extends TurnName {
  /** Up to this number the page has the message already: it gets what comes behind. */
  readonly knownUntil?: number | undefined
  readonly redaction: Redaction
}

/** The events of a turn as one UI message stream. */
export class ChatForm implements FrameForm {
  readonly #knownUntil: number | undefined
  readonly #redaction: Redaction
  readonly #turn: TurnChunks
  #hasStarted = false

  constructor({ knownUntil, redaction, ...name }: ChatFormOptions) {
    this.#redaction = redaction
    this.#knownUntil = knownUntil
    this.#turn = new TurnChunks(name)
  }

  event(event: LoggedEvent): Frames {
    const chunks = this.#turn.push(withoutSecrets(event, this.#redaction))
    if (this.#isKnown(event)) return []
    return chunks.length > 0 || event.type === 'turn-start' ? this.#frames(chunks, event.cursor) : []
  }

  deltas(deltas: readonly [TextDelta, ...TextDelta[]]): Frames {
    return this.event(joinDeltas(deltas))
  }

  last(frame: TransportFrame, cursor: string | undefined): Frames {
    switch (frame.type) {
      case 'execute-complete':
        return [...this.#frames([endingChunk(frame)], cursor), textFrame(cursor, '[DONE]')]
      case 'stream-error':
        return this.#frames([{ type: 'error', errorText: frame.problem.detail }], cursor)
      case 'stream-end':
        // A last word is the end of the message to a page. One that is cut off comes back by itself.
        return frame.resume ? [] : [...this.#frames([{ type: 'error', errorText: 'The conversation was deleted.' }], cursor), textFrame(cursor, '[DONE]')]
      default: {
        const unknown: never = frame
        return unknown
      }
    }
  }

  #isKnown(event: LoggedEvent): boolean {
    if (this.#knownUntil === undefined) return false
    const number = numberOf(event.cursor)
    // A delta has the number of what was durable before it.
    return isDelta(event) ? number < this.#knownUntil : number <= this.#knownUntil
  }

  #frames(chunks: readonly UiChunk[], cursor: string | undefined): Frames {
    const all = this.#hasStarted ? chunks : [this.#turn.start, ...chunks]
    this.#hasStarted = true
    return all.map((chunk) => textFrame(cursor, encodeJson(chunk)))
  }
}
