import { postgresStore } from '@bowline/postgres'
import { testSessionStore } from '@bowline/testing/stores'
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'

let server: PostgresServer | undefined
let client: pg.Client | undefined

/** Only this test, and no autovacuum, writes into the log of this server. */
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off' } })
  client = new pg.Client({ connectionString: server.url })
  await client.connect()
})
afterAll(async () => {
  await client?.end()
  await server?.stop()
})

async function endOfLog(): Promise<number> {
  const result = await client?.query<{ bytes: string }>("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes")
  return Number(result?.rows[0]?.bytes)
}

describe('the write volume of the postgres store', () => {
  const growth = /^S54: the bytes of a commit/
  const create = async () => postgresStore({ connectionString: server?.url ?? '' })
  testSessionStore({
    name: 'postgres',
    create,
    reopen: create,
    limitsRecords: true,
    loss: 'lease',
    async bytesWritten(_store, work) {
      const before = await endOfLog()
      await work()
      return (await endOfLog()) - before
    },
    runner: { describe: (_title, body) => body(), it: (name, body, timeoutMs) => void (growth.test(name) && it(name, body, timeoutMs)) },
  })
})
