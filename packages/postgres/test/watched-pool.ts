import type { PostgresPool, PostgresQuery } from '@bowline/postgres'
import pg from 'pg'

/** Called before each statement is sent. A returned query replaces it. */
export type Watch = (query: PostgresQuery, client: pg.PoolClient) => PostgresQuery | undefined

export interface WatchedPool {
  readonly pool: PostgresPool
  end(): Promise<void>
}

/** If `tellsPid` is false, it hides the id of the server process, like a pool of another package. */
export function watchedPool(connectionString: string, watch: Watch, { tellsPid = true } = {}): WatchedPool {
  const pool = new pg.Pool({ connectionString, max: 4 })
  const watched: PostgresPool = {
    async connect() {
      const client = await pool.connect()
      return {
        ...(tellsPid && { processID: Reflect.get(client, 'processID') as unknown }),
        on: client.on.bind(client),
        removeListener: client.removeListener.bind(client),
        release: (destroy?: boolean) => client.release(destroy),
        set pipeline(isOn: boolean) {
          Object.assign(client, { pipeline: isOn })
        },
        query(query: PostgresQuery) {
          return client.query(watch(query, client) ?? query)
        },
      }
    },
    on: (name, listener) => pool.on(name, listener),
    removeListener: (name, listener) => pool.removeListener(name, listener),
  }
  return { pool: watched, end: () => pool.end() }
}
