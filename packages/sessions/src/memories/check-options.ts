import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import { configChecks, inputChecks } from '../arguments.ts'
import { checkTimeToLive } from '../contract/check-state.ts'
import { pageOptions } from '../contract/check-query.ts'
import type { PageRequest } from '../contract/paging.ts'
import type { TimeToLive } from '../contract/state-store.ts'
import { SessionError } from '../errors.ts'
import { checkScope } from './scope.ts'
import type { ChangeNoteOptions, MemoriesOptions, MemoryOptions, NewNote, NoteOrigin, ScopeOptions, SearchOptions } from './types.ts'

export const limits = { noteBytes: 65_536, keyCharacters: 200, tags: 16, tagCharacters: 64, searchCharacters: 1_000, found: 100 } as const

const memoriesFields: FieldChecks<MemoriesOptions> = {
  // Checked by `stateStoreOf`.
  store: () => undefined,
  namespace: configChecks.optionalName,
  maxNotes: configChecks.whole(1),
  maxNoteBytes: configChecks.whole(1, limits.noteBytes),
  ttlMs: configChecks.optional((path, value) => checkTimeToLive(value as TimeToLive, path)),
  embed: configChecks.checkFunction,
  clock: configChecks.methods('now'),
  ids: configChecks.methods('next'),
}

export const checkMemoriesOptions = configChecks.record<MemoriesOptions>(memoriesFields)

export const checkMemoryOptions = configChecks.record<MemoryOptions>({
  ...memoriesFields,
  scope: (path, scope) => {
    if (typeof scope !== 'function') checkScope(path, scope, configChecks)
  },
  maxCharacters: configChecks.whole(0),
})

const isKey = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.trim() !== '' &&
  value.isWellFormed() &&
  value.length <= limits.keyCharacters &&
  !/[\p{Cc}\u2028\u2029]/u.test(value)

export const checkNoteKey: ArgumentCheck = (path, value) =>
  inputChecks.checkRequired(path, value, `a text of 1 to ${limits.keyCharacters} characters in one line`, isKey)

const isTag = (value: unknown): boolean => isKey(value) && String(value).length <= limits.tagCharacters

const newNote = inputChecks.record<NewNote>({
  key: inputChecks.optional(checkNoteKey),
  text: (path, value) =>
    inputChecks.checkRequired(path, value, 'a text that is not blank', (given) => typeof given === 'string' && given.trim() !== ''),
  tags: (path, value) => {
    inputChecks.listOf((place, tag) =>
      inputChecks.checkRequired(place, tag, `a text of 1 to ${limits.tagCharacters} characters in one line`, isTag),
    )(path, value)
    if (value !== undefined)
      inputChecks.checkRequired(
        path,
        value,
        `a list of at most ${limits.tags} tags`,
        (given) => (given as readonly unknown[]).length <= limits.tags,
      )
  },
})

/** Checks a note. Throws `entry-too-large` if the text is too long. */
export function checkNote(note: NewNote, maxNoteBytes: number): void {
  newNote('note', note)
  const bytes = Buffer.byteLength(note.text)
  if (bytes <= maxNoteBytes) return
  throw new SessionError(
    'entry-too-large',
    `The text of a note must have at most ${maxNoteBytes} bytes; this one has ${bytes}. Nothing was saved: shorten it, or save several notes.`,
  )
}

export const checkPageQuery = inputChecks.optionalRecord<PageRequest>(pageOptions)

const origin = inputChecks.optionalRecord<NoteOrigin>({
  sessionKey: inputChecks.optionalName,
  runId: inputChecks.optionalName,
  toolCallId: inputChecks.optionalName,
})

export const checkChangeOptions = inputChecks.optionalRecord<ChangeNoteOptions>({
  idempotencyKey: inputChecks.optionalName,
  origin,
  abortSignal: inputChecks.checkSignal,
})

export const checkRemoveOptions = inputChecks.optionalRecord<Pick<ChangeNoteOptions, 'idempotencyKey'>>({
  idempotencyKey: inputChecks.optionalName,
})

export const checkSearchOptions = inputChecks.optionalRecord<SearchOptions>({
  limit: inputChecks.whole(1, limits.found),
  abortSignal: inputChecks.checkSignal,
})

export const checkScopeOptions = inputChecks.optionalRecord<ScopeOptions>({ below: inputChecks.checkBoolean })

export function checkSearchText(path: string, text: unknown): void {
  inputChecks.checkRequired(
    path,
    text,
    `a text of 1 to ${limits.searchCharacters} characters`,
    (given) => typeof given === 'string' && given.trim() !== '' && given.length <= limits.searchCharacters,
  )
}
