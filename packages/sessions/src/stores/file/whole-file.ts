import { closeSync, fdatasyncSync, fsync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { privateFile, privateFolder } from '../private-files.ts'

/** Suffix of files that are being written. They have no meaning until they are renamed. */
export const unfinished = '.tmp'

/**
 * Replaces a file atomically: after a crash it has its old content or all of the new. The new content is durable once the folder is
 * synced.
 */
export function writeWhole(path: string, lines: readonly Buffer[], fsync: boolean): void {
  const temporary = `${path}${unfinished}`
  try {
    const descriptor = openSync(temporary, 'w', privateFile)
    try {
      for (const line of lines) writeAll(descriptor, line)
      if (fsync) fdatasyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Creates the folder and its missing parents. */
export function makeFolder(folder: string, fsync: boolean): void {
  const first = mkdirSync(folder, { recursive: true, mode: privateFolder })
  if (!fsync || first === undefined) return
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) syncFolder(dirname(made))
}

/** Writes all bytes: in one write, unless the system takes fewer. */
export function writeAll(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
}

/** Makes the names of new, renamed and removed files durable. Does nothing on Windows, which neither can nor needs to. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Like `syncFolder`, without blocking the process. */
export async function syncFolderAsync(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    await synced(fsync, descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export function synced(sync: (descriptor: number, done: (error: Error | null) => void) => void, descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => sync(descriptor, (error) => (error ? reject(error) : resolve())))
}
