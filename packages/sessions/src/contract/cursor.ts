import type { DeltaEvent } from '@bowline/agent-loop'
import { describeValue } from '@bowline/llm/arguments'
import { SessionError } from '../errors.ts'

/**
 * Number of the last durable event that a reader saw, and the number of deltas it saw since the last durable event of the
 * active run itself. `had` tells how much of the open answer those deltas held.
 */
export interface Position {
  readonly seq: number
  readonly n: number
  readonly had?: string
}

const form = /^(0|[1-9]\d{0,14})(?:\.(0(?=\.)|[1-9]\d{0,14})((?:\.\d{1,6}-\d{1,12})*))?$/

export function printCursor(seq: number, n = 0, had = ''): string {
  return n === 0 && had === '' ? `${seq}` : `${seq}.${n}${had}`
}

/** Parses a cursor. Throws `invalid-cursor`. */
export function parseCursor(cursor: string): Position {
  const match = typeof cursor === 'string' ? form.exec(cursor) : null
  if (!match) {
    throw new SessionError('invalid-cursor', `The cursor must be the id of an event, unchanged; received ${describeValue(cursor)}.`)
  }
  const [, seq, n = 0, had] = match
  return { seq: Number(seq), n: Number(n), ...(had && { had }) }
}

/** Refuses a position that the log from `firstSeq` to `lastSeq` cannot go on from. */
export function checkReach(seq: number, firstSeq: number, lastSeq: number): void {
  if (seq > lastSeq) {
    throw new SessionError(
      'cursor-ahead',
      `The cursor ${seq} is beyond the end of the log, ${lastSeq}. It belongs to another session or an older copy: read from the start.`,
    )
  }
  if (seq + 1 < firstSeq) {
    throw new SessionError(
      'cursor-expired',
      `The log begins at ${firstSeq}, after the cursor. Load the transcript and continue from its cursor.`,
      { firstSeq },
    )
  }
}

/**
 * Counts the characters of the text and reasoning blocks of an open answer. Printed as `.<index>-<characters>` for each block that
 * is open, and for the last one: a block with a smaller index that is not named was complete.
 */
export class BlockCounts {
  readonly #counts = new Map<number, number>()
  readonly #closed = new Set<number>()

  add(event: DeltaEvent): void {
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#counts.set(event.index, 0)
        break
      case 'text-delta':
      case 'reasoning-delta':
        this.#counts.set(event.index, (this.#counts.get(event.index) ?? 0) + event.delta.length)
        return
      case 'text-end':
      case 'reasoning-end':
        this.#closed.add(event.index)
        break
      default:
        return
    }
    const last = Math.max(...this.#counts.keys())
    for (const index of this.#closed) if (index < last) this.#counts.delete(index)
  }

  toString(): string {
    let printed = ''
    for (const [index, count] of this.#counts) printed += `.${index}-${count}`
    return printed
  }
}

/** Returns the characters that a reader has had of each block, by index, from the last part of its cursor. */
export function charactersHad(had: string): readonly (number | undefined)[] {
  const blocks = had
    .split('.')
    .slice(1)
    .map((block) => block.split('-').map(Number))
  const counts: number[] = []
  for (const [index = 0] of blocks) counts.length = Math.max(counts.length, index + 1)
  counts.fill(Infinity)
  for (const [index = 0, count = 0] of blocks) counts[index] = count
  return counts
}
