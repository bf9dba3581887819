import type { Writable } from 'node:stream'

/** The methods of a `pg` pool that the store uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** Counted by the package: all connections, those without work, and callers that wait for one. */
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
}

/** The methods of a `pg` connection that the store uses. */
export interface PostgresClient {
  /** The socket, where the package tells it. */
  readonly connection?: { readonly stream?: Pick<Writable, 'cork' | 'uncork'> }
  /** The process of the server, as it was said when the connection was made. */
  readonly processID?: unknown
  query(query: PostgresQuery): Promise<PostgresResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With true the connection is closed. */
  release(destroy?: boolean): void
}

/** A statement in the form of the package `pg`. */
export interface PostgresQuery {
  text: string
  /** The statement is prepared under this name. */
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
