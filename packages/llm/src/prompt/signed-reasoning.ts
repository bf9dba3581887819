interface Part {
  readonly type: string
  readonly providerOptions?: unknown
}

/**
 * Gathers the parts of an answer. Providers take signed reasoning back only together with what it led to; where that is
 * not sent, the reasoning must not be sent either, or every later call would be refused.
 */
export class SignedReasoning<P extends Part> {
  readonly #content: P[] = []
  readonly #onDropped: () => void
  /** Reasoning since the last other part. */
  #waiting: P[] = []
  #lostCall = false

  constructor(onDropped: () => void) {
    this.#onDropped = onDropped
  }

  add(part: P): void {
    if (part.type === 'reasoning') {
      if (this.#lostCall) this.#drop()
      this.#lostCall = false
      this.#waiting.push(part)
    } else {
      this.#settle()
      this.#content.push(part)
    }
  }

  /** A call stood here that is not sent. */
  lostCall(): void {
    this.#lostCall = this.#waiting.length > 0
  }

  /** All that was gathered. Of an answer that goes on the reasoning may stand last. */
  end(goesOn: boolean): P[] {
    if (goesOn) this.#settle()
    else this.#drop()
    return this.#content
  }

  #settle(): void {
    for (const part of this.#waiting) this.#content.push(part)
    this.#waiting = []
    this.#lostCall = false
  }

  #drop(): void {
    for (const part of this.#waiting) {
      if (part.providerOptions) this.#onDropped()
      else this.#content.push(part)
    }
    this.#waiting = []
  }
}
