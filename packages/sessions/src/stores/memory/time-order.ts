import { SortedList } from './sorted-list.ts'

interface Timed<V> {
  readonly n: number
  readonly time: number
  readonly value: V
}

/** Values by key, sorted by time. Values with the same time keep their order of insertion. */
export class TimeOrder<V> {
  readonly #byKey = new Map<string, Timed<V>>()
  readonly #inOrder = new SortedList<Timed<V>, Pick<Timed<V>, 'n' | 'time'>>((a, b) => a.time - b.time || a.n - b.n)
  #last = 0

  /** The earliest time; Infinity if there is none. */
  get first(): number {
    return this.#inOrder.items[0]?.time ?? Infinity
  }

  /** Sets the time of a key. Without a time, or with Infinity, or without a value, removes it. */
  set(key: string, time = Infinity, value?: V): void {
    const before = this.#byKey.get(key)
    if (before?.time === time && before.value === value) return
    this.delete(key)
    if (time === Infinity || value === undefined) return
    const timed = { n: ++this.#last, time, value }
    this.#inOrder.add(timed)
    this.#byKey.set(key, timed)
  }

  delete(key: string): void {
    const before = this.#byKey.get(key)
    if (!before) return
    this.#inOrder.remove(before)
    this.#byKey.delete(key)
  }

  *values(): Iterable<V> {
    for (const { value } of this.#inOrder.items) yield value
  }

  /** The earliest time after this one; Infinity if there is none. */
  firstAfter(time: number): number {
    return this.#inOrder.items[this.#inOrder.placeOf({ time, n: Infinity })]?.time ?? Infinity
  }

  /** Yields up to `most` values with this time or an earlier one. */
  *until(time: number, most = Infinity): Iterable<V> {
    for (const timed of this.#inOrder.items) {
      if (timed.time > time || most-- <= 0) return
      yield timed.value
    }
  }
}
