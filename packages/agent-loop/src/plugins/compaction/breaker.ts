import type { Journal } from '../../contract/journal.ts'
import type { ModelName } from '../../events/turn-events.ts'
import { modelKey } from '../../transcript/estimate.ts'

/**
 * Counts the compactions of a conversation that were of no use, one after the other. While it is open none runs by
 * itself. Another model of the conversation closes it.
 */
export class Breaker {
  #useless = 0
  #model = ''

  isOpen(maxFailures: number, model: ModelName): boolean {
    return this.#useless >= maxFailures && modelKey(model) === this.#model
  }

  addUseless(model: ModelName): void {
    this.#useless = modelKey(model) === this.#model ? this.#useless + 1 : 1
    this.#model = modelKey(model)
  }

  close(): void {
    this.#useless = 0
  }
}

const breakers = new WeakMap<object, Breaker>()

/** That of the conversation, for as long as this process holds the object that stands for it. */
export function breakerOf(journal: Journal): Breaker {
  const conversation = journal.conversation ?? journal
  let breaker = breakers.get(conversation)
  if (!breaker) breakers.set(conversation, (breaker = new Breaker()))
  return breaker
}
