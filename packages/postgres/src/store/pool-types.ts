import type { Writable } from 'node:stream'

/** The methods of a `pg` pool that the store uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** Counts of the package: all connections, idle ones, and callers waiting for one. */
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
}

/** The methods of a `pg` connection that the store uses. */
export interface PostgresClient {
  /** Socket of the connection, if the package exposes it. */
  readonly connection?: { readonly stream?: Pick<Writable, 'cork' | 'uncork'> }
  /** Process id of the server, as announced when the connection was made. */
  readonly processID?: unknown
  query(query: PostgresQuery): Promise<PostgresResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** Returns the connection to the pool. `true` closes it. */
  release(destroy?: boolean): void
}

/** A statement in the form of the package `pg`. */
export interface PostgresQuery {
  text: string
  /** Name of the prepared statement. */
  name?: string
  values?: unknown[]
  types?: { getTypeParser(type: number, format?: string): (text: string) => unknown }
  query_timeout?: number
}

/** Rows and command of an executed statement. */
export interface PostgresResult {
  readonly rows: unknown[]
  /** Executed command, such as `COMMIT` or `SELECT`. */
  readonly command: string | null
}
