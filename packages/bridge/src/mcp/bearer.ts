import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether a request shows the token. Takes the same time wherever the first difference is. */
export function showsToken(authorization: string | undefined, token: string): boolean {
  const [, shown] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  return shown !== undefined && timingSafeEqual(digest(shown), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
