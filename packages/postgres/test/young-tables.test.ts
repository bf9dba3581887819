import { manualClock } from '@bowline/llm/testing'
import type { SessionQuery, SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'
import { setup } from '../../sessions/test/support.ts'
import { sessionLists, tenant } from '../../sessions/test/stores/session-lists.ts'

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
  const { runtime } = setup({
    steps: Array.from({ length: count }, () => ({ text: 'Done.' })),
    store: postgresStore({ connectionString: server?.url ?? '' }),
    clock: manualClock(),
  })
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

/**
 * Adds notices and timers to all sessions, and runs with calls to one. Few are wanted. The server must
 * know how many there are: it sorts what it takes for a handful.
 */
const fillOthers = `
  insert into lists.notice (namespace, session, n, hook, receiver, type, at, body, state, attempts, queued_at, settled_at)
    select 'default', row, n, case when row % 100 = 1 then 'rare' else 'usual' end, 'x', 'settled', active_at, '{}',
      case when row % 100 = 2 then 'failed' else 'delivered' end, 1, active_at, active_at
    from lists.session, generate_series(1, case when row = 7 then 20 else 1 end) as n;
  insert into lists.timer (namespace, session, key, id, kind, body)
    select 'default', row, key, 'id', case when row % 100 = 1 then 'schedule' else 'deadline' end, '{}' from lists.session;
  insert into lists.run (session, namespace, id, n, first_seq, kind, place, status, parent_session, input_hash, created_at, ended_at)
    select 7, 'default', 'run-' || n, n, 1, 'user', n, case when n > 3000 then 'queued' when n % 100 = 1 then 'error' else 'completed' end,
      case when n % 100 = 2 then 'parent' else 'other' end, 'hash', n, case when n <= 3000 then n end
    from generate_series(1, 3012) as n;
  insert into lists.run_state (run, epoch, attempts, open_calls, body) select row, 1, 0, 0, '{}' from lists.run;
  insert into lists.run_input (run, body) select row, '"go"' from lists.run;
  insert into lists.tool_call (run, step, tool_call_id, session, state, index, name, effect, input_hash, attempt)
    select row, 1, case when n % 300 = 1 then 'wanted' else 'call-' || n end, 7, 'settled', 0, 'tool', 'read', 'hash', 1 from lists.run;
  analyze lists.notice, lists.run, lists.run_state, lists.run_input, lists.tool_call`

const otherReads: readonly ((
  store: SessionStore,
  key: string,
) => Promise<{ readonly items: readonly unknown[] } | { readonly status: string }>)[] = [
  (store) => store.listNotices({ limit: 10 }),
  (store) => store.listNotices({ limit: 10, page: '2500:x.1' }),
  (store) => store.listNotices({ limit: 10, state: 'failed' }),
  (store) => store.listNotices({ limit: 10, hook: 'rare' }),
  (store, key) => store.listNotices({ limit: 10, key }),
  (store) => store.listTimers({ limit: 10, kind: 'schedule' }),
  (store) => store.listTimers({ limit: 10, kind: 'schedule', page: '6:tenantx' }),
  (store, key) => store.listRuns(key, { limit: 10 }),
  (store, key) => store.listRuns(key, { limit: 10, newestFirst: true, page: '1500' }),
  (store, key) => store.listRuns(key, { limit: 10, status: ['queued'] }),
  (store, key) => store.listRuns(key, { limit: 10, status: ['error'], newestFirst: true }),
  (store) => store.listChildren({ limit: 10, parent: { session: 'parent' } }),
  (store, key) => store.readCall(key, 'wanted'),
]

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
    await client?.query(fillOthers)
    const key = (await client?.query<{ key: string }>('select key from lists.session where row = 7'))?.rows[0]?.key
    // Counts the reads of this connection before the others.
    await client?.query('select pg_stat_force_next_flush()')
    const readBy = async (queries: readonly SessionQuery[], others: typeof otherReads = []): Promise<number> => {
      const before = await readSoFar()
      const opened = await store()
      for (const query of queries) expect((await opened.listSessions({ ...query, limit: 10 })).items).toHaveLength(10)
      for (const read of others) {
        const found = await read(opened, String(key))
        expect('items' in found ? found.items.length : found.status).toEqual('items' in found ? 10 : 'found')
      }
      await opened.close()
      const after = await readSoFar()
      return after.rows - before.rows + after.entries - before.entries
    }
    const pages = sessionLists.flatMap(([, , query]) => [query, { ...query, page: `${sessionCount / 2}:x` }])
    const rows = (await readBy(pages)) - (await readBy([]))
    for (const read of otherReads) {
      const rows = (await readBy([], [read])) - (await readBy([]))
      // A row and an index entry in at most four tables; a few for the session, and some for the notices of one time.
      expect(rows, read.toString()).toBeLessThan(2 * 21 * 4)
    }
    // Two to four parts of most lists, each with a row and an index entry in two tables.
    expect(rows / pages.length).toBeLessThan(3 * 11 * 4)
  })
})
