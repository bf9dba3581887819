import { createHash } from 'node:crypto'
import type { JSONObject } from '@bowline/llm'
import type { EntryNode, EntryRecord, SessionSettings, StoredEvent } from '../../contract/records.ts'

/** Format of the file. */
export const exportFormat = 1
/** Format of the entries. */
export const entrySchema = 1

// One JSON value per line: a header, entries (parents before children), events if requested, a footer.

export interface ExportHeader {
  readonly type: 'header'
  readonly format: typeof exportFormat
  readonly schemaVersion: typeof entrySchema
  readonly key: string
  readonly agent: string
  /** Id of the entry that ends the active path. */
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
  /** Hex digest of all earlier lines, including their line feeds. */
  readonly sha256: string
}

/** Hashes the lines of a file as they pass. */
export class LineSum {
  readonly #hash = createHash('sha256')

  add(line: string): void {
    this.#hash.update(line).update('\n')
  }

  /** Returns the digest. Must be called once, after the last line. */
  digest(): string {
    return this.#hash.digest('hex')
  }
}
