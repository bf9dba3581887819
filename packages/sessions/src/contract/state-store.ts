import type { JSONValue } from '@bowline/llm'
import type { Page, PageRequest } from './paging.ts'

/**
 * Versioned JSON records with a TTL, addressed by namespace and id. Every value given or taken must be a copy. A version must
 * never be reused for an id, even after its record was deleted or has expired. If a store cannot answer, it must throw
 * `store-unavailable` and never look empty; the outcome of a write is then unknown until it is read.
 */
export interface StateStore {
  /** Returns the record without changing anything, even if it has expired. */
  get(space: string, id: string): Promise<StateRead>
  /**
   * Writes if the record has the version `expected` or, with null, if there is none. Else must change nothing. A record lives
   * for exactly `ttlMs` from its last change or touch, up to 4,000,000,000,000,000 ms.
   */
  compareAndSet(space: string, id: string, expected: number | null, value: JSONValue, options: WriteOptions): Promise<CasResult>
  /** Restarts the lifetime of the record. Returns false if there is none: it must not revive one. */
  touch(space: string, id: string, ttlMs: TimeToLive): Promise<boolean>
  /** Deletes the record and returns `ok` with its version. With `expected`, a record of another version stays. */
  delete(space: string, id: string, expected?: number): Promise<CasResult>
  /** Lists live records, in order of the UTF-8 bytes of their ids. */
  list(space: string, query: StateQuery): Promise<Page<Versioned & { readonly id: string }>>
  /** Removes up to `limit` expired records of any space. Returns their number. */
  sweep(limit: number): Promise<number>
  /** Closes the store. Does nothing for the state store of a session store, which is closed with the session store. */
  close(): Promise<void>
  /** Present only in a store with a word index. Without it, callers scan `list`, and must not pass `searchable`. */
  readonly search?: StateSearch
}

/** Word search over records. It must see every earlier write and must not show deleted records. */
export interface StateSearch {
  readonly kind: 'fts5' | 'tsvector'
  /**
   * Returns live records of the group in which a word begins with one of `words`, newest change or touch first. Without words,
   * returns all.
   */
  find(space: string, query: SearchQuery): Promise<readonly (Versioned & { readonly id: string })[]>
  /** Returns the number of live records of the group. */
  count(space: string, group: string): Promise<number>
}

/** Words to find in one group of records, and the highest number of results. */
export interface SearchQuery {
  readonly group: string
  /** Words in the form of `Searchable`. */
  readonly words: readonly string[]
  /** At most 1,000. */
  readonly limit: number
}

/** Words by which a record is found. A write without it makes the record invisible to `search`. */
export interface Searchable {
  /** Groups are searched separately. Any text that is valid as an id. */
  readonly group: string
  /** Words of 1 to 64 characters: letters and digits in lower case. They are matched as they are. */
  readonly words: readonly string[]
}

/** A state store with a connection of its own. The first call opens it, or `open()` does. */
export interface OpenableStateStore extends StateStore {
  /** Opens the store and checks its settings. Other calls open it if needed. Rejects if it cannot be used. */
  open(): Promise<void>
}

/** Lifetime in whole milliseconds above 0, or `'never'`. */
export type TimeToLive = number | 'never'

/** Lifetime of a record that is written or touched. */
export interface LifeOptions {
  /** Lifetime in ms; `never` for no expiry. */
  readonly ttlMs: TimeToLive
}

/** Lifetime and search words of a written record. */
export interface WriteOptions extends LifeOptions {
  /** Only for a store with `search`. */
  readonly searchable?: Searchable
}

/** A value with its version and times (epoch milliseconds). */
export interface Versioned {
  readonly version: number
  readonly value: JSONValue
  /** Time of the last change or touch. */
  readonly usedAt: number
  /** Time from which the record is expired. */
  readonly expiresAt: number | 'never'
}

/** Result of a read. A record is `expired` until it is swept. */
export type StateRead =
  | { readonly status: 'found'; readonly value: Versioned }
  | { readonly status: 'missing' }
  | { readonly status: 'expired'; readonly at: number }

/** Result of a compare-and-set. `conflict`: the record has another version. `missing`: there is no live record. */
export type CasResult =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly reason: 'conflict' | 'missing'; readonly current?: Versioned }

/** Prefix and page of the ids to list. */
export interface StateQuery extends PageRequest {
  readonly prefix?: string
}
