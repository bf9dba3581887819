import { createHash } from 'node:crypto'

/** Processes that work on the same sessions. Other users of the database share its locks and channels. */
export interface ProcessScope {
  readonly schema: string
  readonly namespace: string
}

/** Returns the channel of these processes' hints, in at most 63 bytes. */
export function channelOf(scope: ProcessScope): string {
  return `bowline_${hashIn(scope, 'hints').toString('hex', 0, 16)}`
}

/** Hashes the parts, each with its length, so that different lists of parts never give the same text. */
export function hashIn({ schema, namespace }: ProcessScope, ...parts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const part of [schema, namespace, ...parts]) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest()
}
