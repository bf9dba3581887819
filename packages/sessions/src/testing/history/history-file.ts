import { closeSync, openSync, writeSync } from 'node:fs'
import { checkPath } from '../check-options.ts'

/** Where one process keeps its part of a history. */
export interface HistoryFile {
  write(line: string): void
  close(): void
}

/** Opens a file for the lines of one process. Each line is written before `write` returns, so that `kill -9` loses none. */
export function historyFile(path: string): HistoryFile {
  checkPath('path', path)
  const file = openSync(path, 'a', 0o600)
  return {
    write: (line) => void writeSync(file, `${line}\n`),
    close: () => closeSync(file),
  }
}
