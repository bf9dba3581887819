import { postgresStore } from '@bowline/sessions/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../../../scripts/postgres.ts'
import { setup } from '../../support.ts'

let server: PostgresServer | undefined
let client: pg.Client | undefined

/** This server never counts what is in its tables, and keeps the first plan of each statement. */
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off', plan_cache_mode: 'force_generic_plan' } })
  client = new pg.Client({ connectionString: server.url })
  await client.connect()
})
afterAll(async () => {
  await client?.end()
  await server?.stop()
})

const connections = "select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"

/** Rows that were read so far, of all tables. What a connection has read is counted when it is gone. */
async function rowsRead(): Promise<number> {
  await vi.waitUntil(async () => (await client?.query(connections))?.rowCount === 0, { timeout: 10_000, interval: 10 })
  const result = await client?.query<{ rows: string }>('select sum(seq_tup_read + idx_tup_fetch) as rows from pg_stat_user_tables')
  return Number(result?.rows[0]?.rows)
}

let sessions = 0

/** Each in a new session. */
async function turns(count: number): Promise<void> {
  const { runtime } = setup({ steps: Array.from({ length: count }, () => ({ text: 'Done.' })), store: postgresStore({ connectionString: server?.url ?? '' }) })
  for (let turn = 0; turn < count; turn++) await (await runtime.session(`room:${(sessions += 1)}`).send('go')).result()
  await runtime.stop()
}

/** How many rows a turn reads. */
async function rowsOfTurn(): Promise<number> {
  const before = await rowsRead()
  await turns(20)
  return ((await rowsRead()) - before) / 20
}

describe('tables that the server knows nothing of', () => {
  it('S186: what a turn reads does not grow with the sessions that are there', async () => {
    await turns(250)
    // Most of them by the first look for work. If each statement looked through the sessions, it would be thousands.
    expect(await rowsOfTurn()).toBeLessThan(250)
  })
})
