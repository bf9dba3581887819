import type { JSONValue } from '@bowline/llm'
import type { StateStore, TimeToLive } from '@bowline/sessions'
import { ownerKey } from '../owner-key.ts'

/** A record as it was read or written last. Its value must never be changed in place. */
export interface Stored<T> {
  readonly version: number
  readonly value: T
}

export interface Owned {
  readonly owner: string
  readonly id: string
}

/** The records of one space of a state store. Each change is a compare-and-set on the version. */
export class RecordTable<T extends object> {
  readonly #store: StateStore
  readonly #space: string
  readonly #lifeOf: (value: T) => TimeToLive

  /** `lifeOf` says how long a record stays once it has this value. */
  constructor(store: StateStore, space: string, lifeOf: (value: T) => TimeToLive) {
    this.#store = store
    this.#space = space
    this.#lifeOf = lifeOf
  }

  async read(key: Owned): Promise<Stored<T> | undefined> {
    const read = await this.#store.get(this.#space, storeId(key))
    return read.status === 'found' ? stored<T>(read.value) : undefined
  }

  /** Undefined: there is one already. */
  async insert(key: Owned, value: T): Promise<Stored<T> | undefined> {
    const written = await this.#write(key, null, value)
    return written.ok ? { version: written.version, value } : undefined
  }

  /**
   * Applies `change` to the newest value until no other writer comes between; it gives undefined to leave the record as it
   * is, and may throw. `known` spares a reading. Undefined: there is no such record.
   */
  async change(key: Owned, known: Stored<T> | undefined, change: (value: T) => T | undefined): Promise<Change<T> | undefined> {
    let current = known ?? (await this.read(key))
    while (current) {
      const value = change(current.value)
      if (value === undefined) return { changed: false, stored: current }
      const written = await this.#write(key, current.version, value)
      if (written.ok) return { changed: true, stored: { version: written.version, value } }
      current = written.current ? stored<T>(written.current) : undefined
    }
    return undefined
  }

  async remove(key: Owned): Promise<void> {
    await this.#store.delete(this.#space, storeId(key))
  }

  /** All records of an owner, a page of them in memory at a time. */
  async *list(owner: string): AsyncGenerator<T> {
    let page: string | undefined
    do {
      const found = await this.#store.list(this.#space, { prefix: `${ownerKey(owner)}/`, limit: pageSize, ...(page !== undefined && { page }) })
      for (const item of found.items) yield item.value as T
      page = found.next
    } while (page !== undefined)
  }

  #write(key: Owned, expected: number | null, value: T): ReturnType<StateStore['compareAndSet']> {
    return this.#store.compareAndSet(this.#space, storeId(key), expected, value as unknown as JSONValue, { ttlMs: this.#lifeOf(value) })
  }
}

export interface Change<T> {
  readonly changed: boolean
  readonly stored: Stored<T>
}

/** Of what this process holds for a record. */
export function mapKey({ owner, id }: Owned): string {
  return JSON.stringify([owner, id])
}

const pageSize = 200

function storeId({ owner, id }: Owned): string {
  return `${ownerKey(owner)}/${id}`
}

function stored<T>({ version, value }: { readonly version: number; readonly value: JSONValue }): Stored<T> {
  return { version, value: value as T }
}
