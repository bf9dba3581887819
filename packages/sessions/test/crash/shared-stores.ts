import type { SessionStore } from '@bowline/sessions'
import { ServerClock, type PostgresPlace } from '../../../postgres/test/place.ts'

/** Returns a function that creates a store for all processes of a run over Postgres. Each run has its own sessions. */
export function sharedStores(place: PostgresPlace): () => SessionStore {
  let runs = 0
  return () => {
    const clock = new ServerClock()
    const store = clock.under(place.store({ ...place.shared(false), clock, migrate: false }))
    const namespace = `run-${(runs += 1)}`
    let users = 0
    return {
      ...store,
      async open(options) {
        users += 1
        if (users === 1) await store.open({ ...options, namespace })
      },
      async close() {
        users -= 1
        if (users === 0) await store.close()
      },
    }
  }
}
