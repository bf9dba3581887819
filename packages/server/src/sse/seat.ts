import { ProblemError } from '../problems.ts'
import type { Tally } from './tally.ts'

/** The right to one stream: what it takes of every limit, and gives back at once. */
export class Seat {
  readonly #taken: { readonly tally: Tally; readonly name: string }[] = []

  /** Throws `too-many-streams`. */
  take(tally: Tally, name: string, whose: string): void {
    if (tally.isFull(name)) throw new ProblemError('too-many-streams', `No more than ${tally.limit} streams ${whose} may be open.`)
    tally.add(name)
    this.#taken.push({ tally, name })
  }

  leave(): void {
    for (const { tally, name } of this.#taken.splice(0)) tally.remove(name)
  }
}
