import type { JSONValue } from '@bowline/llm'
import type { Page, PageRequest } from './paging.ts'

/**
 * Small versioned records with a time to live, by space and id. Every value given or taken must be a copy. A version must
 * never be used twice for an id, also after its record was deleted or has expired. A store that cannot answer must throw
 * `store-unavailable`, never look empty; then the outcome of a write is unknown until it is read.
 */
export interface StateStore {
  /** A pure read: must change nothing, not even when the record expires. */
  get(space: string, id: string): Promise<StateRead>
  /**
   * Writes when the record has the version `expected`, or, with null, when there is none; else must change nothing. A
   * record lives `ttlMs` from its last change or touch, to the millisecond.
   */
  compareAndSet(space: string, id: string, expected: number | null, value: JSONValue, options: WriteOptions): Promise<CasResult>
  /** Starts the life of the record anew. False when there is none: it must not bring one back. */
  touch(space: string, id: string, ttlMs: TimeToLive): Promise<boolean>
  /** `ok` with the version that is gone. With `expected` a record of another version stays. */
  delete(space: string, id: string, expected?: number): Promise<CasResult>
  /** Records that live, in order of the UTF-8 bytes of their ids. */
  list(space: string, query: StateQuery): Promise<Page<Versioned & { readonly id: string }>>
  /** Removes up to `limit` expired records of any space, and gives their number. */
  sweep(limit: number): Promise<number>
  /** The store of a session store is closed with that, and not by this. */
  close(): Promise<void>
  /** Only in a store that has an index of words. Without it callers look through `list`, and `searchable` must be left out. */
  readonly search?: StateSearch
}

/** Finds records by their words. It must see what was written before, and must show nothing of a record that is gone. */
export interface StateSearch {
  readonly kind: 'fts5' | 'tsvector'
  /** Live records of the group in which a word begins with one of `words`, newest change or touch first. Without words: all of the group. */
  find(space: string, query: SearchQuery): Promise<readonly (Versioned & { readonly id: string })[]>
  /** How many live records the group has. */
  count(space: string, group: string): Promise<number>
}

export interface SearchQuery {
  readonly group: string
  /** As in `Searchable`. */
  readonly words: readonly string[]
  /** At most 1,000. */
  readonly limit: number
}

/** By what a record is found. A write without it makes the record one that `search` does not find. */
export interface Searchable {
  /** Records of different groups are found apart. Any text that an id may be. */
  readonly group: string
  /** Each of 1 to 64 characters: letters and digits in lower case. They are matched as they are. */
  readonly words: readonly string[]
}

/** A state store with a connection or database of its own, which is opened at its first call, or before. */
export interface OpenableStateStore extends StateStore {
  /** Opens it and checks its settings. Every call does that if needed. Rejects if it cannot be used. */
  open(): Promise<void>
}

/** Milliseconds, whole and above 0. */
export type TimeToLive = number | 'never'

export interface LifeOptions {
  /** How long the record lives, in milliseconds; `never` for no expiry. */
  readonly ttlMs: TimeToLive
}

export interface WriteOptions extends LifeOptions {
  /** Only for a store with `search`. */
  readonly searchable?: Searchable
}

export interface Versioned {
  readonly version: number
  readonly value: JSONValue
  /** When it was changed or touched last. */
  readonly usedAt: number
  /** From then on it does not live any more. */
  readonly expiresAt: number | 'never'
}

/** `expired` until it is swept. */
export type StateRead =
  | { readonly status: 'found'; readonly value: Versioned }
  | { readonly status: 'missing' }
  | { readonly status: 'expired'; readonly at: number }

/** `conflict`: there is one, of another version. `missing`: there is none that lives. */
export type CasResult =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly reason: 'conflict' | 'missing'; readonly current?: Versioned }

export interface StateQuery extends PageRequest {
  readonly prefix?: string
}
