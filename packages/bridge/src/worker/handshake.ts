import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Returns 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns the response to the challenge, which needs the token. */
export function proofOf(token: string, challenge: string): string {
  return createHmac('sha256', token).update(challenge).digest('base64url')
}

/** Checks a proof with a constant-time comparison. */
export function isProof(given: unknown, token: string, challenge: string): boolean {
  if (typeof given !== 'string') return false
  const [left, right] = [Buffer.from(given), Buffer.from(proofOf(token, challenge))]
  return left.length === right.length && timingSafeEqual(left, right)
}
