import type { LoggedEvent } from '@bowline/sessions'
import { continues, isTextDelta, type TextDelta } from './join-deltas.ts'
import type { SharedFrames } from './shared-frames.ts'

/** About what a socket takes at once. */
const fullBytes = 64 * 1024

/** What is written at once: all that was at hand, with the deltas of a part joined. */
export class Chunk {
  /** Of what is in it. */
  cursor: string | undefined
  readonly #shared: SharedFrames
  readonly #log: string
  readonly #frames: Uint8Array[] = []
  #deltas: [TextDelta, ...TextDelta[]] | undefined
  #bytes = 0

  constructor(shared: SharedFrames, log: string) {
    this.#shared = shared
    this.#log = log
  }

  get isFull(): boolean {
    return this.#bytes >= fullBytes
  }

  add(event: LoggedEvent): void {
    this.cursor = event.cursor
    if (!isTextDelta(event)) {
      this.#closeDeltas()
      this.#push(this.#shared.frame(this.#log, event))
      return
    }
    this.#bytes += event.delta.length
    if (this.#deltas && continues(this.#deltas[0], event)) {
      this.#deltas.push(event)
    } else {
      this.#closeDeltas()
      this.#deltas = [event]
    }
  }

  /** The frames in one piece; undefined when nothing was added. */
  close(): { readonly bytes: Uint8Array; readonly frames: number } | undefined {
    this.#closeDeltas()
    const [first] = this.#frames
    if (!first) return undefined
    return { bytes: this.#frames.length === 1 ? first : concatenate(this.#frames), frames: this.#frames.length }
  }

  #closeDeltas(): void {
    if (!this.#deltas) return
    this.#push(this.#shared.joinedFrame(this.#log, this.#deltas))
    this.#deltas = undefined
  }

  #push(frame: Uint8Array): void {
    this.#frames.push(frame)
    this.#bytes += frame.length
  }
}

function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
