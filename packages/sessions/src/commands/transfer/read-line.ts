import type { Compaction, StoredMessage } from '@bowline/agent-loop'
import { repairTranscript } from '@bowline/agent-loop/repair'
import type { JSONObject } from '@bowline/llm'
import { isRecord } from '@bowline/llm/arguments'
import { SessionError } from '../../errors.ts'
import type { NewEntry } from '../../contract/batch.ts'
import type { EntryBody, SessionSettings } from '../../contract/records.ts'
import { isEntryId } from '../../keys.ts'
import { isLabel } from '../tree/labels.ts'
import { settingsOf } from '../settings.ts'
import { entrySchema, exportFormat, type ExportFooter, type ExportHeader } from './format.ts'

type Fields = Readonly<Record<string, unknown>>
export type ImportedEntry = Exclude<NewEntry, { call: unknown }>

export function refuse(line: number, why: string): SessionError {
  return new SessionError('invalid-input', `Line ${line} of the import: ${why}.`, { line })
}

export function readHeader(value: unknown): ExportHeader {
  if (!isRecord(value) || value.type !== 'header') throw refuse(1, 'it is not the header of an export')
  const { format, schemaVersion, key, agent, leaf, metadata = {}, settings = {} } = value
  if (format !== exportFormat) throw refuse(1, `its format is ${JSON.stringify(format)}; only ${exportFormat} is supported`)
  if (typeof schemaVersion !== 'number') throw refuse(1, 'its schemaVersion is missing')
  if (schemaVersion > entrySchema) {
    throw new SessionError(
      'schema-too-new',
      `The file has entries of schema ${schemaVersion}; this version of @bowline/sessions knows ${entrySchema}. Update it.`,
      { line: 1 },
    )
  }
  const isWhole = typeof key === 'string' && typeof agent === 'string' && (leaf === null || typeof leaf === 'string')
  if (!isWhole || !isRecord(metadata) || !isRecord(settings)) throw refuse(1, 'a field of the header is missing or of the wrong kind')
  if ('notify' in settings) throw refuse(1, 'settings.notify is not allowed in an export')
  return { ...value, metadata, settings: readSettings(settings) } as unknown as ExportHeader
}

/** Checks the settings like those of a new session. */
function readSettings(settings: Fields): SessionSettings {
  try {
    return settingsOf('settings', settings)
  } catch (error) {
    if (!SessionError.isInstance(error)) throw error
    throw refuse(1, error.message.replace(/\.$/, ''))
  }
}

export function readFooter({ entries, events, sha256 }: Fields, line: number): Omit<ExportFooter, 'type'> {
  if (typeof entries !== 'number' || typeof events !== 'number' || typeof sha256 !== 'string')
    throw refuse(line, 'a field of the footer is missing')
  return { entries, events, sha256 }
}

/** Parses the fields of an entry. Its place in the tree is checked elsewhere. */
export function readEntry(value: unknown, line: number): ImportedEntry {
  if (!isRecord(value)) throw refuse(line, 'it has no entry')
  const { id, parentId, at } = value
  const isNode = isEntryId(id) && (parentId === null || typeof parentId === 'string') && Number.isFinite(at)
  if (!isNode) throw refuse(line, 'its entry has no id of at most 800 characters, no parentId or no time')
  const body = bodies[String(value.type) as keyof typeof bodies]?.(value)
  if (!body) throw refuse(line, `the entry ${id} has an unknown type, or a field is missing`)
  return { id, parentId, at: at as number, ...body }
}

type Body = EntryBody | { readonly type: 'message'; readonly message: StoredMessage }

const bodies: { readonly [T in Body['type']]: (entry: Fields) => Extract<Body, { type: T }> | undefined } = {
  message: ({ message }) => (isMessage(message) ? { type: 'message', message } : undefined),
  compaction: ({ compaction }) => (isCompaction(compaction) ? { type: 'compaction', compaction } : undefined),
  'branch-summary': ({ summary }) => {
    if (!isRecord(summary)) return undefined
    const { text, fromLeaf, commonAncestor } = summary
    if (typeof text !== 'string' || typeof fromLeaf !== 'string' || !isIdOrNull(commonAncestor)) return undefined
    return { type: 'branch-summary', summary: { text, fromLeaf, commonAncestor } }
  },
  note: ({ text }) => (typeof text === 'string' ? { type: 'note', text } : undefined),
  custom: ({ data }) => (isRecord(data) ? { type: 'custom', data: data as JSONObject } : undefined),
  label: ({ label }) => {
    if (!isRecord(label) || typeof label.entryId !== 'string' || !isLabel(label.text)) return undefined
    return { type: 'label', label: { entryId: label.entryId, text: label.text } }
  },
}

function isIdOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** Checks a message. A result is checked later, together with its answer. */
function isMessage(value: unknown): value is StoredMessage {
  if (!isRecord(value) || typeof value.id !== 'string') return false
  return value.role === 'tool-result' ? typeof value.toolCallId === 'string' : isRight([value as unknown as StoredMessage])
}

/** True if the only faults are missing results. */
export function isRight(messages: readonly StoredMessage[]): boolean {
  return repairTranscript(messages).repairs.every(({ code }) => code === 'missing-result')
}

function isCompaction(value: unknown): value is Compaction {
  if (!isRecord(value)) return false
  const texts = ['compactionId', 'summary', 'firstKeptMessageId', 'source'].every((name) => typeof value[name] === 'string')
  return (
    texts &&
    Number.isFinite(value.tokensBefore) &&
    Number.isFinite(value.tokensAfter) &&
    Array.isArray(value.facts) &&
    isRecord(value.usage)
  )
}
