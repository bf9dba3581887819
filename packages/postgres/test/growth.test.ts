import { postgresStore } from '@bowline/postgres'
import type { SessionStore } from '@bowline/sessions'
import pg from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'
import { testTopics } from '../../sessions/test/core/rules/kit.ts'
import { growth } from '../../sessions/test/stores/whole-growth.ts'

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
  const create = async () => postgresStore({ connectionString: server?.url ?? '' })
  const place = {
    create,
    reopen: create,
    loss: 'lease',
    async bytesWritten(_store: SessionStore, work: () => Promise<void>) {
      const before = await endOfLog()
      await work()
      return (await endOfLog()) - before
    },
  } as const
  testTopics(place, { growth })
})
