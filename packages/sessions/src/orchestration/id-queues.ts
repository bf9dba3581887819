import { SessionError } from '../errors.ts'

const usualMostWaiting = 1_000

/** Runs the work for one id one after the other, so that one process does not conflict with itself. */
export class IdQueues {
  readonly #queues = new Map<string, { waiting: number; last: Promise<unknown> }>()
  readonly #mostWaiting: number

  constructor(mostWaiting = usualMostWaiting) {
    this.#mostWaiting = mostWaiting
  }

  /** Runs the work after all earlier work for the id. Rejects with `queue-full` if the queue of the id is full. */
  async add<T>(id: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(id) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= this.#mostWaiting)
      throw new SessionError(
        'queue-full',
        `The limit of ${this.#mostWaiting} pending changes of the orchestration state of ${id} is reached. Retry later.`,
      )
    this.#queues.set(id, queue)
    queue.waiting++
    const done = queue.last.then(work)
    queue.last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      queue.waiting--
      if (queue.waiting === 0) this.#queues.delete(id)
    }
  }
}
