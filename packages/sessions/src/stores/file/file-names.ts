import { createHash } from 'node:crypto'

const longestReadable = 100
const nameForm = /^[a-z0-9._-]{0,100}-[0-9a-f]{64}\.jsonl$/

/**
 * The name of the file of a session: something of the key for people, and a hash of all of it, so that keys that differ
 * in case alone, or behind the length that a file name may have, have files of their own on every file system.
 */
export function fileNameOf(key: string): string {
  const readable = key.toLowerCase().replace(/[^a-z0-9._-]/g, '_').slice(0, longestReadable)
  return `${readable}-${createHash('sha256').update(key).digest('hex')}.jsonl`
}

export function isFileName(name: string): boolean {
  return nameForm.test(name)
}
