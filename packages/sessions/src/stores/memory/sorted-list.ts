/** Items in the order of `compare`. A position is an item, or the part of it that is compared. */
export class SortedList<V extends P, P = V> {
  readonly items: V[] = []
  readonly #compare: (a: P, b: P) => number

  constructor(compare: (a: P, b: P) => number) {
    this.#compare = compare
  }

  add(item: V): void {
    this.items.splice(this.placeOf(item), 0, item)
  }

  remove(item: V): void {
    this.items.splice(this.placeOf(item), 1)
  }

  /** Returns the number of items before this position. */
  placeOf(position: P): number {
    let [low, high] = [0, this.items.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.items[middle] as V, position) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Yields the items from this position on. */
  *from(position: P): Iterable<V> {
    for (let place = this.placeOf(position); place < this.items.length; place++) yield this.items[place] as V
  }

  /** Yields the items before this position, the nearest first. Default: all. */
  *before(position: P | undefined): Iterable<V> {
    for (let place = position === undefined ? this.items.length : this.placeOf(position); place > 0; place--)
      yield this.items[place - 1] as V
  }
}
