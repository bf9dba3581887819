import { v7 as uuidv7 } from 'uuid'

const bytesPerId = 16
const pool = new Uint8Array(64 * bytesPerId)
let used = pool.length

/** `msg_` and a UUID of version 7, which sorts by its time. */
export function newMessageId(): string {
  return `msg_${uuidv7({ random: randomBytes() })}`
}

/** Fetched for many ids at once: asking the system each time would cost more than all else before the first request. */
function randomBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += bytesPerId
  return pool.subarray(used - bytesPerId, used)
}
