const piecesPerBlock = 512

/**
 * Gathers the deltas of one block. Appending many short strings to one string would keep a node per delta alive, so
 * pieces are joined block by block and memory stays in proportion to the text.
 */
export class TextBuffer {
  #blocks: string[] = []
  #pieces: string[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(delta: string): void {
    this.#length += delta.length
    if (this.#pieces.push(delta) === piecesPerBlock) {
      this.#blocks.push(this.#pieces.join(''))
      this.#pieces = []
    }
  }

  toString(): string {
    return this.#blocks.join('') + this.#pieces.join('')
  }
}
