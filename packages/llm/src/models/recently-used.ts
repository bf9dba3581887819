/** Names longer than this are not kept: none of a real model is. */
const longestName = 1_000

/** A bounded memory by name: it forgets what was not asked for the longest time. */
export class RecentlyUsed<T> {
  readonly #entries = new Map<string, T>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(name: string, make: () => T): T {
    // A map keeps the order of its entries: taking one out and putting it back makes it the newest.
    const value = this.#entries.get(name) ?? make()
    this.#entries.delete(name)
    if (name.length <= longestName) this.#entries.set(name, value)
    if (this.#entries.size > this.#limit) this.#forgetOldest()
    return value
  }

  #forgetOldest(): void {
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }
}
