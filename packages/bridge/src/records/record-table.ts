import type { JSONValue } from '@bowline/llm'
import type { StateStore, TimeToLive } from '@bowline/sessions'
import { ownerKey } from '../owner-key.ts'

/** A record as last read or written. Its value must never be modified in place. */
export interface Stored<T> {
  readonly version: number
  readonly value: T
}

export interface Owned {
  readonly owner: string
  readonly id: string
}

/** Records of one space of a state store. Each change is a compare-and-set on the version. */
export class RecordTable<T extends object> {
  readonly #store: StateStore
  readonly #space: string
  readonly #lifeOf: (value: T) => TimeToLive

  /** `lifeOf` returns the TTL of a record with this value. */
  constructor(store: StateStore, space: string, lifeOf: (value: T) => TimeToLive) {
    this.#store = store
    this.#space = space
    this.#lifeOf = lifeOf
  }

  async read(key: Owned): Promise<Stored<T> | undefined> {
    const read = await this.#store.get(this.#space, storeId(key))
    return read.status === 'found' ? stored<T>(read.value) : undefined
  }

  /** Returns undefined if the record exists already. */
  async insert(key: Owned, value: T): Promise<Stored<T> | undefined> {
    const written = await this.#write(key, null, value)
    return written.ok ? { version: written.version, value } : undefined
  }

  /**
   * Compare-and-set with retry. `change` may return undefined to leave the record unchanged, and may throw. `known` saves a read.
   * Returns undefined if the record does not exist.
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

  /** Yields all records of an owner. Loads one page at a time. */
  async *list(owner: string): AsyncGenerator<T> {
    let page: string | undefined
    do {
      const found = await this.#store.list(this.#space, {
        prefix: `${ownerKey(owner)}/`,
        limit: pageSize,
        ...(page !== undefined && { page }),
      })
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

/** Returns a key for maps in this process. */
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
