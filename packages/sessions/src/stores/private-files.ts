import { closeSync, openSync } from 'node:fs'

/** Modes of new files and folders: only the owner may read conversations. Existing ones keep their modes. */
export const privateFile = 0o600
export const privateFolder = 0o700

/**
 * Creates an empty file that only its owner can read. Does not even open an existing file: closing it would release the locks that
 * this process holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', privateFile))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
