import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'

export { startPostgres } from './postgres/start-postgres.ts'
export type { PostgresServer } from './postgres/start-postgres.ts'

/** A database of one test file. */
export interface TestDatabase {
  /** Of the superuser. Throws outside of hooks and tests. */
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

/** The same server, and this database. Text surgery: the host of a socket is no valid host of a URL. */
function withDatabase(url: string, name: string): string {
  return url.replace(/^(\w+:\/\/[^/]*)(\/[^?]*)?/, `$1/${name}`)
}
