import { randomUUID } from 'node:crypto'
import { systemClock } from '@bowline/llm'
import type { StoreHint, StoreOpenOptions } from '@bowline/sessions'
import type { SqlDriver, Steps } from '@bowline/sessions/sql'
import { pushDeltas, readDeltas, sqlStateStore } from '@bowline/sessions/sql'
import type { DeltaStore, OpenStates } from '@bowline/sessions/store-parts'
import { warnProcess } from '@bowline/sessions/store-parts'
import { checkDatabase } from './check-database.ts'
import type { PostgresReport } from './check-database.ts'
import { checkServer } from './check-server.ts'
import { DeltaWriter } from './delta-writer.ts'
import { LiveConnection } from './live-connection.ts'
import type { LiveMetrics } from './live-connection.ts'
import type { NewClient } from './pg-session.ts'
import { OwnWakes } from './own-wakes.ts'
import { givenPool, loadPg, ownPool, poolQueries } from './pool.ts'
import type { Pool, PoolMetrics } from './pool.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { postgresDialect, postgresWordIndex, statementBuilder } from './postgres-dialect.ts'
import { isLockTimeout, storeError, violatesConstraint } from './postgres-errors.ts'
import { migrateSchema } from './postgres-migrations.ts'
import { schemaOf } from './postgres-options.ts'
import type { PostgresOptions, PostgresStateStoreOptions, PostgresStoreOptions } from './postgres-options.ts'

/** An open store. */
export interface OpenDatabase {
  readonly driver: SqlDriver
  readonly deltas: DeltaStore
  readonly wakes: OwnWakes
  metrics(): DatabaseMetrics
  check(): Promise<PostgresReport>
  close(): Promise<void>
}

/** Counters of one process since the store was opened. */
export type DatabaseMetrics = LiveMetrics & { readonly pool: PoolMetrics }

/** `hear` is called for changes of other processes and for deltas. */
export async function openDatabase(
  options: PostgresStoreOptions,
  openOptions: StoreOpenOptions,
  hear: (hint: StoreHint) => void,
): Promise<OpenDatabase> {
  const { poolSize = 8, migrate = true, onWarning = warnProcess } = options
  const schema = schemaOf(options)
  const pool = await poolOf(options, poolSize)
  try {
    await checkServer(pool, onWarning)
    await migrateSchema({ pool, schema, migrate })
    const live = await openLive(options, openOptions, pool, hear)
    const connection = new PostgresConnection(pool, statementBuilder(schema), postgresDialect(schema))
    const wakes = new OwnWakes((hint) => live.tell(hint))
    const driver = postgresDriver(connection, { live, wakes }, openOptions, options.clock)
    return {
      driver,
      wakes,
      deltas: deltaStore(driver, live, hear),
      metrics: () => ({ ...live.metrics(), pool: pool.metrics() }),
      check: () => checkDatabase(pool, { schema, namespace: openOptions.namespace }, live.metrics()),
      async close() {
        // Keeps the process alive: connections do not, so it could exit here with unsent hints.
        const release = systemClock.setTimer(Infinity, () => undefined, { hold: true })
        try {
          wakes.flush()
          await live.close()
          await pool.close()
        } finally {
          release()
        }
      },
    }
  } catch (error) {
    await pool.close()
    throw error
  }
}

/** Opens the state store alone: it uses only the pool and does not register this process. */
export async function openStates(options: PostgresStateStoreOptions, maxRecordBytes: number): Promise<OpenStates> {
  const { namespace = 'default', poolSize = 8, migrate = true, onWarning = warnProcess, clock } = options
  const schema = schemaOf(options)
  const pool = await poolOf(options, poolSize)
  try {
    await checkServer(pool, onWarning)
    await migrateSchema({ pool, schema, migrate })
  } catch (error) {
    await pool.close()
    throw error
  }
  const connection = new PostgresConnection(pool, statementBuilder(schema), postgresDialect(schema))
  const driver = { ...runsOn(connection), namespace, now: () => clock?.now() ?? null }
  return { state: sqlStateStore(() => driver, maxRecordBytes, postgresWordIndex), close: () => pool.close() }
}

/** Migrates the tables to the version of this package, like `postgresStore` with `migrate: true`. */
export async function migrateDatabase(options: PostgresOptions): Promise<void> {
  const pool = await poolOf(options, 1)
  try {
    await checkServer(pool, () => undefined)
    await migrateSchema({ pool, schema: schemaOf(options), migrate: true })
  } finally {
    await pool.close()
  }
}

export async function poolOf({ connectionString, pool }: PostgresOptions, size: number): Promise<Pool> {
  return pool ? givenPool(pool) : ownPool(connectionString ?? '', size)
}

function postgresDriver(
  connection: PostgresConnection,
  { live, wakes }: { readonly live: LiveConnection; readonly wakes: OwnWakes },
  { namespace, clock }: StoreOpenOptions,
  given: PostgresStoreOptions['clock'],
): SqlDriver {
  return {
    ...runsOn(connection),
    namespace,
    now: () => given?.now() ?? null,
    localTime: (at, now) => (given ? at : at + clock.now() - now),
    isShared: true,
    loss: 'lease',
    mayClaim: () => live.mayClaim,
    processCheck: () => live.processCheck,
    tell(hints, seq) {
      // The number belongs to the session of the batch, which comes first.
      for (const [place, { key, wake }] of hints.entries())
        if (key !== undefined) wakes.add({ key, seq: place === 0 ? seq : undefined, wake, deltas: false })
    },
    violatesConstraint,
  }
}

/** Runs statements and turns failures into errors of the store. */
function runsOn(
  connection: PostgresConnection,
): Pick<SqlDriver, 'transaction' | 'provisional' | 'patient' | 'statement' | 'snapshot' | 'read'> {
  async function failing<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw violatesConstraint(error) ? error : storeError(error, doing)
    }
  }
  const transaction = <T>(makeSteps: () => Steps<T>): Promise<T> => failing('write', () => connection.transaction(makeSteps))
  return {
    transaction,
    provisional: transaction,
    patient: (makeSteps) =>
      failing('write', async () => {
        try {
          return await connection.transaction(() => makeSteps('wait'), patientMs)
        } catch (error) {
          if (!isLockTimeout(error)) throw error
          return connection.transaction(() => makeSteps('skip'))
        }
      }),
    statement: (makeSteps) => failing('write', () => connection.statement(makeSteps)),
    snapshot: (makeSteps) => failing('read', () => connection.snapshot(makeSteps)),
    read: (makeSteps) => failing('read', () => connection.read(makeSteps)),
  }
}

/** Lock wait in ms. A write takes some milliseconds, unless its process is frozen in the middle of it. */
const patientMs = 250

function deltaStore({ namespace, statement, read }: SqlDriver, live: LiveConnection, hear: (hint: StoreHint) => void): DeltaStore {
  const writer = new DeltaWriter(async (batches) => statement(() => pushDeltas(namespace, batches)))
  return {
    async push(batch) {
      await writer.push(batch)
      hear({ key: batch.key, wake: false, deltas: true })
      live.tell({ key: batch.key, seq: undefined, wake: false, deltas: true })
    },
    read: async (key, after) => read(() => readDeltas(namespace, key, after)),
  }
}

export async function openLive(
  options: PostgresStoreOptions,
  { namespace, owner, placement = 'own' }: StoreOpenOptions,
  pool: Pool,
  hear: (hint: StoreHint) => void,
): Promise<LiveConnection> {
  const { connectionString, directConnectionString = connectionString, listen = true, onWarning = warnProcess } = options
  if (listen && directConnectionString === undefined) onWarning(noDirectConnection)
  let failure: unknown
  const live = new LiveConnection({
    // The system clock: the waits are for a server, whatever the clock of the runtime says.
    schema: schemaOf(options),
    namespace,
    owner,
    isMember: placement === 'own',
    clock: systemClock,
    random: Math.random,
    newId: randomUUID,
    newClient: listen && directConnectionString !== undefined ? await clientsFor(directConnectionString) : undefined,
    pool: poolQueries(pool),
    events: {
      onHint({ key, wake, deltas, seq }) {
        if (wake || seq !== undefined) hear({ key, wake, elsewhere: true })
        if (deltas) hear({ key, wake: false, deltas: true, elsewhere: true })
      },
      onGap: () => hear({ wake: true, elsewhere: true }),
      onTakenOver: (_name, keys) => {
        for (const key of keys) {
          live.tell({ key, seq: undefined, wake: true, deltas: false })
          hear({ key, wake: true, elsewhere: true })
        }
      },
      onFenced: () => undefined,
      onRegistered: () => hear({ wake: true, elsewhere: true }),
      onWarning,
      onError(error) {
        failure ??= error
        onWarning(error instanceof Error ? error.message : String(error))
      },
    },
  })
  if ((await live.open()) !== 'down') return live
  await live.close()
  throw failure
}

const noDirectConnection =
  'postgresStore has a pool and no directConnectionString: this process looks for work each second, and other processes notice its death by its leases ' +
  'alone. Give it a directConnectionString to the server, or set listen to false.'

async function clientsFor(connectionString: string): Promise<NewClient> {
  const { Client } = await loadPg()
  return (settings) => new Client({ connectionString, application_name: 'bowline', ...settings })
}
