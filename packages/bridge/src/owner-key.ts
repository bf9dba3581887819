import { createHash } from 'node:crypto'

const plainOwner = /^[A-Za-z0-9_@-]{1,64}$/

/** Returns the owner as part of a key: unchanged if it is short and plain, else its hash. */
export function ownerKey(owner: string): string {
  return plainOwner.test(owner) ? owner : `=${createHash('sha256').update(owner).digest('base64url')}`
}
