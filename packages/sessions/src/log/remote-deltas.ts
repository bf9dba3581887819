import type { DeltaStore } from '../contract/session-store.ts'
import type { LiveLog } from './live-log.ts'

export interface RemoteDeltasOptions {
  readonly deltas: DeltaStore
  readonly live: LiveLog
  /** Whether this process executes a run of the session: it makes the deltas itself then. */
  readonly isExecutedHere: (key: string) => boolean
  /** Told about deltas that could not be read. Must not throw. */
  readonly onError: (error: unknown, session: string) => void
}

interface Fetching {
  done: Promise<void>
  /** Another hint came since the store was asked. */
  again: boolean
}

/** Brings deltas that other processes have made to the readers of this one. */
export class RemoteDeltas {
  readonly #options: RemoteDeltasOptions
  /** By session. One fetch serves all readers. */
  readonly #fetching = new Map<string, Fetching>()

  constructor(options: RemoteDeltasOptions) {
    this.#options = options
  }

  /** Publishes what other processes have made since the newest delta that is known here. Deltas that cannot be read are lost. */
  async fetch(key: string): Promise<void> {
    const { live, isExecutedHere } = this.#options
    if (isExecutedHere(key) || live.held(key)?.hasReaders !== true) return
    const under = this.#fetching.get(key)
    if (under) {
      under.again = true
      return under.done
    }
    const fetching: Fetching = { done: Promise.resolve(), again: true }
    this.#fetching.set(key, fetching)
    fetching.done = this.#fetchAll(key, fetching).finally(() => this.#fetching.delete(key))
    return fetching.done
  }

  async #fetchAll(key: string, fetching: Fetching): Promise<void> {
    const { deltas, live, isExecutedHere, onError } = this.#options
    try {
      while (fetching.again) {
        fetching.again = false
        const session = live.held(key)
        if (!session) return
        const batches = await deltas.read(key, session.place)
        if (isExecutedHere(key)) return
        for (const batch of batches) session.publishRemote(batch)
      }
    } catch (error) {
      // Readers go on: the durable event that replaces the deltas follows.
      onError(error, key)
    }
  }
}
