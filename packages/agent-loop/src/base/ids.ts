import { uuidv7obj } from 'uuidv7'
import { checkName } from './check-options.ts'

/** Where ids come from. `kind` is the prefix; two calls must never give the same id. */
export interface IdSource {
  next(kind: string): string
}

/** `<kind>_<UUIDv7>`: they sort by the order in which this process made them. */
export const systemIds: IdSource = {
  next(kind) {
    checkName('kind', kind)
    return `${kind}_${textOf(uuidv7obj().bytes)}`
  },
}

const digits = [...'0123456789abcdef'].map((digit) => digit.charCodeAt(0))
const codes = [...'00000000-0000-0000-0000-000000000000'].map((digit) => digit.charCodeAt(0))
/** Where the two digits of each byte stand. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** One flat string: that of the library is a chain of 36, which takes more memory than many a message. */
function textOf(bytes: Readonly<Uint8Array>): string {
  for (let byte = 0; byte < places.length; byte++) {
    const value = bytes[byte] ?? 0
    const place = places[byte] ?? 0
    codes[place] = digits[value >> 4] ?? 0
    codes[place + 1] = digits[value & 15] ?? 0
  }
  return String.fromCharCode(...codes)
}
