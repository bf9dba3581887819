import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../../errors.ts'
import { checkSchemaVersion, hasTables } from './schema.ts'
import { storeError } from './sqlite-errors.ts'

/** Marks a SQLite file as one of this package ("bwln"). */
export const applicationId = 0x62776c6e

const headerBytes = 100
const magic = 'SQLite format 3\0'
const applicationIdOffset = 68

/** Reads the first bytes only: a file of another application is left unchanged, and no file is created next to it. */
export function checkHeader(file: string): 'new' | 'known' {
  if (sizeOf(file) === 0) {
    if (sizeOf(`${file}-wal`) > 0) throw corrupt(file, 'is missing, but its write-ahead log exists')
    return 'new'
  }
  const header = Buffer.alloc(headerBytes)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, header, 0, headerBytes, 0)
  } finally {
    closeSync(descriptor)
  }
  if (header.toString('latin1', 0, magic.length) !== magic) throw corrupt(file, 'is not a SQLite database')
  if (header.readUInt32BE(applicationIdOffset) !== applicationId) throw corrupt(file, 'belongs to another application')
  return 'known'
}

/**
 * Checks the content through a read-only connection. If the file is refused, deletes the files that this connection created. Checks
 * every page after an unclean shutdown.
 */
export function checkContent(file: string): void {
  const unclean = sizeOf(`${file}-wal`) > 0
  const beside = [`${file}-wal`, `${file}-shm`]
  const fresh = beside.filter((name) => !existsSync(name))
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      if (unclean) checkPages(database, file)
      checkTables(database, file)
    } finally {
      database.close()
    }
  } catch (error) {
    for (const name of fresh) rmSync(name, { force: true })
    throw storeError(error, file)
  }
}

function checkPages(database: DatabaseSync, file: string): void {
  const result = Object.values(database.prepare('pragma quick_check(1)').get() ?? {})
  if (result[0] !== 'ok') throw corrupt(file, 'is damaged')
}

function checkTables(database: DatabaseSync, file: string): void {
  if (!hasTables(database)) return
  if (!database.prepare("select 1 from sqlite_schema where type = 'table' and name = 'meta'").get()) {
    throw corrupt(file, 'has tables of another application')
  }
  checkSchemaVersion(database, file)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function corrupt(file: string, what: string): SessionError {
  return new SessionError('store-corrupt', `The database ${file} ${what}; it was not changed. Restore a backup, or choose another file`)
}
