import { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../../errors.ts'
import { makePrivateFile } from '../private-files.ts'
import { applicationId } from './check-file.ts'

export interface ConnectionSettings {
  readonly synchronous: 'full' | 'normal'
  readonly busyTimeoutMs: number
}

/** Page size. A commit writes about a dozen whole pages, most for a few bytes. */
const pageBytes = 2048
/** Length of the write-ahead log at a checkpoint: 4 MiB, which takes some milliseconds. */
const checkpointPages = 2048

const synchronousLevels = { normal: 1, full: 2 } as const

export function openFile(file: string, isNew: boolean, settings: ConnectionSettings): DatabaseSync {
  // SQLite creates its log and index with the mode of the file.
  if (isNew) makePrivateFile(file)
  const database = new DatabaseSync(file)
  try {
    // Before the write-ahead log exists: the id must be in the file itself.
    if (isNew) database.exec(`pragma page_size = ${pageBytes}; pragma application_id = ${applicationId}`)
    applySettings(database, file, settings)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Applies settings and reads each back: SQLite answers a setting that it cannot apply with the old value, not with an error. */
export function applySettings(database: DatabaseSync, file: string, settings: ConnectionSettings): void {
  const { synchronous, busyTimeoutMs } = settings
  const wanted = [
    ['busy_timeout', busyTimeoutMs],
    ['journal_mode', 'wal'],
    ['synchronous', synchronousLevels[synchronous]],
    ['foreign_keys', 1],
    ['wal_autocheckpoint', checkpointPages],
  ] as const
  for (const [name, value] of wanted) {
    database.exec(`pragma ${name} = ${value}`)
    const [actual] = Object.values(database.prepare(`pragma ${name}`).get() ?? {})
    if (actual !== value) {
      throw new SessionError(
        'invalid-config',
        `The database ${file} does not accept the pragma ${name} = ${value}; its value stays ${String(actual)}`,
      )
    }
  }
}
