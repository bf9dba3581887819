import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../../errors.ts'
import { sqliteCode, sqliteCodes, storeError } from './sqlite-errors.ts'

/** Long enough for a holder that starts at the same time to write down its process id. */
const waitMs = 300

/**
 * Makes this process the only one that uses the database: an exclusive transaction on `<file>-owner` that stays open.
 * The system ends it when the process dies. Who comes second is told the process id of the holder.
 */
export function takeOwnerLock(file: string): { release(): void } {
  const ownerFile = `${file}-owner`
  const pidFile = `${ownerFile}.pid`
  const owner = new DatabaseSync(ownerFile, { timeout: waitMs })
  try {
    owner.exec('begin exclusive')
    // Only the holder writes it. A lock file would lose the lock when somebody of this process reads and closes it.
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (error) {
    owner.close()
    throw sqliteCode(error) === sqliteCodes.busy ? lockedBy(file, readPid(pidFile)) : storeError(error, ownerFile)
  }
  return {
    release() {
      rmSync(pidFile, { force: true })
      owner.close()
    },
  }
}

function lockedBy(file: string, pid: number | undefined): SessionError {
  const holder = pid === process.pid ? `this process (${pid})` : `process ${pid ?? 'unknown'}`
  return new SessionError('store-locked', `The database ${file} is in use by ${holder}; only one process can open it`)
}

function readPid(pidFile: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(pidFile, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}
