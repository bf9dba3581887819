import { CompiledQuery } from 'kysely'
import type { DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely'
import type { Pool } from './pool.ts'
import type { PostgresClient } from './pool-types.ts'
import { buildingParts } from './postgres-dialect.ts'

/** Kysely dialect for connections of a pool, for migrations only. Other work of a store uses `Pipeline`. */
export function poolDialect(pool: Pool): Dialect {
  return { ...buildingParts, createDriver: () => new PoolDriver(pool) }
}

class PoolDriver implements Driver {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async init(): Promise<void> {
    // The pool connects on demand.
  }

  async acquireConnection(): Promise<PoolConnection> {
    return new PoolConnection(await this.#pool.acquire())
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async releaseConnection(connection: PoolConnection): Promise<void> {
    connection.release()
  }

  async destroy(): Promise<void> {
    // The owner of the pool closes it.
  }
}

class PoolConnection implements DatabaseConnection {
  readonly #client: PostgresClient
  readonly #onError = (): void => void (this.#isLost = true)
  #isLost = false

  constructor(client: PostgresClient) {
    this.#client = client
    client.on('error', this.#onError)
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows } = await this.#client.query({ text: sql, values: [...parameters] })
    return { rows: rows as R[] }
  }

  // oxlint-disable-next-line require-yield -- no migration streams rows
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('Migrations do not stream.')
  }

  release(): void {
    this.#client.removeListener('error', this.#onError)
    this.#client.release(this.#isLost)
  }
}
