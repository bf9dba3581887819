import type { Clock } from '@bowline/llm'
import type { ExtensionContext, IdSource } from '@bowline/agent-loop'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateSearch, StateStore, TimeToLive } from '../contract/state-store.ts'

/**
 * Owner of notes: tenant, user or agent. Each present field must be a text of 1 to 200 bytes, and at least one must be present;
 * a field that is `undefined` is refused. Notes of one scope are invisible in all other scopes: `{ tenant }` does not show
 * notes of `{ tenant, user }`.
 */
export interface MemoryScope {
  readonly tenant?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
}

/** Source of the last change of a note. Unknown fields are absent. */
export interface NoteOrigin {
  readonly sessionKey?: string
  readonly runId?: string
  readonly toolCallId?: string
}

/** A stored note. Times are epoch milliseconds. */
export interface Note {
  readonly scope: MemoryScope
  /** Unique within its scope. */
  readonly key: string
  readonly text: string
  readonly tags: readonly string[]
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly origin: NoteOrigin
}

/** Text, key and tags of a note to save. */
export interface NewNote {
  /** Key of 1 to 200 characters in one line. A note with this key is replaced. Default: derived from the text. */
  readonly key?: string | undefined
  /** Text of the note. Not blank; at most `maxNoteBytes` of UTF-8. */
  readonly text: string
  /** Tags: at most 16, of 1 to 64 characters each. Default: none. */
  readonly tags?: readonly string[] | undefined
}

/** Idempotency key, origin and abort signal of a change of notes. */
export interface ChangeNoteOptions {
  /** A second change of the same note under this key changes nothing. Default: each call is a separate change. */
  readonly idempotencyKey?: string
  /** Source of the change. Default: empty. */
  readonly origin?: NoteOrigin
  /** Cancels the wait for `embed`. */
  readonly abortSignal?: AbortSignal
}

/** Number of results and abort signal of a search. */
export interface SearchOptions {
  /** Highest number of results. Default 10, at most 100. */
  readonly limit?: number
  /** Cancels the wait for `embed`. */
  readonly abortSignal?: AbortSignal
}

/** Whether a call also covers the narrower scopes. */
export interface ScopeOptions {
  /** True: include all narrower scopes, such as the users of a tenant and the agents of a user. Default false. */
  readonly below?: boolean
}

/** Function that returns one vector per text. All vectors must have the same length. */
export type Embed = (texts: readonly string[], options: { readonly abortSignal?: AbortSignal }) => Promise<readonly (readonly number[])[]>

/** Store, limits and lifetime of notes. Only `store` is required. */
export interface MemoriesOptions {
  /** Store of the notes: a state store, or a session store, whose state store is used. The memories do not close it. */
  readonly store: StateStore | SessionStore
  /** Namespace of the notes in the store. Default `memory`. */
  readonly namespace?: string
  /**
   * Highest number of notes per scope. A further note is refused with `store-full`. Concurrent writers may exceed it by one
   * each. Default 500.
   */
  readonly maxNotes?: number
  /**
   * Highest length of the text of a note in bytes of UTF-8. A longer text is refused with `entry-too-large`. Default 4,096, at
   * most 65,536.
   */
  readonly maxNoteBytes?: number
  /** Lifetime of a note in milliseconds after its last change. Default `never`. */
  readonly ttlMs?: TimeToLive
  /** Enables search by vectors in addition to words. Vectors are stored with the notes, one byte per number. Default: words only. */
  readonly embed?: Embed
  /** Clock for the dates of notes. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
  /** Makes ids for changes without an `idempotencyKey`. Default: random ids. */
  readonly ids?: IdSource
}

/** Search methods that the store offers. */
export interface MemoryCapabilities {
  /** Method of word search: an index of the store, or a scan of all notes of the scope. */
  readonly text: StateSearch['kind'] | 'scan'
  /** `scan`: compares the vectors of all notes of the scope. */
  readonly vectors: 'scan' | 'none'
}

/** Notes by scope. Methods throw `invalid-input` for wrong arguments, and the errors of the store. */
export interface Memories {
  readonly capabilities: MemoryCapabilities
  /** Lists the notes of a scope in a stable order. A page may hold fewer notes than its limit. */
  list(scope: MemoryScope, query?: PageRequest): Promise<Page<Note>>
  /** Returns the note, or null if there is none. */
  get(scope: MemoryScope, key: string): Promise<Note | null>
  /** Resolves with the note as it is stored. Throws `entry-too-large` or `store-full`; then nothing has changed. */
  save(scope: MemoryScope, note: NewNote, options?: ChangeNoteOptions): Promise<Note>
  /**
   * Finds notes with a word that begins with a word of the text. Notes with more of these words come first, then newer ones.
   * Ignores case and accents. With `embed`, also finds notes with similar vectors.
   */
  search(scope: MemoryScope, text: string, options?: SearchOptions): Promise<readonly Note[]>
  /** Removes a note. Resolves with false if there was none. */
  remove(scope: MemoryScope, key: string, options?: Omit<ChangeNoteOptions, 'origin' | 'abortSignal'>): Promise<boolean>
  /** Removes all notes of a scope, and the markers of removed ones. Resolves with the number of removed notes. */
  forget(scope: MemoryScope, options?: ScopeOptions): Promise<number>
  /** Returns all notes of a scope, each with its scope. */
  export(scope: MemoryScope, options?: ScopeOptions): AsyncIterable<Note>
}

/** Facts of a turn from which its scope is chosen. */
export interface MemoryTurn extends Pick<ExtensionContext, 'runId' | 'agent' | 'sessionKey' | 'context'> {
  /** The tenant that the session key names: `tenant:<id>:…`. */
  readonly tenant?: string
}

/** Options of `memory`: the scope of a turn, and the length of the section in the prompt. */
export interface MemoryOptions extends MemoriesOptions {
  /**
   * Scope of the notes that a turn sees and changes. A function is called at the start of each segment of a turn, and in each
   * tool call. In a session, its `context` is the metadata of the session. Over HTTP a client chooses the metadata, so trust
   * only the tenant in the key.
   */
  readonly scope: MemoryScope | ((turn: MemoryTurn) => MemoryScope)
  /** Highest length of the section in the system prompt, which shows the newest notes. 0: no section. Default 4,000 characters. */
  readonly maxCharacters?: number
}
