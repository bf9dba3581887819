/** Longer names are not cached; real model names are shorter. */
const longestName = 1_000

/** A least-recently-used cache by name. */
export class RecentlyUsed<T> {
  readonly #entries = new Map<string, T>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(name: string, make: () => T): T {
    // A map keeps insertion order, so deleting and setting an entry makes it the newest.
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
