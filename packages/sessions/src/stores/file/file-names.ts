import { createHash } from 'node:crypto'

const longestReadable = 100
const nameForm = /^[a-z0-9._-]{0,100}-[0-9a-f]{64}\.jsonl$/

/**
 * Returns the file name of a session: a readable part of the key, and a hash of the whole key. The hash keeps files apart on every
 * file system, also for keys that differ only in case or only after the longest allowed name.
 */
export function fileNameOf(key: string): string {
  const readable = key
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '_')
    .slice(0, longestReadable)
  return `${readable}-${createHash('sha256').update(key).digest('hex')}.jsonl`
}

export function isFileName(name: string): boolean {
  return nameForm.test(name)
}
