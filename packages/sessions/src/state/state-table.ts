import type { JSONValue } from '@bowline/llm'
import type { Versioned } from '../contract/state-store.ts'
import { compareIds } from '../contract/check-state.ts'

/** What became of a record. Without a value that is as it was; without a life the record is gone, and this is left of it. */
export interface StateChange {
  readonly space: string
  readonly id: string
  readonly version: number
  readonly life?: Pick<Versioned, 'usedAt' | 'expiresAt'>
  readonly value?: JSONValue
}

interface Space {
  readonly records: Map<string, Versioned>
  /** Of every id that was ever used: what is left of a record that is gone. */
  readonly lastVersions: Map<string, number>
  /** Those of `records`, in order. */
  readonly ids: string[]
}

/** Records in memory, in the order of their ids. Knows no rules and no time: what has expired is there until it is gone. */
export class StateTable {
  readonly #spaces = new Map<string, Space>()
  readonly #forgetsIds: boolean
  #size = 0
  /** No version above it was used for an id that is forgotten. */
  #forgotten = 0

  /** `forgetsIds`: of a record that is gone nothing is left, and the versions of every new one begin above all of those. */
  constructor({ forgetsIds = false }: { readonly forgetsIds?: boolean } = {}) {
    this.#forgetsIds = forgetsIds
  }

  get size(): number {
    return this.#size
  }

  find(space: string, id: string): Versioned | undefined {
    return this.#spaces.get(space)?.records.get(id)
  }

  /** Below the next version of this id. 0: the id was never used, nor anything forgotten. */
  lastVersion(space: string, id: string): number {
    return this.#spaces.get(space)?.lastVersions.get(id) ?? this.#forgotten
  }

  /** Those of a space whose ids are not before this one. */
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

  /** What leads from an empty table to this one. */
  *changes(): Iterable<StateChange> {
    for (const [space, { records, lastVersions }] of this.#spaces) {
      for (const [id, version] of lastVersions) {
        const record = records.get(id)
        yield record ? { space, id, version, life: lifeIn(record), value: record.value } : { space, id, version }
      }
    }
  }

  /** False when it cannot come here: something before it is lost. */
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
  // All that is left of one that went before the table was written down.
  return life === undefined && lastVersion === 0
}

function lifeIn({ usedAt, expiresAt }: Versioned): NonNullable<StateChange['life']> {
  return { usedAt, expiresAt }
}

/** Where the first id stands that is not before this one. */
function placeOf(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareIds(ids[middle] ?? '', id) < 0) low = middle + 1
    else high = middle
  }
  return low
}
