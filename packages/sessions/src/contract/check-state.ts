import { describeValue } from '@bowline/llm/arguments'
import { inputChecks, longestMs } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { checkJson } from '../json.ts'
import type { Searchable, SearchQuery, TimeToLive } from './state-store.ts'

const maxBytes = 1024

/** Accepts any text that every store can keep as a space or an id. */
export function checkPlace(space: string, id: string): void {
  checkText('space', space)
  checkText('id', id)
}

function checkText(what: string, text: unknown): void {
  if (typeof text !== 'string' || text === '') {
    throw new SessionError(
      'invalid-key',
      `The ${what} of a state record must be a text with at least one character; received ${describeValue(text)}.`,
    )
  }
  if (!text.isWellFormed() || text.includes('\0'))
    throw new SessionError('invalid-key', `The ${what} of a state record must be well-formed Unicode without NUL characters.`)
  if (new TextEncoder().encode(text).length > maxBytes)
    throw new SessionError('invalid-key', `The ${what} of a state record must have at most ${maxBytes} bytes.`)
}

/** Throws `invalid-config` unless the value is a time to live of a record. */
export function checkTimeToLive(ttlMs: TimeToLive, source = 'ttlMs'): void {
  if (ttlMs === 'never' || (Number.isSafeInteger(ttlMs) && ttlMs > 0 && ttlMs <= longestMs)) return
  throw new SessionError(
    'invalid-config',
    `${source} must be 'never' or a whole number of milliseconds from 1 to ${longestMs}; received ${describeValue(ttlMs)}.`,
  )
}

const isWord = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= 64 && value === value.toLowerCase() && /^[\p{L}\p{N}]+$/u.test(value)

const checkWords = inputChecks.requiredList((path, word) =>
  inputChecks.checkRequired(path, word, 'a word of 1 to 64 letters and digits in lower case', isWord),
)

/** Throws for words that a word index cannot store. */
export const checkSearchable = inputChecks.optionalRecord<Searchable>({
  group: (_path, group) => checkText('group', group),
  words: checkWords,
})

export const checkSearchQuery = inputChecks.record<SearchQuery>({
  group: (_path, group) => checkText('group', group),
  words: checkWords,
  limit: inputChecks.required(inputChecks.whole(1, 1_000)),
})

/** Returns the first text after all texts with the prefix. Returns undefined if there is none. */
export function behindPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

/** Returns the value as it is stored. Throws if it cannot be stored. */
export function textOfValue(value: unknown, maxRecordBytes: number): string {
  checkJson(value, 'value')
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxRecordBytes) return text
  throw new SessionError(
    'entry-too-large',
    `A state record must have at most ${maxRecordBytes} bytes; this one has ${bytes}. Store less of it.`,
  )
}
