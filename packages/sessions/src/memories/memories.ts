import { systemIds } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { checkPlace } from '../contract/check-state.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import { SessionError } from '../errors.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import {
  checkChangeOptions,
  checkMemoriesOptions,
  checkNote,
  checkNoteKey,
  checkPageQuery,
  checkRemoveOptions,
  checkScopeOptions,
  checkSearchOptions,
  checkSearchText,
} from './check-options.ts'
import { changesWith, isMadeBy } from './note-record.ts'
import type { NoteRecord } from './note-record.ts'
import { NoteStore, searchedText } from './note-store.ts'
import type { FoundNote } from './note-store.ts'
import { checkScope, hashOf, nameScope } from './scope.ts'
import type {
  ChangeNoteOptions,
  Memories,
  MemoriesOptions,
  MemoryCapabilities,
  MemoryScope,
  NewNote,
  Note,
  ScopeOptions,
  SearchOptions,
} from './types.ts'
import { printVector, similarity, vectorOf } from './vectors.ts'
import { countMatches, wordsOf } from './words.ts'

/** Creates access to the notes in a state store, for pages that show, export or remove them. Does no I/O. Throws `invalid-config`. */
export function createMemories(options: MemoriesOptions): Memories {
  checkMemoriesOptions('createMemories.options', options)
  return new NoteMemories(options)
}

/** Highest number of candidates of a search. With the default `maxNotes` these are all notes of a scope. */
const mostCandidates = 1_000

/** The caller must have checked `options`. */
export class NoteMemories implements Memories {
  readonly capabilities: MemoryCapabilities
  readonly #options: Required<Pick<MemoriesOptions, 'maxNotes' | 'maxNoteBytes' | 'clock' | 'ids'>> & Pick<MemoriesOptions, 'embed'>
  readonly #notes: NoteStore

  constructor(options: MemoriesOptions) {
    const {
      namespace: space = 'memory',
      maxNotes = 500,
      maxNoteBytes = 4_096,
      ttlMs = 'never',
      embed,
      clock = systemClock,
      ids = systemIds,
    } = options
    const store = stateStoreOf(options.store)
    checkPlace(space, 'any')
    this.#options = { maxNotes, maxNoteBytes, clock, ids, ...(embed && { embed }) }
    this.#notes = new NoteStore({ store, space, ttlMs })
    this.capabilities = { text: embed ? 'scan' : (store.search?.kind ?? 'scan'), vectors: embed ? 'scan' : 'none' }
  }

  async list(scope: MemoryScope, query: PageRequest = {}): Promise<Page<Note>> {
    checkScope('scope', scope)
    checkPageQuery('list.options', query)
    const { items, ...page } = await this.#notes.list(scope, query)
    return { ...page, items: items.map(({ note }) => note) }
  }

  async get(scope: MemoryScope, key: string): Promise<Note | null> {
    checkScope('scope', scope)
    checkNoteKey('key', key)
    return (await this.#notes.read(scope, key))?.note ?? null
  }

  async save(scope: MemoryScope, given: NewNote, options: ChangeNoteOptions = {}): Promise<Note> {
    checkScope('scope', scope)
    checkNote(given, this.#options.maxNoteBytes)
    checkChangeOptions('save.options', options)
    const note = this.#noteOf(scope, given, options)
    const changeKey = options.idempotencyKey ?? this.#options.ids.next('change')
    const vector = await this.#vectorOf(searchedText(note), options.abortSignal)
    const record = await this.#notes.change(scope, note.key, changeKey, async (current) => {
      if (!current?.note) await this.#checkRoom(scope)
      const createdAt = current?.note?.createdAt ?? note.createdAt
      return { note: { ...note, createdAt }, changes: changesWith(current, changeKey), ...(vector && { vector: printVector(vector) }) }
    })
    // If this is a repeat, a later change may have removed the note.
    return record?.note ?? note
  }

  async search(scope: MemoryScope, text: string, options: SearchOptions = {}): Promise<readonly Note[]> {
    checkScope('scope', scope)
    checkSearchText('text', text)
    checkSearchOptions('search.options', options)
    const words = wordsOf(text)
    const vector = await this.#vectorOf(text, options.abortSignal)
    if (words.length === 0 && !vector) return []
    const candidates = await this.#notes.newest(scope, vector ? [] : words, mostCandidates)
    const score = (found: FoundNote): number =>
      (words.length === 0 ? 0 : countMatches(searchedText(found.note), words) / words.length) +
      (vector && found.vector !== undefined ? Math.max(0, similarity(vector, found.vector)) : 0)
    return candidates
      .map((found) => ({ found, score: score(found) }))
      .filter((each) => each.score > 0)
      .sort((left, right) => right.score - left.score)
      .slice(0, options.limit ?? 10)
      .map(({ found }) => found.note)
  }

  async remove(scope: MemoryScope, key: string, options: Pick<ChangeNoteOptions, 'idempotencyKey'> = {}): Promise<boolean> {
    checkScope('scope', scope)
    checkNoteKey('key', key)
    checkRemoveOptions('remove.options', options)
    const changeKey = options.idempotencyKey ?? this.#options.ids.next('change')
    const record = await this.#notes.change(
      scope,
      key,
      changeKey,
      (current): NoteRecord | undefined => current?.note && { changes: changesWith(current, changeKey) },
    )
    return record !== undefined && isMadeBy(record, changeKey)
  }

  async forget(scope: MemoryScope, options: ScopeOptions = {}): Promise<number> {
    checkScope('scope', scope)
    checkScopeOptions('forget.options', options)
    return this.#notes.clear(scope, options.below ?? false)
  }

  export(scope: MemoryScope, options: ScopeOptions = {}): AsyncIterable<Note> {
    checkScope('scope', scope)
    checkScopeOptions('export.options', options)
    return notesIn(this.#notes.all(scope, options.below))
  }

  /** Returns the newest notes for the prompt, newest first. */
  async newest(scope: MemoryScope, limit: number): Promise<readonly Note[]> {
    return (await this.#notes.newest(scope, [], limit)).map(({ note }) => note)
  }

  #noteOf(scope: MemoryScope, { key, text, tags = [] }: NewNote, { origin = {} }: ChangeNoteOptions): Note {
    const now = this.#options.clock.now()
    // The default key is derived from the text, so that the same text is always the same note.
    return {
      scope: { ...scope },
      key: key ?? `note-${hashOf(text).slice(0, 12)}`,
      text,
      tags: [...tags],
      createdAt: now,
      updatedAt: now,
      origin: { ...origin },
    }
  }

  async #checkRoom(scope: MemoryScope): Promise<void> {
    const { maxNotes } = this.#options
    if ((await this.#notes.count(scope)) < maxNotes) return
    throw new SessionError(
      'store-full',
      `There are ${maxNotes} notes in ${nameScope(scope)} already, which is the limit. Nothing was saved: remove notes, or save under the key of one.`,
    )
  }

  async #vectorOf(text: string, abortSignal: AbortSignal | undefined): Promise<Int8Array | undefined> {
    const { embed } = this.#options
    return embed && vectorOf(embed, text.toWellFormed(), abortSignal)
  }
}

async function* notesIn(found: AsyncIterable<FoundNote>): AsyncGenerator<Note> {
  for await (const { note } of found) yield note
}
