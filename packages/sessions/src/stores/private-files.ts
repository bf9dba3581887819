import { closeSync, openSync } from 'node:fs'

/** Only the owner of the process may read conversations. Folders and files that exist keep their rights. */
export const privateFile = 0o600
export const privateFolder = 0o700

/**
 * Makes an empty file that only its owner can read. A file that exists is not even opened: closing it would release the
 * locks that this process holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', privateFile))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
