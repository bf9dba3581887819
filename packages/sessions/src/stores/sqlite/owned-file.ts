import { mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { takeOwnerLock } from '../owner-lock.ts'
import { privateFolder } from '../private-files.ts'
import { checkContent, checkHeader } from './check-file.ts'
import { openFile } from './open-file.ts'
import type { ConnectionSettings } from './open-file.ts'

/** A database that this process has locked for itself. */
export interface OwnedFile {
  readonly database: DatabaseSync
  /** Path with links resolved, so that two names of one file share a lock. */
  readonly file: string
  close(): void
}

/** Opens the file and creates it if it is missing. Throws if it is damaged, in use or of another application. */
export function openOwnedFile(name: string, settings: ConnectionSettings): OwnedFile {
  const file = resolveFile(name)
  checkHeader(file)
  const lock = takeOwnerLock({ file: `${file}-owner`, what: `The database ${file}` })
  try {
    // Again under the lock: another process may have created the file in between.
    const isNew = checkHeader(file) === 'new'
    if (!isNew) checkContent(file)
    const database = openFile(file, isNew, settings)
    return {
      database,
      file,
      close() {
        if (database.isOpen) database.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

function resolveFile(name: string): string {
  mkdirSync(dirname(name), { recursive: true, mode: privateFolder })
  const directory = realpathSync(dirname(name))
  const file = join(directory, basename(name))
  try {
    return realpathSync(file)
  } catch {
    // Does not exist yet.
    return file
  }
}
