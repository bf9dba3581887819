import { compareIds } from '../contract/paging.ts'
import type { Value } from './contract.ts'

/** Position of a row in an index. */
export type Position = readonly Exclude<Value, null>[]

/** Limit of items per chunk: inserting moves at most this many. */
const mostPerChunk = 512

/** A list in the order of an index. Adding and removing cost little, however long it is. */
export class SortedRows<T> {
  readonly #descending: readonly boolean[]
  #chunks: { positions: Position[]; items: T[] }[] = []

  constructor(columns: readonly string[]) {
    this.#descending = columns.map((column) => column.startsWith('-'))
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  add(position: Position, item: T): void {
    if (this.#chunks.length === 0) this.#chunks.push({ positions: [], items: [] })
    const at = Math.min(this.#chunkOf(position), this.#chunks.length - 1)
    const chunk = this.#chunks[at]
    if (!chunk) return
    const place = this.#placeIn(chunk.positions, position)
    chunk.positions.splice(place, 0, position)
    chunk.items.splice(place, 0, item)
    if (chunk.items.length <= mostPerChunk) return
    const half = mostPerChunk / 2
    this.#chunks.splice(at + 1, 0, { positions: chunk.positions.splice(half), items: chunk.items.splice(half) })
  }

  /** Removes the item at this position, which must be there. */
  remove(position: Position, item: T): void {
    for (let at = this.#chunkOf(position); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]
      const place = chunk?.items.indexOf(item, this.#placeIn(chunk.positions, position)) ?? -1
      if (!chunk || place < 0) continue
      chunk.positions.splice(place, 1)
      chunk.items.splice(place, 1)
      if (chunk.items.length === 0) this.#chunks.splice(at, 1)
      return
    }
  }

  /** Yields the items from this position on. A position may name the first columns only: `end` puts it after all that begin with it. */
  *from(position: Position, end = false): Iterable<T> {
    const first = this.#chunkOf(position, end)
    for (let at = first; at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]
      if (!chunk) return
      for (let place = at === first ? this.#placeIn(chunk.positions, position, end) : 0; place < chunk.items.length; place++) {
        yield chunk.items[place] as T
      }
    }
  }

  /** Yields the items before this position, the last one first. */
  *before(position: Position, end = false): Iterable<T> {
    const last = Math.min(this.#chunkOf(position, end), this.#chunks.length - 1)
    for (let at = last; at >= 0; at--) {
      const chunk = this.#chunks[at]
      if (!chunk) return
      for (let place = (at === last ? this.#placeIn(chunk.positions, position, end) : chunk.items.length) - 1; place >= 0; place--) {
        yield chunk.items[place] as T
      }
    }
  }

  /** Compares as far as the shorter position goes. */
  #compare(left: Position, right: Position): number {
    const length = Math.min(left.length, right.length)
    for (let at = 0; at < length; at++) {
      const [a, b] = [left[at], right[at]]
      const order = typeof a === 'number' ? a - (b as number) : compareIds(a as string, b as string)
      if (order !== 0) return this.#descending[at] ? -order : order
    }
    return 0
  }

  /** Returns the first chunk that may hold the position. */
  #chunkOf(position: Position, end = false): number {
    return firstWhere(this.#chunks.length, (at) => this.#isBehind(this.#chunks[at]?.positions.at(-1) ?? [], position, end))
  }

  #placeIn(positions: readonly Position[], position: Position, end = false): number {
    return firstWhere(positions.length, (at) => this.#isBehind(positions[at] ?? [], position, end))
  }

  #isBehind(candidate: Position, position: Position, end: boolean): boolean {
    const order = this.#compare(candidate, position)
    return end ? order > 0 : order >= 0
  }
}

function firstWhere(length: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
