import type { JSONValue } from '@bowline/llm'
import type { Versioned } from '../contract/state-store.ts'
import { compareIds } from '../contract/paging.ts'

/** Change of a record. Without `value`, the value is unchanged. Without `life`, the record is deleted. */
export interface StateChange {
  readonly space: string
  readonly id: string
  readonly version: number
  readonly life?: Pick<Versioned, 'usedAt' | 'expiresAt'>
  readonly value?: JSONValue
}

interface Space {
  readonly records: Map<string, Versioned>
  /** Sorted ids of `records`. */
  readonly ids: string[]
}

/**
 * Records in memory, sorted by id. Applies no rules and no time: an expired record stays until it is deleted. Nothing remains of
 * a deleted record: the versions of new records start above those of all deleted ones.
 */
export class StateTable {
  readonly #spaces = new Map<string, Space>()
  #size = 0
  /** Highest version of all deleted records, those of an earlier table with the same records included. */
  deleted = 0

  get size(): number {
    return this.#size
  }

  find(space: string, id: string): Versioned | undefined {
    return this.#spaces.get(space)?.records.get(id)
  }

  /** Returns the version before the next one of this id. 0 if nothing was deleted before its first. */
  lastVersion(space: string, id: string): number {
    return this.find(space, id)?.version ?? this.deleted
  }

  /** Yields the records of a space from this id on. */
  *from(name: string, start: string): Iterable<readonly [id: string, record: Versioned]> {
    const space = this.#spaces.get(name)
    if (!space) return
    for (let place = placeOf(space.ids, start); place < space.ids.length; place++) {
      const id = space.ids[place] ?? ''
      const record = space.records.get(id)
      if (record) yield [id, record]
    }
  }

  *records(): Iterable<readonly [space: string, id: string, record: Versioned]> {
    for (const [space, { records }] of this.#spaces) for (const [id, record] of records) yield [space, id, record]
  }

  /** Returns false if the change cannot follow: an earlier one is lost. */
  apply(change: StateChange): boolean {
    const { space: name, id, version, life } = change
    const record = this.find(name, id)
    if (!canFollow(change, record, this.lastVersion(name, id))) return false
    const space = this.#spaces.get(name) ?? { records: new Map(), ids: [] }
    this.#spaces.set(name, space)
    const value = change.value === undefined ? record?.value : change.value
    if (life && value !== undefined) this.#put(space, id, { version, value, ...life })
    else this.#remove(space, id, version)
    if (space.ids.length === 0) this.#spaces.delete(name)
    return true
  }

  #put(space: Space, id: string, record: Versioned): void {
    if (!space.records.has(id)) {
      space.ids.splice(placeOf(space.ids, id), 0, id)
      this.#size++
    }
    space.records.set(id, record)
  }

  #remove(space: Space, id: string, version: number): void {
    space.records.delete(id)
    this.deleted = Math.max(this.deleted, version)
    space.ids.splice(placeOf(space.ids, id), 1)
    this.#size--
  }
}

function canFollow({ version, life, value }: StateChange, record: Versioned | undefined, lastVersion: number): boolean {
  return value === undefined ? version === record?.version : life !== undefined && version > lastVersion
}

/** Returns the position of the first id that is not before this one. */
function placeOf(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareIds(ids[middle] ?? '', id) < 0) low = middle + 1
    else high = middle
  }
  return low
}
