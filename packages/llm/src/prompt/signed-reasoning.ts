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
      for (const reasoning of this.#waiting) this.#content.push(reasoning)
      this.#content.push(part)
      this.#waiting = []
      this.#lostCall = false
    }
  }

  /** A call stood here that is not sent. */
  lostCall(): void {
    this.#lostCall = this.#waiting.length > 0
  }

  /** All that was gathered. */
  end(): P[] {
    this.#drop()
    return this.#content
  }

  #drop(): void {
    for (const part of this.#waiting) {
      if (part.providerOptions) this.#onDropped()
      else this.#content.push(part)
    }
    this.#waiting = []
  }
}
