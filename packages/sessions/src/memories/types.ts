import type { Clock } from '@bowline/llm'
import type { ExtensionContext, IdSource } from '@bowline/agent-loop'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateSearch, StateStore, TimeToLive } from '../contract/state-store.ts'

/**
 * Owner of notes: tenant, user or agent. Each present field must be a text of 1 to 200 bytes, and at least one must be
 * present; a field that is `undefined` is refused. Notes of one scope are invisible from every other scope: `{ tenant }` does
 * not show those of `{ tenant, user }`.
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
  /** Unique in its scope. */
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
  /** 1 to 200 characters in one line. A note that has the key is replaced. Default: one that is made from the text. */
  readonly key?: string | undefined
  /** Not blank. At most `maxNoteBytes` of UTF-8. */
  readonly text: string
  /** At most 16, of 1 to 64 characters each. Default: none. */
  readonly tags?: readonly string[] | undefined
}

/** Idempotency key, origin and abort signal of a change of notes. */
export interface ChangeNoteOptions {
  /** A second change of the same note under this key changes nothing. Default: every call is a change of its own. */
  readonly idempotencyKey?: string
  /** Default: an empty one. */
  readonly origin?: NoteOrigin
  /** Ends the wait for `embed`. */
  readonly abortSignal?: AbortSignal
}

/** Number of results and abort signal of a search. */
export interface SearchOptions {
  /** Default 10, at most 100. */
  readonly limit?: number
  /** Ends the wait for `embed`. */
  readonly abortSignal?: AbortSignal
}

/** Whether a call also covers the narrower scopes. */
export interface ScopeOptions {
  /** Also every scope below: the users of a tenant, the agents of a user. Default false. */
  readonly below?: boolean
}

/** Function that returns one vector per text. All vectors must have the same length. */
export type Embed = (texts: readonly string[], options: { readonly abortSignal?: AbortSignal }) => Promise<readonly (readonly number[])[]>

/** Store, limits and lifetime of notes. Only `store` is required. */
export interface MemoriesOptions {
  /** Store of the notes: a state store, or a session store, whose state store is used. It is not closed by this. */
  readonly store: StateStore | SessionStore
  /** The space of the notes in the store. Default `memory`. */
  readonly namespace?: string
  /** A new note beyond these is refused with `store-full`. Writers at the same time may exceed it by one each. Default 500. */
  readonly maxNotes?: number
  /** UTF-8 bytes of the text of a note; a longer one is refused with `entry-too-large`. Default 4,096, at most 65,536. */
  readonly maxNoteBytes?: number
  /** Lifetime of a note in milliseconds after its last change. Default `never`. */
  readonly ttlMs?: TimeToLive
  /** With it `search` compares vectors too. They are stored with the notes, in one byte per number. Default: words alone. */
  readonly embed?: Embed
  /** Clock for the dates of notes. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
  /** Names changes that have no `idempotencyKey`. Default: random ids. */
  readonly ids?: IdSource
}

/** Search methods that the store offers. */
export interface MemoryCapabilities {
  /** How words are found: by an index of the store, or by a look at each note of the scope. */
  readonly text: StateSearch['kind'] | 'scan'
  /** `scan`: the vectors of all notes of the scope are compared. */
  readonly vectors: 'scan' | 'none'
}

/** Notes by scope. Methods throw `invalid-input` for wrong arguments, and the errors of the store. */
export interface Memories {
  readonly capabilities: MemoryCapabilities
  /** The notes of a scope in an order that stays the same. A page may hold fewer notes than its limit. */
  list(scope: MemoryScope, query?: PageRequest): Promise<Page<Note>>
  /** Null if there is none. */
  get(scope: MemoryScope, key: string): Promise<Note | null>
  /** Resolves with the note as it is stored. Throws `entry-too-large` or `store-full`, and then nothing has changed. */
  save(scope: MemoryScope, note: NewNote, options?: ChangeNoteOptions): Promise<Note>
  /**
   * Notes that have a word which begins with a word of the text; the most such words first, then the newest. Case and accents do not
   * matter. With `embed`, the nearest notes too.
   */
  search(scope: MemoryScope, text: string, options?: SearchOptions): Promise<readonly Note[]>
  /** False if there was none. */
  remove(scope: MemoryScope, key: string, options?: Omit<ChangeNoteOptions, 'origin' | 'abortSignal'>): Promise<boolean>
  /** Removes all notes of a scope, and the records of removed ones. Resolves with the number of removed notes. */
  forget(scope: MemoryScope, options?: ScopeOptions): Promise<number>
  /** All notes of a scope, each with its scope. */
  export(scope: MemoryScope, options?: ScopeOptions): AsyncIterable<Note>
}

/** Facts of a turn from which a scope is chosen. */
export interface MemoryTurn extends Pick<ExtensionContext, 'runId' | 'agent' | 'sessionKey' | 'context'> {
  /** The tenant that the session key names: `tenant:<id>:…`. */
  readonly tenant?: string
}

/** Options of `memory`: the scope of a turn, and the space that notes take in the prompt. */
export interface MemoryOptions extends MemoriesOptions {
  /**
   * Whose notes a turn sees and changes. A function is asked at the start of each segment of a turn, and in each call of a tool. In a
   * session its `context` is the metadata of the session: over HTTP a client chooses that, so trust the tenant of the key alone.
   */
  readonly scope: MemoryScope | ((turn: MemoryTurn) => MemoryScope)
  /** The most that the notes take in the system prompt; the newest are shown. 0: they are not in the prompt. Default 4,000. */
  readonly maxCharacters?: number
}
