import type * as pg from 'pg'
import { SessionError } from '../../errors.ts'
import type { PostgresClient, PostgresPool } from './pool-types.ts'
import type { Queries } from './pg-session.ts'
import { connectionError, storeError } from './postgres-errors.ts'

/** Where connections come from. */
export interface Pool {
  /** Whether a connection keeps what was prepared on it: behind a pooler it may be another one of the server each time. */
  canPrepare: boolean
  /** Rejects with `store-unavailable` if there is none in time. */
  acquire(): Promise<PostgresClient>
  /** What it has done so far. */
  metrics(): PoolMetrics
  /** Waits until all that is under way is answered. */
  close(): Promise<void>
}

/** Connection counts of the pool of this process. Absent for a pool that does not count its connections. */
export interface PoolMetrics {
  readonly connections: number
  readonly idle: number
  /** Callers that wait for a connection now. */
  readonly waiting: number
  /** Callers that had to wait so far, and for how long in sum. */
  readonly waits: number
  readonly waitedMs: number
}

const longestWaitMs = 10_000

/** A pool of this store alone. Its idle connections let the process end. */
export async function ownPool(connectionString: string, size: number): Promise<Pool> {
  const { Pool } = await loadPg()
  const pool = new Pool({
    // `acquire` gives up before that, with a text of its own.
    ...{ connectionString, max: size, connectionTimeoutMillis: 2 * longestWaitMs, application_name: 'bowline', keepAlive: true },
    ...{ pipeline: true, allowExitOnIdle: true, idleTimeoutMillis: 30_000 },
  })
  // It keeps its listener: the server may end a connection that is being closed.
  return openPool(pool, () => pool.end())
}

/** A pool of the user, who closes it. */
export function givenPool(pool: PostgresPool): Pool {
  return openPool(pool, async (onError) => void pool.removeListener('error', onError))
}

/** `end` is called when no connection is taken any more. */
function openPool(pool: PostgresPool, end: (onError: () => void) => Promise<void>): Pool {
  // Without a listener the process would end when an idle connection is lost: the pool has dropped it already.
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
      // With room for one more connection, the pool has begun to open it.
      const isWaiting = !hasIdle && pool.totalCount === connections
      const client = await inTime(connecting)
      if (isWaiting) {
        waited.waits += 1
        waited.waitedMs += performance.now() - askedAt
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      taken.add(promise)
      // As above: the pool listens to idle connections alone.
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

/** Single statements on any connection of the pool. */
export function poolQueries(pool: Pool): Queries {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      const client = await pool.acquire()
      try {
        const { rows } = await client.query({ text, values: [...values] })
        client.release()
        return rows as Row[]
      } catch (error) {
        client.release(true)
        throw connectionError('A statement on a connection to Postgres failed', error)
      }
    },
  }
}

/** Sends statements without waiting for those before them, also on connections that do not do so by themselves. */
function pipelined(client: PostgresClient & { pipeline?: boolean }, onRelease: () => void): PostgresClient {
  const before = client.pipeline
  client.pipeline = true
  const gather = gathering(client)
  return {
    processID: client.processID,
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

/** Returns what lets all that is sent in one go leave in one packet. A statement alone would leave in several. */
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
    // One that comes after all goes back at once.
    if (isLate) connecting.then((client) => client.release(), () => undefined)
  }
}

function usedUp(): SessionError {
  return new SessionError('store-unavailable', `There was no connection to Postgres within ${longestWaitMs} ms: all of the pool were in use, or the server did not answer. Raise poolSize, or ask again later.`)
}

/** Loads the package `pg`, which only this store needs. */
export async function loadPg(): Promise<Pick<typeof pg, 'Pool' | 'Client'>> {
  try {
    // Where the package is bundled there is nothing but its default export.
    return (await import('pg')).default
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SessionError('invalid-config', 'A store on Postgres needs the package pg: npm install pg', { cause: error })
  }
}
