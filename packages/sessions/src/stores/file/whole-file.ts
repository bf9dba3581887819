import { closeSync, fdatasyncSync, fsync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { privateFile, privateFolder } from '../private-files.ts'

/** Ends the names of files that are being written; they mean nothing. */
export const unfinished = '.tmp'

/** The file has either what it had or all of this, whatever happens meanwhile. Which one is sure once its folder is synced. */
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

/** Makes the folder, and those above it, when they are missing. */
export function makeFolder(folder: string, fsync: boolean): void {
  const first = mkdirSync(folder, { recursive: true, mode: privateFolder })
  if (!fsync || first === undefined) return
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) syncFolder(dirname(made))
}

/** One write, as long as the system takes all of it at once. */
export function writeAll(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
}

/** So that the names of new, renamed and removed files are on the disk. Windows cannot, and need not. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** As `syncFolder`, while other things go on. */
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
