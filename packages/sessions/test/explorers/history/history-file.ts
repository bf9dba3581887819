import { closeSync, openSync, writeSync } from 'node:fs'

/** A file with the history lines of one process. */
export interface HistoryFile {
  write(line: string): void
  close(): void
}

/** Opens a file for the history of one process. `write` returns after the line is written, so that `kill -9` loses none. */
export function historyFile(path: string): HistoryFile {
  const file = openSync(path, 'a', 0o600)
  return {
    write: (line) => void writeSync(file, `${line}\n`),
    close: () => closeSync(file),
  }
}
