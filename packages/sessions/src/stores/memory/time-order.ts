interface Timed<V> {
  readonly n: number
  readonly time: number
  readonly value: V
}

/** Values by key, sorted by time. Values with the same time keep their order of insertion. */
export class TimeOrder<V> {
  readonly #byKey = new Map<string, Timed<V>>()
  readonly #inOrder: Timed<V>[] = []
  #last = 0

  /** The earliest time; Infinity if there is none. */
  get first(): number {
    return this.#inOrder[0]?.time ?? Infinity
  }

  /** Sets the time of a key. Infinity removes it. */
  set(key: string, time: number, value: V): void {
    const before = this.#byKey.get(key)
    if (before?.time === time && before.value === value) return
    this.delete(key)
    if (time === Infinity) return
    const timed = { n: ++this.#last, time, value }
    this.#inOrder.splice(this.#placeOf(timed), 0, timed)
    this.#byKey.set(key, timed)
  }

  delete(key: string): void {
    const before = this.#byKey.get(key)
    if (!before) return
    this.#inOrder.splice(this.#placeOf(before), 1)
    this.#byKey.delete(key)
  }

  *values(): Iterable<V> {
    for (const { value } of this.#inOrder) yield value
  }

  /** The earliest time after this one; Infinity if there is none. */
  firstAfter(time: number): number {
    return this.#inOrder[this.#placeOf({ time, n: Infinity })]?.time ?? Infinity
  }

  /** Yields the values with this time or an earlier one. */
  *until(time: number): Iterable<V> {
    for (const timed of this.#inOrder) {
      if (timed.time > time) return
      yield timed.value
    }
  }

  /** Returns the position of a value, or where to insert it. */
  #placeOf({ time, n }: Pick<Timed<V>, 'time' | 'n'>): number {
    let [low, high] = [0, this.#inOrder.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#inOrder[middle]
      if (other && (other.time < time || (other.time === time && other.n < n))) low = middle + 1
      else high = middle
    }
    return low
  }
}
