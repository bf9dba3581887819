interface Part {
  readonly type: string
  readonly providerOptions?: unknown
}

/**
 * Collects the parts of an answer. Providers accept signed reasoning only together with the part that followed it. If that part is
 * not sent, the reasoning must be omitted too, or every later call would be rejected.
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

  /** Records that a call at this position is not sent. */
  lostCall(): void {
    this.#lostCall = this.#waiting.length > 0
  }

  /** Returns the collected parts. */
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
