import type { JSONObject, JSONValue } from '@bowline/llm'
import { describeValue, isRecord } from '@bowline/llm/arguments'
import { SessionError } from '../errors.ts'
import { hashOf, isSameScope } from './scope.ts'
import type { MemoryScope, Note } from './types.ts'

/** A record as it is stored: a note, or a marker of a removed one. */
export interface NoteRecord {
  /** Undefined: the note was removed. */
  readonly note?: Note
  /** Hashes of the keys of the newest changes, oldest first. They identify repeated changes. */
  readonly changes: readonly string[]
  readonly vector?: string
}

const format = 1
const changesKept = 32

export function isMadeBy({ changes }: NoteRecord, changeKey: string): boolean {
  return changes.includes(hashOf(changeKey))
}

export function changesWith(before: NoteRecord | undefined, changeKey: string): readonly string[] {
  return [...(before?.changes ?? []), hashOf(changeKey)].slice(-changesKept)
}

export function toValue({ note, changes, vector }: NoteRecord): JSONObject {
  return JSON.parse(JSON.stringify({ format, ...note, changes, ...(vector !== undefined && { vector }) })) as JSONObject
}

/** Reads a stored note. Throws `store-corrupt` if it is not a note, or is a note of another scope. */
export function fromValue(value: JSONValue, scope?: MemoryScope): NoteRecord {
  if (!isRecord(value) || !Array.isArray(value['changes'])) throw corrupt('it is not a note')
  if (value['format'] !== format)
    throw new SessionError(
      'schema-too-new',
      `A note has the format ${describeValue(value['format'])}; this version of @bowline/sessions knows ${format}. Update it.`,
    )
  const {
    format: _format,
    changes,
    vector,
    ...note
  } = value as unknown as Note & Pick<NoteRecord, 'changes' | 'vector'> & { readonly format: number }
  if (!('text' in note)) return { changes }
  if (scope && !isSameScope(note.scope, scope)) throw corrupt('it is of another scope')
  return { note, changes, ...(vector !== undefined && { vector }) }
}

function corrupt(why: string): SessionError {
  return new SessionError('store-corrupt', `A note cannot be read: ${why}. forget() removes all notes of its scope.`)
}
