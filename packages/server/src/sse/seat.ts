import { ProblemError } from '../problems.ts'
import type { Tally } from './tally.ts'

/** Reservation of one stream in every limit. It is released as a whole. */
export class Seat {
  readonly #taken: { readonly tally: Tally; readonly name: string }[] = []

  /** Counts the stream in one limit. Throws `too-many-streams`. */
  take(tally: Tally, name: string, whose: string): void {
    if (tally.isFull(name)) throw new ProblemError('too-many-streams', `The limit of open streams ${whose} is reached (${tally.limit}). Close one.`)
    tally.add(name)
    this.#taken.push({ tally, name })
  }

  leave(): void {
    for (const { tally, name } of this.#taken.splice(0)) tally.remove(name)
  }
}
