/** Some providers cut their text inside of a character. What passes through here is cut between characters only. */
export class WholeCharacters {
  #half = ''

  /** What can be delivered now. */
  take(delta: string): string {
    const text = this.#half + delta
    const isHalf = isHighSurrogate(text.charCodeAt(text.length - 1))
    this.#half = isHalf ? text.slice(-1) : ''
    return isHalf ? text.slice(0, -1) : text
  }

  /** The half that nothing followed. */
  rest(): string {
    const half = this.#half
    this.#half = ''
    return half
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
