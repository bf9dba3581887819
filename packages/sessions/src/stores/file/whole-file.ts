import {
  closeSync,
  copyFileSync,
  fdatasync,
  fdatasyncSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { privateFile, privateFolder } from '../private-files.ts'

/** Suffix of files that are being written. They have no meaning until they are renamed. */
export const unfinished = '.tmp'

/**
 * Replaces a file atomically: after a crash it has its old content or all of the new. The new content is durable once the folder is
 * synced.
 */
export function writeWhole(path: string, lines: readonly Buffer[], isSynced: boolean): void {
  const temporary = `${path}${unfinished}`
  try {
    withOpen(temporary, 'w', (descriptor) => {
      for (const line of lines) writeAll(descriptor, line)
      if (isSynced) fdatasyncSync(descriptor)
    })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Cuts off the end of a file, so that the next line does not join it. Keeps a copy of the file as `.bak`. */
export function dropEnd(path: string, keptBytes: number, isSynced: boolean): void {
  const copy = `${path}.bak`
  copyFileSync(path, `${copy}${unfinished}`)
  if (isSynced) syncFile(`${copy}${unfinished}`)
  renameSync(`${copy}${unfinished}`, copy)
  if (isSynced) syncFolder(dirname(path))
  truncateSync(path, keptBytes)
  if (isSynced) syncFile(path)
}

/** Creates the folder and its missing parents. */
export function makeFolder(folder: string, isSynced: boolean): void {
  const first = mkdirSync(folder, { recursive: true, mode: privateFolder })
  if (!isSynced || first === undefined) return
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) syncFolder(dirname(made))
}

/** Appends all bytes: in one write, unless the system takes fewer. Creates the file if it is missing. */
export function appendAll(path: string, bytes: Buffer): void {
  withOpen(path, 'a', (descriptor) => writeAll(descriptor, bytes))
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
}

export function syncFile(path: string): void {
  withOpen(path, 'r+', fdatasyncSync)
}

/** Makes the names of new, renamed and removed files durable. Does nothing on Windows, which neither can nor needs to. */
export function syncFolder(folder: string): void {
  if (process.platform !== 'win32') withOpen(folder, 'r', fsyncSync)
}

/** Like `syncFile`, without blocking the process. */
export async function syncFileAsync(path: string): Promise<void> {
  await withOpenAsync(path, 'r+', fdatasync)
}

/** Like `syncFolder`, without blocking the process. */
export async function syncFolderAsync(folder: string): Promise<void> {
  if (process.platform !== 'win32') await withOpenAsync(folder, 'r', fsync)
}

function withOpen(path: string, flags: string, work: (descriptor: number) => void): void {
  const descriptor = openSync(path, flags, privateFile)
  try {
    work(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

type AsyncWork = (descriptor: number, done: (error: Error | null) => void) => void

async function withOpenAsync(path: string, flags: string, work: AsyncWork): Promise<void> {
  const descriptor = openSync(path, flags, privateFile)
  try {
    await new Promise<void>((resolved, reject) => work(descriptor, (error) => (error ? reject(error) : resolved())))
  } finally {
    closeSync(descriptor)
  }
}
