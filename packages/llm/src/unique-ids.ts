/** Makes ids unique: a second equal id is marked with `~2`, and so on. */
export class UniqueIds {
  readonly #taken = new Set<string>()
  /** Next number to try for each id, so that many equal ids do not take quadratic time. */
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
