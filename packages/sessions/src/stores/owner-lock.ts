import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../errors.ts'
import { makePrivateFile, privateFile } from './private-files.ts'
import { sqliteCode, sqliteCodes, storeError } from './sqlite/sqlite-errors.ts'

/** Long enough for a holder that starts at the same time to write down its process id. */
const waitMs = 300

export interface OwnerLock {
  /** Made when it is missing; beside it stands the process id of the holder. */
  readonly file: string
  /** What is locked, at the beginning of a sentence. */
  readonly what: string
}

/**
 * Makes this process the only one that uses something: an exclusive transaction on a database that stays open. The
 * system ends it when the process dies. Who comes second is told the process id of the holder.
 */
export function takeOwnerLock({ file, what }: OwnerLock): { release(): void } {
  const pidFile = `${file}.pid`
  makePrivateFile(file)
  const owner = new DatabaseSync(file, { timeout: waitMs })
  try {
    owner.exec('begin exclusive')
    // Only the holder writes it. A lock file would lose the lock when somebody of this process reads and closes it.
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
  return new SessionError('store-locked', `${what} is in use by ${holder}; only one process can open it`)
}

function readPid(pidFile: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(pidFile, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}
