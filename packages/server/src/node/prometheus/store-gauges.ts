import { SessionError, type SessionStore } from '@bowline/sessions'
import type { PostgresMetrics } from '@bowline/postgres'
import { Gauge, type Registry } from 'prom-client'

const msPerSecond = 1000

type Reading = (metrics: PostgresMetrics) => number | undefined

const readings: readonly (readonly [name: string, help: string, read: Reading])[] = [
  ['bowline_store_connections', 'Connections of the pool to the database.', ({ pool }) => pool.connections],
  ['bowline_store_pool_waiting', 'Callers that wait for a connection.', ({ pool }) => pool.waiting],
  ['bowline_store_pool_waits_total', 'Callers that had to wait for a connection.', ({ pool }) => pool.waits],
  ['bowline_store_pool_wait_seconds_total', 'How long they waited in sum.', ({ pool }) => pool.waitedMs / msPerSecond],
  [
    'bowline_store_direct_connection',
    'Connections on which this process listens to the others.',
    ({ direct }) => (direct === 'open' ? 1 : 0),
  ],
  ['bowline_store_reconnects_total', 'How often that connection was opened again.', ({ reconnects }) => reconnects],
  ['bowline_store_takeovers_total', 'Processes that died and whose runs this one has freed.', ({ takeovers }) => takeovers],
  ['bowline_store_lost_leases_total', 'Leases that had passed to another process.', ({ lostLeases }) => lostLeases],
  [
    'bowline_store_notify_lag_seconds',
    'What the last hint took to come back.',
    ({ notifyLagMs }) => (notifyLagMs === undefined ? undefined : notifyLagMs / msPerSecond),
  ],
]

/**
 * Returns a function that adds the metrics of a store. They are read at each scrape and summed over the open stores. Stores without
 * metrics are ignored.
 */
export function storeGauges(registry: Registry): (store: SessionStore) => void {
  const stores: (() => PostgresMetrics)[] = []
  return (store) => {
    if (!('metrics' in store) || typeof store.metrics !== 'function') return
    if (stores.length === 0) createGauges(registry, stores)
    stores.push(store.metrics.bind(store) as () => PostgresMetrics)
  }
}

function createGauges(registry: Registry, stores: readonly (() => PostgresMetrics)[]): void {
  for (const [name, help, of] of readings) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const values = stores.flatMap((read) => valueOf(read, of) ?? [])
        if (values.length === 0) this.remove()
        else this.set(values.reduce((sum, value) => sum + value, 0))
      },
    })
  }
}

/** Returns undefined if the store is not open. */
function valueOf(read: () => PostgresMetrics, of: Reading): number | undefined {
  try {
    return of(read())
  } catch (error) {
    if (SessionError.isInstance(error) && error.code === 'store-unavailable') return undefined
    throw error
  }
}
