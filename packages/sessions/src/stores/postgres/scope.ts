import { createHash } from 'node:crypto'

/** Processes that work on the same sessions. Locks and channels of a database are shared by all that use it. */
export interface ProcessScope {
  readonly schema: string
  readonly namespace: string
}

/** Returns the channel of the hints of these processes, in at most 63 bytes. */
export function channelOf(scope: ProcessScope): string {
  return `bowline_${hashIn(scope, 'hints').toString('hex', 0, 16)}`
}

/** Each part comes with its length, so that no two lists of parts give the same text. */
export function hashIn({ schema, namespace }: ProcessScope, ...parts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const part of [schema, namespace, ...parts]) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest()
}
