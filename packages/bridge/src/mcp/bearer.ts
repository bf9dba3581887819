import { createHash, timingSafeEqual } from 'node:crypto'

/** Returns whether a request carries the token. The comparison takes constant time. */
export function showsToken(authorization: string | undefined, token: string): boolean {
  const [, shown] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  return shown !== undefined && timingSafeEqual(digest(shown), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
