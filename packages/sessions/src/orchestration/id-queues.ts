import { SessionError } from '../errors.ts'

const mostWaiting = 1_000

/** Work of one id follows each other, so that one process does not come in its own way. */
export class IdQueues {
  readonly #queues = new Map<string, { waiting: number; last: Promise<unknown> }>()

  /** Rejects with `queue-full` when too much of this id waits already. */
  async add<T>(id: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(id) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= mostWaiting) throw new SessionError('queue-full', `${mostWaiting} changes of the orchestration state of ${id} wait already.`)
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
