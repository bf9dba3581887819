import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { CasResult, StateQuery, StateStore, TimeToLive, Versioned } from '../contract/state-store.ts'
import type { Page } from '../contract/paging.ts'
import { SessionError } from '../errors.ts'
import { fromValue, isMadeBy, toValue } from './note-record.ts'
import type { NoteRecord } from './note-record.ts'
import { noteIdOf, placeOf } from './scope.ts'
import type { MemoryScope, Note } from './types.ts'
import { wordsOf } from './words.ts'

export interface NoteStoreOptions {
  readonly store: StateStore
  readonly space: string
  readonly ttlMs: TimeToLive
}

/** Returns the new record, or undefined to leave the note unchanged. */
export type NoteChange = (current: NoteRecord | undefined) => Promise<NoteRecord | undefined> | NoteRecord | undefined

export type FoundNote = NoteRecord & { readonly note: Note }

const pageLimit = 1_000
/** High enough that this many concurrent writers of one note all succeed. */
const highestTries = 100
/** Time for which a removal is remembered, so that a process that resumes after a crash does not repeat it. */
const removedTtlMs = 7 * 86_400_000

/** Notes as records of a state store: one record per note. Writes by compare-and-set only. */
export class NoteStore {
  readonly #options: NoteStoreOptions

  constructor(options: NoteStoreOptions) {
    this.#options = options
  }

  async read(scope: MemoryScope, key: string): Promise<NoteRecord | undefined> {
    const { store, space } = this.#options
    const read = await store.get(space, noteIdOf(scope, key))
    return read.status === 'found' ? fromValue(read.value.value, scope) : undefined
  }

  /** Compare-and-set with retry. Resolves with the record that is then stored. */
  async change(scope: MemoryScope, key: string, changeKey: string, change: NoteChange): Promise<NoteRecord | undefined> {
    const { store, space } = this.#options
    const id = noteIdOf(scope, key)
    return retryOnConflict(
      async () => {
        const read = await store.get(space, id)
        const current = read.status === 'found' ? fromValue(read.value.value, scope) : undefined
        if (current && isMadeBy(current, changeKey)) return current
        const next = await change(current)
        if (!next) return current
        const result = await this.#write(scope, id, read.status === 'found' ? read.value.version : null, next, changeKey)
        return result.ok ? next : tryAgain
      },
      (tries) => `The note was changed by other writers in each of ${tries} tries. Try again.`,
      highestTries,
    )
  }

  async list(scope: MemoryScope, query: StateQuery): Promise<Page<FoundNote>> {
    const { store, space } = this.#options
    const { items, ...page } = await store.list(space, { ...query, prefix: `${placeOf(scope)}:` })
    return { ...page, items: notesOf(items, scope) }
  }

  /** Returns every note of the scope; with `below`, also those of the narrower scopes. */
  async *all(scope: MemoryScope, below = false): AsyncGenerator<FoundNote> {
    for await (const records of this.#pages(scope, below)) yield* notesOf(records, below ? undefined : scope)
  }

  /** Returns the newest notes first. Without words, returns all. */
  async newest(scope: MemoryScope, words: readonly string[], limit: number): Promise<readonly FoundNote[]> {
    const { store, space } = this.#options
    if (store.search) return notesOf(await store.search.find(space, { group: placeOf(scope), words, limit }), scope)
    const found: FoundNote[] = []
    for await (const each of this.all(scope)) if (words.length === 0 || matches(each, words)) found.push(each)
    return found.sort((left, right) => right.note.updatedAt - left.note.updatedAt).slice(0, limit)
  }

  async count(scope: MemoryScope): Promise<number> {
    const { store, space } = this.#options
    if (store.search) return store.search.count(space, placeOf(scope))
    let notes = 0
    for await (const _note of this.all(scope)) notes++
    return notes
  }

  /** Deletes all records. Resolves with the number of notes among them. */
  async clear(scope: MemoryScope, below: boolean): Promise<number> {
    const { store, space } = this.#options
    let notes = 0
    for await (const records of this.#pages(scope, below)) {
      for (const { id, value } of records) {
        const { ok } = await store.delete(space, id)
        if (ok && isNote(value)) notes++
      }
    }
    return notes
  }

  async *#pages(scope: MemoryScope, below: boolean): AsyncGenerator<readonly (Versioned & { readonly id: string })[]> {
    const { store, space } = this.#options
    const prefix = below ? placeOf(scope) : `${placeOf(scope)}:`
    let page: string | undefined
    do {
      const found = await store.list(space, { prefix, limit: pageLimit, ...(page !== undefined && { page }) })
      yield found.items
      page = found.next
    } while (page !== undefined)
  }

  async #write(scope: MemoryScope, id: string, expected: number | null, record: NoteRecord, changeKey: string): Promise<CasResult> {
    const { store, space, ttlMs } = this.#options
    const { note } = record
    const searchable = note && store.search && { group: placeOf(scope), words: wordsOf(searchedText(note)) }
    try {
      return await store.compareAndSet(space, id, expected, toValue(record), {
        ttlMs: note ? ttlMs : removedTtlMs,
        ...(searchable && { searchable }),
      })
    } catch (error) {
      if (!SessionError.isInstance(error) || error.code !== 'store-unavailable') throw error
      // The write may have been applied, with only the answer lost.
      const read = await store.get(space, id)
      if (read.status !== 'found' || !isMadeBy(fromValue(read.value.value, scope), changeKey)) throw error
      return { ok: true, version: read.value.version }
    }
  }
}

/** Returns the text in which words are searched. */
export function searchedText({ key, text, tags }: Note): string {
  return [key, text, ...tags].join(' ')
}

function matches({ note }: FoundNote, words: readonly string[]): boolean {
  const own = wordsOf(searchedText(note))
  return words.some((start) => own.some((word) => word.startsWith(start)))
}

function notesOf(records: readonly Versioned[], scope: MemoryScope | undefined): readonly FoundNote[] {
  return records.map(({ value }) => fromValue(value, scope)).filter((record): record is FoundNote => record.note !== undefined)
}

function isNote(value: Versioned['value']): boolean {
  return typeof value === 'object' && value !== null && 'text' in value
}
