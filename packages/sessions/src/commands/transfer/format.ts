import { createHash } from 'node:crypto'
import type { JSONObject } from '@bowline/llm'
import type { EntryNode, EntryRecord, SessionSettings, StoredEvent } from '../../contract/records.ts'

/** Of the file. */
export const exportFormat = 1
/** Of the entries in it. */
export const entrySchema = 1

// One JSON value per line: a header, entries with parents before their children, events if asked for, a footer.

export interface ExportHeader {
  readonly type: 'header'
  readonly format: typeof exportFormat
  readonly schemaVersion: typeof entrySchema
  readonly key: string
  readonly agent: string
  /** Where the active path ends. */
  readonly leaf: string | null
  readonly metadata: JSONObject
  readonly settings: SessionSettings
}

export interface ExportEntry {
  readonly type: 'entry'
  readonly entry: ExportedEntry
}

export type ExportedEntry = EntryRecord extends infer Entry ? (Entry extends EntryNode ? Omit<Entry, 'n'> : never) : never

export interface ExportEvent {
  readonly type: 'event'
  readonly event: StoredEvent
}

export interface ExportFooter {
  readonly type: 'footer'
  readonly entries: number
  readonly events: number
  /** Hexadecimal, of all lines before this one, each with the line feed behind it. */
  readonly sha256: string
}

/** Sums up the lines of a file as they pass. */
export class LineSum {
  readonly #hash = createHash('sha256')

  add(line: string): void {
    this.#hash.update(line).update('\n')
  }

  /** Once, behind the last line. */
  digest(): string {
    return this.#hash.digest('hex')
  }
}
