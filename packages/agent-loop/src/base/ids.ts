import { v7 } from 'uuid'
import { checkName } from './checks.ts'

/** Creates ids. `kind` is the prefix of the id. Two calls must never return the same id. */
export interface IdSource {
  next(kind: string): string
}

/** Creates ids of the form `<kind>_<UUIDv7>`. They sort in the order in which this process made them. */
export const systemIds: IdSource = {
  next(kind) {
    checkName('kind', kind)
    return `${kind}_${nextUuid()}`
  },
}

const bytesPerId = 16
const pool = new Uint8Array(64 * bytesPerId)
const poolView = new DataView(pool.buffer)
let used = pool.length
const uuid = new Uint8Array(bytesPerId)
let millisecond = 0
let sequence = 0

const digits = [...'0123456789abcdef'].map((digit) => digit.charCodeAt(0))
const codes = [...'00000000-0000-0000-0000-000000000000'].map((digit) => digit.charCodeAt(0))
/** Index of the first of the two hex digits of each byte, in the text of a UUID. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/**
 * Returns the next UUIDv7. Keeps the order of ids within a millisecond, also when the clock goes back: the library does so only if
 * it asks the system for randomness at each id, which costs five times as much as the rest. Returns one flat string: the library's
 * string is a chain of 36 pieces, which takes more memory than many messages.
 */
function nextUuid(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  const random = pool.subarray(used, used + bytesPerId)
  const now = Date.now()
  if (now > millisecond) {
    millisecond = now
    // Starts in the lower half of 32 bits, so that a millisecond has room for 2³¹ ids.
    sequence = poolView.getUint32(used) >>> 1
  } else sequence++
  used += bytesPerId
  v7({ random, msecs: millisecond, seq: sequence }, uuid)
  for (let byte = 0; byte < places.length; byte++) {
    const value = uuid[byte] ?? 0
    const place = places[byte] ?? 0
    codes[place] = digits[value >> 4] ?? 0
    codes[place + 1] = digits[value & 15] ?? 0
  }
  return String.fromCharCode(...codes)
}
