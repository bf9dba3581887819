import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../errors.ts'
import { makePrivateFile, privateFile } from './private-files.ts'
import { sqliteCode, sqliteCodes, storeError } from './sqlite/sqlite-errors.ts'

/** Wait in ms: long enough for a holder that starts at the same time to write its process id. */
const waitMs = 300

export interface OwnerLock {
  /** Created if missing. The process id of the holder is in a file next to it. */
  readonly file: string
  /** Locked resource, as the subject at the start of a sentence. */
  readonly what: string
}

/**
 * Locks a resource for this process with an exclusive transaction on a database that stays open. The system ends the transaction if
 * the process dies. A second process gets an error with the process id of the holder.
 */
export function takeOwnerLock({ file, what }: OwnerLock): { release(): void } {
  const pidFile = `${file}.pid`
  makePrivateFile(file)
  const owner = new DatabaseSync(file, { timeout: waitMs })
  try {
    owner.exec('begin exclusive')
    // Written by the holder only. It is not in the lock file: this process would lose the lock if it read and closed that file.
    writeFileSync(pidFile, `${process.pid}\n`, { mode: privateFile })
  } catch (error) {
    owner.close()
    throw sqliteCode(error) === sqliteCodes.busy ? lockedBy(what, readPid(pidFile)) : storeError(error, file)
  }
  return {
    release() {
      rmSync(pidFile, { force: true })
      owner.close()
    },
  }
}

function lockedBy(what: string, pid: number | undefined): SessionError {
  const holder = pid === process.pid ? `this process (${pid})` : `process ${pid ?? 'unknown'}`
  return new SessionError('store-locked', `${what} is in use by ${holder}; only one process can open it. Close it there first`)
}

function readPid(pidFile: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(pidFile, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}
