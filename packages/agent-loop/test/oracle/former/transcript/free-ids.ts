/** The ids that are used, and how to get one that is not. */
export class FreeIds {
  readonly #taken = new Set<string>()
  /** The copy to try next of a wanted id, so that a thousand equal ids need no million tries. */
  readonly #next = new Map<string, number>()

  has(id: string): boolean {
    return this.#taken.has(id)
  }

  add(id: string): void {
    this.#taken.add(id)
  }

  /** The wanted id when nothing has it, else the first of `<id>~2`, `<id>~3` … that nothing has. It is not yet taken. */
  freeFor(wanted: string, alsoTaken: (id: string) => boolean = () => false): string {
    if (!this.#taken.has(wanted) && !alsoTaken(wanted)) return wanted
    let copy = this.#next.get(wanted) ?? 2
    while (this.#taken.has(`${wanted}~${copy}`)) copy++
    this.#next.set(wanted, copy)
    while (this.#taken.has(`${wanted}~${copy}`) || alsoTaken(`${wanted}~${copy}`)) copy++
    return `${wanted}~${copy}`
  }
}

/**
 * Gives each of many entries an id of its own, in their order: the first that has an id keeps it, and no new id is one
 * that a later entry has. `fallback` is for entries without an id.
 */
export function idGiver(given: Iterable<unknown>): (id: unknown, fallback: string) => string {
  const kept = new Set(given)
  const free = new FreeIds()
  return (id, fallback) => {
    const own = typeof id === 'string' && id !== '' && !free.has(id)
    const base = typeof id === 'string' && id !== '' ? id : fallback
    const chosen = own ? id : free.freeFor(base, (other) => kept.has(other))
    free.add(chosen)
    return chosen
  }
}
