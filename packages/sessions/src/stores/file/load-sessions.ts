import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileNameOf, isFileName } from './file-names.ts'
import { rowsOf } from './log-record.ts'
import type { LogRecord } from './log-record.ts'
import { dropTornEnd, scanFile } from './scanned-file.ts'
import type { ScannedFile } from './scanned-file.ts'
import { applyRecord, emptyContent } from './session-content.ts'
import type { SessionContent } from './session-content.ts'
import { unfinished } from './whole-file.ts'

export interface LoadedSession {
  readonly path: string
  readonly key: string
  readonly content: SessionContent
  readonly bytes: number
  readonly lines: number
  readonly rows: number
}

/** A session file that cannot be read and is never written to. */
export interface DamagedSession {
  readonly path: string
  readonly line: number
  /** Ids of the runs that its readable lines mention. */
  readonly runIds: readonly string[]
}

export interface LoadedSessions {
  readonly sessions: readonly LoadedSession[]
  readonly damaged: readonly DamagedSession[]
}

/** Reads every session of a folder. Checks the format of all files before it changes any. */
export function loadSessions(folder: string, fsync: boolean): LoadedSessions {
  const names = readdirSync(folder)
  const files = names
    .filter(isFileName)
    .sort()
    .map((name) => scanFile<LogRecord>(join(folder, name)))
  for (const name of names) if (name.endsWith(unfinished)) rmSync(join(folder, name))
  const loaded = files.map((file) => loadFile(file, fsync))
  return {
    sessions: loaded.flatMap((each) => (each && 'content' in each ? each : [])),
    damaged: loaded.flatMap((each) => (each && 'line' in each ? each : [])),
  }
}

function loadFile(file: ScannedFile<LogRecord>, fsync: boolean): LoadedSession | DamagedSession | undefined {
  const { path, records, wholeBytes, bytes } = file
  const whole = records.flatMap((record) => record ?? [])
  const content = emptyContent()
  const line = records.length > 0 ? replay(file, content) : undefined
  if (line !== undefined) return { path, line, runIds: whole.flatMap(runsNamedIn) }
  if (wholeBytes < bytes) dropTornEnd(path, wholeBytes, fsync)
  const [first] = whole
  if (first) return { path, key: first.key, content, bytes: wholeBytes, lines: records.length, rows: sumOfRows(whole) }
  rmSync(path)
  return undefined
}

/** Applies all records. Returns the number of the first invalid line, or undefined if there is none. */
function replay({ path, records, damagedLine }: ScannedFile<LogRecord>, content: SessionContent): number | undefined {
  if (damagedLine !== undefined) return damagedLine
  const key = records[0]?.key ?? ''
  if (fileNameOf(key) !== basename(path)) return 1
  const wrong = records.findIndex((record) => record?.key !== key || !applyRecord(content, record))
  return wrong === -1 ? undefined : wrong + 1
}

function sumOfRows(records: readonly LogRecord[]): number {
  return records.reduce((sum, record) => sum + rowsOf(record), 0)
}

function runsNamedIn({ rows = [] }: LogRecord): string[] {
  return rows.flatMap(([table, key]) => (table === 'runs' ? String(key) : []))
}
