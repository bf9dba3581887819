import { randomUUID } from 'node:crypto'
import { systemClock } from '@bowline/llm'
import type { StateStore, StoreHint, StoreOpenOptions } from '@bowline/sessions'
import { sqlStateStore } from '@bowline/sessions/sql'
import type { OpenStates } from '@bowline/sessions/store-parts'
import { warnProcess } from '@bowline/sessions/store-parts'
import { checkDatabase } from './check-database.ts'
import type { PostgresReport } from './check-database.ts'
import { checkServer } from './check-server.ts'
import { DeltaTable } from './delta-table.ts'
import { LiveConnection } from './live-connection.ts'
import type { LiveMetrics } from './live-connection.ts'
import { OpenRows } from './open-rows.ts'
import type { NewClient } from './pg-session.ts'
import { OwnWakes } from './own-wakes.ts'
import { Pipeline } from './pipeline.ts'
import { givenPool, loadPg, ownPool, poolQueries } from './pool.ts'
import type { Pool, PoolMetrics } from './pool.ts'
import { postgresWordIndex, stateDriver } from './postgres-states.ts'
import { migrateSchema } from './postgres-migrations.ts'
import { maxRecordBytes, schemaOf } from './postgres-options.ts'
import type { PostgresOptions, PostgresStateStoreOptions, PostgresStoreOptions } from './postgres-options.ts'

/** An open store. */
export interface OpenDatabase {
  readonly rows: OpenRows
  readonly deltas: DeltaTable
  readonly wakes: OwnWakes
  readonly state: StateStore
  /** False if other processes may consider this one dead. */
  readonly mayClaim: () => boolean
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
  const { poolSize = 8, migrate = true, onWarning = warnProcess, clock } = options
  const schema = schemaOf(options)
  const { namespace } = openOptions
  const pool = await poolOf(options, poolSize)
  try {
    await checkServer(pool, onWarning)
    await migrateSchema({ pool, schema, migrate })
    const live = await openLive(options, openOptions, pool, hear)
    const pipeline = new Pipeline(pool)
    const now = (): number | undefined => clock?.now()
    const wakes = new OwnWakes((hint) => live.tell(hint))
    const driver = stateDriver(pipeline, schema, namespace, now)
    return {
      rows: new OpenRows({ pipeline, schema, namespace, maxRowBytes: maxRecordBytes, now, processName: () => live.processName }),
      wakes,
      deltas: new DeltaTable(pipeline, { schema, namespace }, (key) => {
        hear({ key, wake: false, deltas: true })
        live.tell({ key, seq: undefined, wake: false, deltas: true })
      }),
      state: sqlStateStore(() => driver, maxRecordBytes, postgresWordIndex),
      mayClaim: () => live.mayClaim,
      metrics: () => ({ ...live.metrics(), pool: pool.metrics() }),
      check: () => checkDatabase(pool, { schema, namespace }, live.metrics()),
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
  const driver = stateDriver(new Pipeline(pool), schema, namespace, () => clock?.now())
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

async function poolOf({ connectionString, pool }: PostgresOptions, size: number): Promise<Pool> {
  return pool ? givenPool(pool) : ownPool(connectionString ?? '', size)
}

async function openLive(
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
