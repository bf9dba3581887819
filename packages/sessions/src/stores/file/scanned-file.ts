import { closeSync, copyFileSync, fdatasyncSync, openSync, readFileSync, renameSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { SessionError } from '../../errors.ts'
import { scanLines } from './log-line.ts'
import type { ScannedLines } from './log-line.ts'
import { newestFormat } from './log-record.ts'
import { syncFolder, unfinished } from './whole-file.ts'

/** Content of a file of lines. */
export interface ScannedFile<R> extends ScannedLines {
  readonly path: string
  readonly bytes: number
  readonly records: readonly (R | undefined)[]
}

/** Reads a file without changing it. Throws if its format is not supported. */
export function scanFile<R extends { readonly format: number }>(path: string): ScannedFile<R> {
  const bytes = readFileSync(path)
  const scanned = scanLines(bytes)
  const records = scanned.records as readonly (R | undefined)[]
  const newer = records.find((record) => record && record.format > newestFormat)
  if (newer)
    throw new SessionError(
      'schema-too-new',
      `${path} has format ${newer.format}; this version of @bowline/sessions reads ${newestFormat}. It was not changed; update the package`,
    )
  return { ...scanned, path, bytes: bytes.length, records }
}

/** Cuts off a torn last line, so that the next line does not join it. Keeps a copy of the file as `.bak`. */
export function dropTornEnd(path: string, wholeBytes: number, fsync: boolean): void {
  const copy = `${path}.bak`
  copyFileSync(path, `${copy}${unfinished}`)
  if (fsync) syncFile(`${copy}${unfinished}`)
  renameSync(`${copy}${unfinished}`, copy)
  if (fsync) syncFolder(dirname(path))
  truncateSync(path, wholeBytes)
  if (fsync) syncFile(path)
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+')
  try {
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
