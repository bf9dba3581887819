import { manualClock } from '@bowline/llm/testing'
import type { SessionQuery, SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/sessions/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../../../scripts/postgres.ts'
import { setup } from '../../support.ts'
import { sessionLists, tenant } from '../session-lists.ts'

let server: PostgresServer | undefined
let client: pg.Client | undefined

/** This server collects no table statistics, and keeps the first plan of each statement. */
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off', plan_cache_mode: 'force_generic_plan' } })
  client = new pg.Client({ connectionString: server.url })
  await client.connect()
})
afterAll(async () => {
  await client?.end()
  await server?.stop()
})

const connections = "select from pg_stat_activity where application_name = 'bowline'"

/**
 * Returns the rows and index entries read from all tables so far, entries of dead rows included. The server counts the reads of a
 * connection when it closes.
 */
async function readSoFar(): Promise<{ readonly rows: number; readonly entries: number }> {
  await vi.waitUntil(async () => (await client?.query(connections))?.rowCount === 0, { timeout: 10_000, interval: 10 })
  const result = await client?.query<Record<'rows' | 'entries', string>>(
    'select (select sum(seq_tup_read + idx_tup_fetch) from pg_stat_user_tables) as rows, (select sum(idx_tup_read) from pg_stat_user_indexes) as entries',
  )
  return { rows: Number(result?.rows[0]?.rows), entries: Number(result?.rows[0]?.entries) }
}

let sessions = 0

/** Runs each turn in a new session. No poll is due meanwhile, however long the turns take. */
async function turns(count: number): Promise<void> {
  const { runtime } = setup({ steps: Array.from({ length: count }, () => ({ text: 'Done.' })), store: postgresStore({ connectionString: server?.url ?? '' }), clock: manualClock() })
  for (let turn = 0; turn < count; turn++) await (await runtime.session(`room:${(sessions += 1)}`).send('go')).result()
  await runtime.stop()
}

/** Returns the reads of `count` turns. */
async function readOf(count: number): Promise<{ readonly rows: number; readonly entries: number }> {
  const before = await readSoFar()
  await turns(count)
  const after = await readSoFar()
  return { rows: after.rows - before.rows, entries: after.entries - before.entries }
}

/** Returns the index entries per turn, without the first poll of a runtime. */
async function entriesOfTurn(): Promise<number> {
  const short = await readOf(10)
  return ((await readOf(50)).entries - short.entries) / 40
}

const sessionCount = 5000

/** Adds sessions. Few are of the tenant, fewer of the agent, of the parent, with the status, without one or expired. */
const fill = `
  insert into lists.session (namespace, key, id, agent, metadata, tenant, section, parent, status, active_at, created_at)
    select 'default', 'tenant:' || tenant || ':s:' || n, 'id-' || n, case when n % 100 < 2 then 'assistant' else 'other' end, '{}', tenant,
      n % 2 + case when n % 100 = 50 then 2 else 0 end, case when n % 50 = 1 then '${tenant}a' when n % 2 = 1 then 'other' end,
      case n % 100 when 0 then 'waiting-for-user' when 2 then null else 'completed' end, n, n
    from (select n, case when n % 50 < 2 then 'acme' else 'b' || n % 7 end as tenant from generate_series(1, ${sessionCount}) as n) as numbered;
  insert into lists.session_state (session, namespace, version, next_entry, body, expired_at)
    select row, namespace, 1, 1, '{}', case when section > 1 then active_at end from lists.session`

describe('tables without statistics on the server', () => {
  it('S186: the rows that a turn reads do not grow with the number of sessions', async () => {
    await turns(250)
    // Most of them are from the first poll. A scan of the sessions by each statement would read thousands.
    expect((await readOf(20)).rows / 20).toBeLessThan(250)
  })

  it('S192: the rows that a turn reads do not grow with the row versions that a snapshot keeps', async () => {
    const holder = new pg.Client({ connectionString: server?.url })
    await holder.connect()
    await holder.query('begin isolation level repeatable read')
    await holder.query('select 1')
    const before = await entriesOfTurn()
    await turns(200)
    const after = await entriesOfTurn()
    await holder.end()
    expect(after).toBeLessThan(before + 100)
  })

  it('S47, S54: a page of a list reads its own rows only', async () => {
    const store = async (): Promise<SessionStore> => {
      const opened = postgresStore({ connectionString: server?.url ?? '', schema: 'lists', listen: false })
      await opened.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1) })
      return opened
    }
    await (await store()).close()
    await client?.query(fill)
    // Counts the reads of this connection before the others.
    await client?.query('select pg_stat_force_next_flush()')
    const readBy = async (queries: readonly SessionQuery[]): Promise<number> => {
      const before = await readSoFar()
      const opened = await store()
      for (const query of queries) expect((await opened.listSessions({ ...query, limit: 10 })).items).toHaveLength(10)
      await opened.close()
      const after = await readSoFar()
      return after.rows - before.rows + after.entries - before.entries
    }
    const pages = sessionLists.flatMap(([, , query]) => [query, { ...query, page: `${sessionCount / 2}:x` }])
    const rows = (await readBy(pages)) - (await readBy([]))
    // Two to four parts of most lists, each with a row and an index entry in two tables.
    expect(rows / pages.length).toBeLessThan(3 * 11 * 4)
  })
})
