import { SessionError } from '../errors.ts'
import type { Answer, Change, Read, RowStore } from '../rows/contract.ts'

/** Reads that a decision asks for, one after the other. Its result says what to store. */
export type Steps<T> = Generator<readonly Read[], T, Answer>

/** Writes of a decision, and its answer once they are stored. Without a change, nothing is written. */
export interface Decision<T> {
  readonly result: T
  readonly change?: Change | undefined
}

/** Runs the reads of these steps. */
export async function answer<T>(rows: RowStore, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) step = steps.next(await rows.read(step.value))
  return step.value
}

/** Limit of attempts of a decision. Every refused attempt means that another process has stored one, unless the store is broken. */
export const mostTries = 200

/**
 * Decides, and stores the decision if what it read is still true. Else decides again. The first read must hold the rows that the
 * conditions of the change name. Throws `store-unavailable` after `mostTries`. `decide` gets the number
 * of earlier attempts.
 */
export async function transact<T>(rows: RowStore, decide: (tries: number) => Steps<Decision<T>>): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const { result, change } = await answer(rows, decide(tries))
    if (!change) return result
    const [isStored] = await rows.write([change])
    if (isStored) return result
  }
  throw new SessionError('store-unavailable', `The ${rows.name} store has refused a change ${mostTries} times. Try again later`)
}

/** Runs work on a key alone, in the order of the calls. Work on several keys waits for all of them. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.flatMap((key) => this.#last.get(key) ?? [])
    const done = before.length === 0 ? work() : Promise.all(before).then(work)
    const over = done.then(nothing, nothing)
    for (const key of keys) this.#last.set(key, over)
    void over.then(() => {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key)
    })
    return done
  }

  /** Resolves when all work that was given so far is over. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values())
  }
}

function nothing(): void {}
