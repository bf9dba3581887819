import { ProblemError } from '../problems.ts'
import type { ConcurrencyCounter } from './concurrency-counter.ts'

/** Reservation of one stream in every limit. It is released as a whole. */
export class StreamLease {
  readonly #taken: { readonly counter: ConcurrencyCounter; readonly name: string }[] = []

  /** Counts the stream in one limit. Throws `too-many-streams`. */
  take(counter: ConcurrencyCounter, name: string, whose: string): void {
    if (counter.isFull(name))
      throw new ProblemError('too-many-streams', `The limit of open streams ${whose} is reached (${counter.limit}). Close one.`)
    counter.add(name)
    this.#taken.push({ counter, name })
  }

  leave(): void {
    for (const { counter, name } of this.#taken.splice(0)) counter.remove(name)
  }
}
