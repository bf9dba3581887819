import { readFileSync } from 'node:fs'

/** What this process has handed to the file system so far. NaN where the system does not count it. */
export function bytesWritten(): number {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? NaN)
  } catch {
    return NaN
  }
}
