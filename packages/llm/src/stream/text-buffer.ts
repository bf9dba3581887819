const piecesPerBlock = 512

/**
 * Collects the deltas of one block. Concatenating many short strings would keep a node per delta alive. So pieces are joined block
 * by block, and memory stays proportional to the text.
 */
export class TextBuffer {
  readonly #blocks: string[] = []
  #pieces: string[] = []
  #joinedLength = 0

  get length(): number {
    return this.#pieces.reduce((length, piece) => length + piece.length, this.#joinedLength)
  }

  add(delta: string): void {
    if (this.#pieces.push(delta) === piecesPerBlock) this.#join()
  }

  toString(): string {
    this.#join()
    return this.#blocks.join('')
  }

  #join(): void {
    const block = this.#pieces.join('')
    this.#joinedLength += block.length
    this.#blocks.push(block)
    this.#pieces = []
  }
}
