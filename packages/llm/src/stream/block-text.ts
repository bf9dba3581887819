import { TextBuffer } from './text-buffer.ts'

/**
 * The text of one block as its deltas bring it. Some providers cut their text inside of a character; what goes out of
 * here is cut between characters only.
 */
export class BlockText {
  readonly #whole = new TextBuffer()
  #half = ''

  get length(): number {
    return this.#whole.length
  }

  /** Whether a delta can go out as it is. */
  fits(delta: unknown): delta is string {
    return typeof delta === 'string' && delta !== '' && this.#half === '' && !endsInHalf(delta)
  }

  /** Keeps a delta that fits. */
  add(delta: string): void {
    this.#whole.add(delta)
  }

  /** Keeps any delta, and gives what can go out now. */
  take(delta: string): string {
    const text = this.#half + delta
    const isHalf = endsInHalf(text)
    this.#half = isHalf ? text.slice(-1) : ''
    return this.#keep(isHalf ? text.slice(0, -1) : text)
  }

  /** The half that nothing followed. */
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
