import { SortedList } from './sorted-list.ts'

interface Timed<V> {
  readonly key: string
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

  get(key: string): V | undefined {
    return this.#byKey.get(key)?.value
  }

  /** Sets the time of a key. Infinity removes it. */
  set(key: string, time: number, value: V): void {
    const before = this.#byKey.get(key)
    if (before?.time === time && before.value === value) return
    this.delete(key)
    if (time === Infinity) return
    const timed = { key, n: ++this.#last, time, value }
    this.#inOrder.add(timed)
    this.#byKey.set(key, timed)
  }

  delete(key: string): void {
    const before = this.#byKey.get(key)
    if (!before) return
    this.#inOrder.remove(before)
    this.#byKey.delete(key)
  }

  *entries(): Iterable<readonly [key: string, V]> {
    for (const { key, value } of this.#inOrder.items) yield [key, value]
  }

  *values(): Iterable<V> {
    for (const { value } of this.#inOrder.items) yield value
  }

  /** The earliest time after this one; Infinity if there is none. */
  firstAfter(time: number): number {
    return this.#inOrder.items[this.#inOrder.placeOf({ time, n: Infinity })]?.time ?? Infinity
  }

  /** Yields the values with this time or an earlier one. */
  *until(time: number): Iterable<V> {
    for (const timed of this.#inOrder.items) {
      if (timed.time > time) return
      yield timed.value
    }
  }
}
