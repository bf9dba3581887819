import { readFileSync } from 'node:fs'

/** Returns the bytes that this process has written to the file system. NaN if the system does not count them. */
export function bytesWritten(): number {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? NaN)
  } catch {
    return NaN
  }
}
