/** Ids of which no two are equal: the second of two that are is marked with `~2`, and so on. */
export class UniqueIds {
  readonly #taken = new Set<string>()
  /** The number to try next for an id, so that a thousand equal ids need no million tries. */
  readonly #nextOfId = new Map<string, number>()

  take(id: string): string {
    let unique = id
    for (let n = this.#nextOfId.get(id) ?? 2; this.#taken.has(unique); n++) {
      unique = `${id}~${n}`
      this.#nextOfId.set(id, n + 1)
    }
    this.#taken.add(unique)
    return unique
  }
}
