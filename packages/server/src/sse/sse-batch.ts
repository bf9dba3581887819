import type { LoggedEvent } from '@bowline/sessions'
import { concatenate } from './concatenate.ts'
import type { FrameForm, Frames } from './frame-form.ts'
import { continues, isTextDelta, type TextDelta } from './join-deltas.ts'

/** Roughly the amount that a socket takes at once. */
const fullBytes = 64 * 1024

/** Collects one write. It joins the deltas of a part and small frames, and splits a large frame. */
export class SseBatch {
  /** Cursor after the last frame of this write. */
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

  /** Returns the frames in pieces. Pieces of a large frame are views of the frame that all readers share, not copies. */
  close(): { readonly pieces: Uint8Array[]; readonly frames: number } {
    this.#closeDeltas()
    const pieces: Uint8Array[] = []
    let small: Uint8Array[] = []
    const closeSmall = (): void => {
      if (small.length > 0) pieces.push(concatenate(small))
      small = []
    }
    for (const frame of this.#frames) {
      if (frame.length < fullBytes) {
        small.push(frame)
        continue
      }
      closeSmall()
      for (let at = 0; at < frame.length; at += fullBytes) pieces.push(frame.subarray(at, at + fullBytes))
    }
    closeSmall()
    return { pieces, frames: this.#frames.length }
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
