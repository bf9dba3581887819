import type { DeltaStore } from '../contract/session-store.ts'
import type { LiveLog } from './live-log.ts'

export interface RemoteDeltasOptions {
  readonly deltas: DeltaStore
  readonly live: LiveLog
  /** Whether this process executes a run of the session: it makes the deltas itself then. */
  readonly isExecutedHere: (key: string) => boolean
}

/** Brings deltas that other processes have made to the readers of this one. */
export class RemoteDeltas {
  readonly #options: RemoteDeltasOptions
  /** By session. One fetch serves all readers. */
  readonly #fetching = new Map<string, { readonly done: Promise<void>; again: boolean }>()

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
    const fetching = { done: this.#fetchAll(key), again: false }
    this.#fetching.set(key, fetching)
    return fetching.done
  }

  async #fetchAll(key: string): Promise<void> {
    const { deltas, live, isExecutedHere } = this.#options
    try {
      for (let isFirst = true; isFirst || this.#fetching.get(key)?.again; isFirst = false) {
        const fetching = this.#fetching.get(key)
        if (fetching) fetching.again = false
        const session = live.held(key)
        if (!session) return
        const batches = await deltas.read(key, session.place)
        if (isExecutedHere(key)) return
        for (const batch of batches) session.publishRemote(batch)
      }
    } catch {
      // The durable event that replaces them follows, and its reading fails if the store does.
    } finally {
      this.#fetching.delete(key)
    }
  }
}
