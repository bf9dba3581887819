import { SortedList } from './sorted-list.ts'

/** Sorted lists by name. An item is in all lists that `namesOf` gives. */
export class SortedLists<V extends P, P = V> {
  readonly #lists = new Map<string, SortedList<V, P>>()
  readonly #compare: (a: P, b: P) => number
  readonly #namesOf: (item: V) => readonly string[]

  constructor(compare: (a: P, b: P) => number, namesOf: (item: V) => readonly string[]) {
    this.#compare = compare
    this.#namesOf = namesOf
  }

  get(name: string): SortedList<V, P> | undefined {
    return this.#lists.get(name)
  }

  add(item: V): void {
    for (const name of this.#namesOf(item)) {
      const list = this.#lists.get(name) ?? new SortedList(this.#compare)
      this.#lists.set(name, list)
      list.add(item)
    }
  }

  remove(item: V): void {
    for (const name of this.#namesOf(item)) {
      const list = this.#lists.get(name)
      list?.remove(item)
      if (list?.items.length === 0) this.#lists.delete(name)
    }
  }
}
