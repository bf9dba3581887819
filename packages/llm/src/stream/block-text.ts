import { TextBuffer } from './text-buffer.ts'

/**
 * Text of one block, built from deltas. Some providers split deltas inside a surrogate pair; emitted text is split only between
 * characters.
 */
export class BlockText {
  readonly #whole = new TextBuffer()
  #half = ''

  get length(): number {
    return this.#whole.length
  }

  /** Returns whether a delta can be emitted unchanged. */
  fits(delta: unknown): delta is string {
    return typeof delta === 'string' && delta !== '' && this.#half === '' && !endsInHalf(delta)
  }

  /** Appends a delta that fits. */
  add(delta: string): void {
    this.#whole.add(delta)
  }

  /** Appends any delta. Returns the text to emit now. */
  take(delta: string): string {
    const text = this.#half + delta
    const isHalf = endsInHalf(text)
    this.#half = isHalf ? text.slice(-1) : ''
    return this.#keep(isHalf ? text.slice(0, -1) : text)
  }

  /** Returns a remaining half of a surrogate pair. */
  rest(): string {
    const half = this.#half
    this.#half = ''
    return this.#keep(half)
  }

  toString(): string {
    return this.#whole.toString()
  }

  #keep(text: string): string {
    if (text !== '') this.#whole.add(text)
    return text
  }
}

function endsInHalf(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}
