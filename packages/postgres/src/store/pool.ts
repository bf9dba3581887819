import type * as pg from 'pg'
import { missingPeer, SessionError } from '@bowline/sessions/store-parts'
import type { PostgresClient, PostgresPool } from './pool-types.ts'
import type { Queries } from './pg-session.ts'
import { connectionError, storeError } from './postgres-errors.ts'

/** A connection while it is in use. */
export interface PooledClient extends PostgresClient {
  /** Returns true if the connection is known to have a prepared statement with this name. */
  isPrepared(name: string): boolean
}

/** Source of connections. */
export interface Pool {
  /**
   * True if a connection keeps its prepared statements. Through a pooler, each transaction may get another connection of the
   * server.
   */
  canPrepare: boolean
  /** Rejects with `store-unavailable` if no connection is free in time. */
  acquire(): Promise<PooledClient>
  /** Counts since the pool was opened. */
  metrics(): PoolMetrics
  /** Waits until every statement in progress is answered. */
  close(): Promise<void>
}

/** Connection counts of the pool of this process. Absent for a pool that does not count its connections. */
export interface PoolMetrics {
  readonly connections: number
  readonly idle: number
  /** Number of callers that are waiting for a connection now. */
  readonly waiting: number
  /** Number of callers that had to wait so far, and their total wait in ms. */
  readonly waits: number
  readonly waitedMs: number
}

const longestWaitMs = 10_000

/** Timeout in ms. If the server has not answered by then, the connection is dropped. */
export const longestAnswerMs = 30_000

/** Creates a pool for this store alone. Idle connections do not keep the process alive. */
export async function ownPool(connectionString: string, size: number): Promise<Pool> {
  const { Pool } = await loadPg()
  const pool = new Pool({
    // Longer than `acquire` waits, which rejects with a clearer error.
    connectionString,
    max: size,
    connectionTimeoutMillis: 2 * longestWaitMs,
    application_name: 'bowline',
    keepAlive: true,
    pipeline: true,
    allowExitOnIdle: true,
    idleTimeoutMillis: 30_000,
  })
  // Keeps the error listener: the server may end a connection while it is being closed.
  return openPool(pool, () => pool.end())
}

/** Wraps a pool of the user, who closes it. */
export function givenPool(pool: PostgresPool): Pool {
  return openPool(pool, async (onError) => void pool.removeListener('error', onError))
}

/** `end` is called once every connection has been returned. */
function openPool(pool: PostgresPool, end: (onError: () => void) => Promise<void>): Pool {
  // Without a listener, the loss of an idle connection ends the process. The pool has already dropped that connection.
  const onError = (): void => undefined
  pool.on('error', onError)
  const taken = new Set<Promise<void>>()
  const waited = { waits: 0, waitedMs: 0 }
  return {
    canPrepare: true,
    async acquire() {
      const hasIdle = (pool.idleCount ?? 1) > (pool.waitingCount ?? 0)
      const { totalCount: connections } = pool
      const askedAt = performance.now()
      const connecting = pool.connect()
      // A caller does not wait if `connect` has just started a new connection.
      const isWaiting = !hasIdle && pool.totalCount === connections
      const client = await inTime(connecting)
      if (isWaiting) {
        waited.waits += 1
        waited.waitedMs += performance.now() - askedAt
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      taken.add(promise)
      // A connection in use needs a listener too: the pool listens to idle ones only.
      client.on('error', onError)
      return pipelined(client, () => {
        client.removeListener('error', onError)
        taken.delete(promise)
        resolve()
      })
    },
    metrics: () => ({ connections: pool.totalCount ?? 0, idle: pool.idleCount ?? 0, waiting: pool.waitingCount ?? 0, ...waited }),
    async close() {
      await Promise.all(taken)
      await end(onError)
    },
  }
}

/** Runs single statements on any connection of the pool. */
export function poolQueries(pool: Pool): Queries {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      const client = await pool.acquire()
      try {
        const { rows } = await client.query({ text, values: [...values], query_timeout: longestAnswerMs })
        client.release()
        return rows as Row[]
      } catch (error) {
        client.release(true)
        throw connectionError('A statement on a connection to Postgres failed', error)
      }
    },
  }
}

/** Sends statements without waiting for earlier ones, also on connections that do not pipeline by default. */
function pipelined(client: PostgresClient & { pipeline?: boolean }, onRelease: () => void): PooledClient {
  const before = client.pipeline
  client.pipeline = true
  const gather = gathering(client)
  return {
    processID: client.processID,
    isPrepared: (name) => Object.hasOwn(preparedOn(client), name),
    query(query) {
      gather()
      return client.query(query)
    },
    on: (event, listener) => client.on(event, listener),
    removeListener: (event, listener) => client.removeListener(event, listener),
    release(destroy) {
      if (before !== undefined) client.pipeline = before
      client.release(destroy)
      onRelease()
    },
  }
}

/** Returns the prepared statements by their names, as far as the package exposes them. */
function preparedOn({ connection = {} }: PostgresClient): object {
  return 'parsedStatements' in connection ? (connection.parsedStatements as object) : {}
}

/** Returns a function that collects the writes of one tick into one packet. Otherwise even a single statement takes several. */
function gathering({ connection }: PostgresClient): () => void {
  const stream = connection?.stream
  if (!stream) return () => undefined
  let isGathering = false
  return () => {
    if (isGathering) return
    isGathering = true
    stream.cork()
    process.nextTick(() => {
      isGathering = false
      stream.uncork()
    })
  }
}

async function inTime(connecting: Promise<PostgresClient>): Promise<PostgresClient> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(usedUp()), longestWaitMs)
  let isLate = false
  try {
    return await Promise.race([connecting, late])
  } catch (error) {
    isLate = true
    throw storeError(error, 'get a connection')
  } finally {
    clearTimeout(timer)
    // A connection that arrives too late is returned at once.
    if (isLate)
      connecting.then(
        (client) => client.release(),
        () => undefined,
      )
  }
}

function usedUp(): SessionError {
  return new SessionError(
    'store-unavailable',
    `There was no connection to Postgres within ${longestWaitMs} ms: all connections of the pool were in use, or the server did not answer. Raise poolSize, or retry later.`,
  )
}

/** Loads the package `pg`, which only this store needs. */
export async function loadPg(): Promise<Pick<typeof pg, 'Pool' | 'Client'>> {
  // A bundled package has a default export only.
  return (await import('pg').catch(missingPeer('A store on Postgres', 'pg'))).default
}
