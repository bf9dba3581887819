import type { JSONValue } from '@bowline/llm'
import type { Versioned } from '../contract/state-store.ts'
import { compareIds } from '../contract/check-state.ts'

/**
 * Change of a record. Without `value`, the value is unchanged. Without `life`, the record is deleted and only its version remains.
 */
export interface StateChange {
  readonly space: string
  readonly id: string
  readonly version: number
  readonly life?: Pick<Versioned, 'usedAt' | 'expiresAt'>
  readonly value?: JSONValue
}

interface Space {
  readonly records: Map<string, Versioned>
  /** Last version of every used id, deleted records included. */
  readonly lastVersions: Map<string, number>
  /** Sorted ids of `records`. */
  readonly ids: string[]
}

/** Records in memory, sorted by id. Applies no rules and no time: an expired record stays until it is deleted. */
export class StateTable {
  readonly #spaces = new Map<string, Space>()
  readonly #forgetsIds: boolean
  #size = 0
  /** Highest version of all forgotten ids. */
  #forgotten = 0

  /**
   * With `forgetsIds`, nothing remains of a deleted record, and the versions of new records start above those of all deleted ones.
   */
  constructor({ forgetsIds = false }: { readonly forgetsIds?: boolean } = {}) {
    this.#forgetsIds = forgetsIds
  }

  get size(): number {
    return this.#size
  }

  find(space: string, id: string): Versioned | undefined {
    return this.#spaces.get(space)?.records.get(id)
  }

  /** Returns the version before the next one of this id. 0 if the id was never used and nothing was forgotten. */
  lastVersion(space: string, id: string): number {
    return this.#spaces.get(space)?.lastVersions.get(id) ?? this.#forgotten
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

  /** Yields changes that turn an empty table into this one. */
  *changes(): Iterable<StateChange> {
    for (const [space, { records, lastVersions }] of this.#spaces) {
      for (const [id, version] of lastVersions) {
        const record = records.get(id)
        yield record ? { space, id, version, life: lifeIn(record), value: record.value } : { space, id, version }
      }
    }
  }

  /** Returns false if the change cannot follow: an earlier one is lost. */
  apply(change: StateChange): boolean {
    const { space: name, id, version, life } = change
    const record = this.find(name, id)
    if (!canFollow(change, record, this.lastVersion(name, id))) return false
    const space = this.#spaces.get(name) ?? { records: new Map(), lastVersions: new Map(), ids: [] }
    this.#spaces.set(name, space)
    space.lastVersions.set(id, version)
    const value = change.value === undefined ? record?.value : change.value
    if (life && value !== undefined) this.#put(space, id, { version, value, ...life })
    else this.#remove(space, id)
    return true
  }

  #put(space: Space, id: string, record: Versioned): void {
    if (!space.records.has(id)) {
      space.ids.splice(placeOf(space.ids, id), 0, id)
      this.#size++
    }
    space.records.set(id, record)
  }

  #remove(space: Space, id: string): void {
    if (!space.records.delete(id)) return
    space.ids.splice(placeOf(space.ids, id), 1)
    this.#size--
    if (!this.#forgetsIds) return
    this.#forgotten = Math.max(this.#forgotten, space.lastVersions.get(id) ?? 0)
    space.lastVersions.delete(id)
  }
}

function canFollow({ version, life, value }: StateChange, record: Versioned | undefined, lastVersion: number): boolean {
  if (value !== undefined) return life !== undefined && version > lastVersion
  if (record) return version === record.version
  // Remains of a record that was deleted before the table was written.
  return life === undefined && lastVersion === 0
}

function lifeIn({ usedAt, expiresAt }: Versioned): NonNullable<StateChange['life']> {
  return { usedAt, expiresAt }
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
