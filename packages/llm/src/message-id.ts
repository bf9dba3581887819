import { v7 as uuidv7 } from 'uuid'

const bytesPerId = 16
const pool = new Uint8Array(64 * bytesPerId)
let used = pool.length

/** Returns `msg_` and a UUID of version 7, which sorts by time. */
export function newMessageId(): string {
  return `msg_${uuidv7({ random: randomBytes() })}`
}

/** Fetches random bytes for many ids at once. A system call per id would dominate the time before the first request. */
function randomBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += bytesPerId
  return pool.subarray(used - bytesPerId, used)
}
