import type { DeltaStore } from '../contract/session-store.ts'
import type { LiveLog } from './live-log.ts'

export interface RemoteDeltasOptions {
  readonly deltas: DeltaStore
  readonly live: LiveLog
  /** Returns true if this process executes a run of the session, and so makes its deltas. */
  readonly isExecutedHere: (key: string) => boolean
  /** Called if deltas could not be read. Must not throw. */
  readonly onError: (error: unknown, session: string) => void
}

interface Fetching {
  done: Promise<void>
  /** Another hint arrived since the store was asked. */
  again: boolean
}

/** Fetches deltas of other processes for the readers of this one. */
export class RemoteDeltas {
  readonly #options: RemoteDeltasOptions
  /** By session key. One fetch serves all readers. */
  readonly #fetching = new Map<string, Fetching>()

  constructor(options: RemoteDeltasOptions) {
    this.#options = options
  }

  /** Publishes the deltas of other processes after the newest known one. Deltas that cannot be read are skipped. */
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
      // Readers continue: a durable event that replaces the deltas follows.
      onError(error, key)
    }
  }
}
