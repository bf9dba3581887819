import pg from 'pg'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { findPgBouncer } from './postgres/find-pgbouncer.ts'
import { startPgBouncer } from './postgres/start-pgbouncer.ts'
import type { PgBouncer, PoolMode } from './postgres/start-pgbouncer.ts'
import { startPostgres } from './postgres/start-postgres.ts'
import type { PostgresServer } from './postgres/start-postgres.ts'
import type {} from './postgres/test-setup.ts'

export { startPostgres }
export type { PostgresServer }

/** Database of one test file. */
export interface TestDatabase {
  /** Address of the superuser. Throws outside hooks and tests. */
  readonly url: string
}

let created = 0

/** Creates a database before the tests of this file and drops it after them. The first one of a run starts the server. */
export function testDatabase(): TestDatabase {
  let url: string | undefined
  const name = `test_${process.pid}_${++created}`
  beforeAll(async () => {
    const server = await urlOfServer()
    await command(server, `create database ${name}`)
    url = withDatabase(server, name)
  })
  afterAll(async () => {
    if (url !== undefined) await command(url, `drop database ${name} with (force)`)
  })
  return {
    get url() {
      if (url === undefined) throw new TypeError('The database is there in hooks and tests only.')
      return url
    },
  }
}

/**
 * Returns a database on a server of this major version. The server is started before the tests of this file and stopped after them.
 */
export function databaseOfVersion(version: number): TestDatabase {
  let server: PostgresServer | undefined
  beforeAll(async () => void (server = await startPostgres({ version })))
  afterAll(() => server?.stop())
  return {
    get url() {
      if (!server) throw new TypeError('The database is there in hooks and tests only.')
      return server.url
    },
  }
}

/** In CI a missing pooler throws here, so that the job fails. */
const pgBouncer = findPgBouncer()

/** True if there is no pooler to start: tests that need one are skipped. */
export const isPgBouncerMissing = pgBouncer === undefined

/** Returns the title of a test or suite. If it is skipped, the title says why. */
export function titleWithPgBouncer(name: string): string {
  return isPgBouncerMissing ? `${name} (skipped: there is no PgBouncer; install pgbouncer, or name one in PGBOUNCER)` : name
}

/** Returns a function that starts a pooler and returns the URL of the database through it. Poolers are stopped after each test. */
export function pgBouncers(): (databaseUrl: string, mode: PoolMode, settings?: Readonly<Record<string, string>>) => Promise<string> {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  return async (databaseUrl, mode, settings) => {
    const pooler = await startPgBouncer(pgBouncer ?? '', databaseUrl, mode, settings)
    stops.push(() => pooler.stop())
    return pooler.urlOf(databaseUrl)
  }
}

/** Returns the same database through a pooler, which is started before the tests of this file and stopped after them. */
export function pooledDatabase(database: TestDatabase, mode: PoolMode): TestDatabase {
  let pooler: PgBouncer | undefined
  beforeAll(async () => void (pooler = await startPgBouncer(pgBouncer ?? '', database.url, mode)))
  afterAll(() => pooler?.stop())
  return {
    get url() {
      if (!pooler) throw new TypeError('The pooler is there in hooks and tests only.')
      return pooler.urlOf(database.url)
    },
  }
}

/** Returns the URL of a server on which tests may create databases. */
async function urlOfServer(): Promise<string> {
  const response = await fetch(inject('postgresDesk'))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

async function command(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabase(url, 'postgres') })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** Returns the URL with this database. It edits the text, because the path of a socket is not a valid host of a URL. */
function withDatabase(url: string, name: string): string {
  return url.replace(/^(\w+:\/\/[^/]*)(\/[^?]*)?/, `$1/${name}`)
}
