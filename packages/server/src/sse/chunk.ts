import type { LoggedEvent } from '@bowline/sessions'
import { concatenate } from './concatenate.ts'
import type { FrameForm, Frames } from './frame-form.ts'
import { continues, isTextDelta, type TextDelta } from './join-deltas.ts'

/** About what a socket takes at once. */
const fullBytes = 64 * 1024

/** What is written at once: all that was at hand, with the deltas of a part joined. */
export class Chunk {
  /** Of what is in it. */
  cursor: string | undefined
  readonly #form: FrameForm
  readonly #frames: Uint8Array[] = []
  #deltas: [TextDelta, ...TextDelta[]] | undefined
  #bytes = 0

  constructor(form: FrameForm) {
    this.#form = form
  }

  get isFull(): boolean {
    return this.#bytes >= fullBytes
  }

  add(event: LoggedEvent): void {
    this.cursor = event.cursor
    if (!isTextDelta(event)) {
      this.#closeDeltas()
      this.#push(this.#form.event(event))
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
    if (this.#frames.length === 0) return undefined
    return { bytes: concatenate(this.#frames), frames: this.#frames.length }
  }

  #closeDeltas(): void {
    if (!this.#deltas) return
    this.#push(this.#form.deltas(this.#deltas))
    this.#deltas = undefined
  }

  #push(frames: Frames): void {
    for (const frame of frames) {
      this.#frames.push(frame)
      this.#bytes += frame.length
    }
  }
}
