import { describeValue } from '@bowline/llm/arguments'
import { SessionError } from '../errors.ts'

/**
 * Number of the last durable event that a reader saw, and the number of deltas it saw since the last durable event of the
 * active run itself.
 */
export interface Position {
  readonly seq: number
  readonly n: number
}

const form = /^(0|[1-9]\d{0,14})(?:\.([1-9]\d{0,14}))?$/

export function printCursor(seq: number, n = 0): string {
  return n === 0 ? `${seq}` : `${seq}.${n}`
}

/** Parses a cursor. Throws `invalid-cursor`. */
export function parseCursor(cursor: string): Position {
  const match = typeof cursor === 'string' ? form.exec(cursor) : null
  if (!match) {
    throw new SessionError('invalid-cursor', `The cursor must be the id of an event, unchanged; received ${describeValue(cursor)}.`)
  }
  return { seq: Number(match[1]), n: Number(match[2] ?? 0) }
}
