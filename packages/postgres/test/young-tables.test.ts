import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import type { Read, Write } from '@bowline/sessions/sql'
import { postgresStore } from '@bowline/postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'
import { setup } from '../../sessions/test/support.ts'
import { sessionLists, tenant } from '../../sessions/test/stores/session-lists.ts'
import { postgresRows } from '../src/store/postgres-rows.ts'

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
  insert into lists.session (namespace, key, section, active_at, agent, tenant, parent, status, rare_status, unused, body)
    select 'default', 'tenant:' || tenant || ':s:' || n, n % 2 + case when n % 100 = 50 then 2 else 0 end, n,
      case when n % 100 < 2 then 'assistant' else 'other' end, tenant,
      case when n % 50 = 1 then '${tenant}a' when n % 2 = 1 then 'other' end, status, nullif(status, 'completed'),
      case when status is null then 1 end, case when n % 100 = 50 then '{"record":{"expiredAt":' || n || '}}' else '{"record":{}}' end
    from (select n, case when n % 50 < 2 then 'acme' else 'b' || n % 7 end as tenant,
        case n % 100 when 0 then 'waiting-for-user' when 2 then null else 'completed' end as status
      from generate_series(1, ${sessionCount}) as n) as numbered`

/** Session with runs, calls and many notices. */
const busyKey = 'tenant:b0:s:7'

/** Adds notices and timers to all sessions, and runs with calls to one. Few are wanted. */
const fillOthers = `
  insert into lists.notice (namespace, session, n, session_id, hook, receiver, at, state, attempts, settled_at, body)
    select 'default', key, n, 'id-' || active_at, case when active_at % 100 = 1 then 'rare' else 'usual' end, 'x', active_at,
      case when active_at % 100 = 2 then 'failed' else 'delivered' end, 1, active_at, '{}'
    from lists.session, generate_series(1, case when key = '${busyKey}' then 20 else 1 end) as n;
  insert into lists.timer (namespace, session, id, kind, body)
    select 'default', key, 'id', case when active_at % 100 = 1 then 'schedule' else 'deadline' end, '{}' from lists.session;
  insert into lists.run (namespace, id, session, n, status, rare_status, place, parent_session, created_at, body)
    select 'default', 'run-' || n, '${busyKey}', n, status, nullif(status, 'completed'), case when status = 'queued' then n end,
      case when n % 100 = 2 then 'parent' else 'other' end, n, '{}'
    from (select n, case when n > 3000 then 'queued' when n % 100 = 1 then 'error' else 'completed' end as status
      from generate_series(1, 3012) as n) as numbered;
  insert into lists.input (namespace, run, session, body) select namespace, id, session, '"go"' from lists.run;
  insert into lists.call (namespace, run, step, tool_call_id, session, index, turn, body)
    select namespace, id, 1, case when n % 300 = 1 then 'wanted' else 'call-' || n end, session, 0, n, '{}' from lists.run`

type ReadOne = (store: SessionStore) => Promise<{ readonly items: readonly unknown[] } | { readonly status: string }>

const otherReads: readonly ReadOne[] = [
  (store) => store.listNotices({ limit: 10 }),
  (store) => store.listNotices({ limit: 10, page: '[2500,"x",1]' }),
  (store) => store.listNotices({ limit: 10, state: 'failed' }),
  (store) => store.listNotices({ limit: 10, hook: 'rare' }),
  (store) => store.listNotices({ limit: 10, key: busyKey }),
  (store) => store.listTimers({ limit: 10, kind: 'schedule' }),
  (store) => store.listTimers({ limit: 10, kind: 'schedule', page: '["tenant","x"]' }),
  (store) => store.listRuns(busyKey, { limit: 10 }),
  (store) => store.listRuns(busyKey, { limit: 10, newestFirst: true, page: '[1500]' }),
  (store) => store.listRuns(busyKey, { limit: 10, status: ['queued'] }),
  (store) => store.listRuns(busyKey, { limit: 10, status: ['error'], newestFirst: true }),
  (store) => store.listChildren({ limit: 10, parent: { session: 'parent' } }),
  (store) => store.readCall(busyKey, 'wanted'),
]

const fillRows = `
  insert into young.session (namespace, key, section, active_at, agent, tenant, rare_status, body)
    select 'default', 'key:' || n, n % 2, n, case when n % 100 = 0 then 'rare' else 'usual' end, 'tenant:' || n % 50,
      case when n % 500 = 0 then 'failed' end, '{}' from generate_series(1, 5000) as n;
  insert into young.entry (namespace, session, id, n, parent_id, body)
    select 'default', 'key:' || n % 10, n, n, case when n > 10 then n - 10 end, '{}' from generate_series(1, 5000) as n;
  insert into young.notice (namespace, session, n, session_id, hook, at, state, line, body)
    select 'default', 'key:' || n % 10, n, 'id', case when n % 100 = 0 then 'rare' else 'usual' end, n / 10, 'pending', n % 3, '{}'
    from generate_series(1, 5000) as n`

const limit = 10
const reads: readonly Read[] = [
  { get: 'session', ids: [['key:7']] },
  { get: 'session', ids: [['key:7'], ['key:8'], ['missing']] },
  {
    get: 'entry',
    ids: [
      ['key:7', '17'],
      ['key:8', '18'],
      ['key:8', '28'],
    ],
  },
  { walk: 'entry', from: ['key:7', '4997'], by: 'parentId', limit },
  { scan: 'session', index: 'key', equal: [], after: ['key:300'], limit },
  { scan: 'session', index: 'list', equal: [], limit },
  { scan: 'session', index: 'list', equal: [], after: [1, 2501, 'key:2501'], limit },
  { scan: 'session', index: 'list', equal: [], after: [1, 2501, 'key:2501'], reverse: true, limit },
  { scan: 'session', index: 'list', equal: [1], from: 2000, to: 3000, limit },
  { scan: 'session', index: 'agent', equal: ['rare'], limit },
  { scan: 'session', index: 'agent', equal: ['rare', 0], after: [2500, 'key:2500'], limit },
  { scan: 'session', index: 'status', equal: ['failed'], limit },
  { scan: 'session', index: 'tenantAgent', equal: ['tenant:7', 'usual'], limit },
  { scan: 'entry', index: 'id', equal: ['key:7'], after: ['2507'], limit },
  { scan: 'notice', index: 'session', equal: ['key:7'], after: [250, 'id', 2500], limit },
  { scan: 'notice', index: 'list', equal: [], after: [250, 'id', 2500], reverse: true, limit },
  { scan: 'notice', index: 'hook', equal: ['rare'], limit },
  { scan: 'notice', index: 'line', equal: ['key:7'], firstOfEach: true, limit },
]

const writes: readonly Write[] = [
  { update: 'session', id: ['key:7'], set: { agent: 'other' }, if: { section: 1, tenant: 'tenant:7' } },
  { update: 'session', id: ['key:7'], set: {}, if: { agent: 'other' } },
  { put: 'session', row: { key: 'key:8', body: '' } },
  { drop: 'entry', id: ['key:9', '9'] },
  { dropAll: { scan: 'entry', index: 'id', equal: ['key:7'], from: '91', limit } },
  { dropAll: { scan: 'notice', index: 'hook', equal: ['rare'], to: 9, limit } },
]

const counts = `select pg_stat_force_next_flush(),
  (select sum(seq_tup_read + idx_tup_fetch) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes) as reads`

/** Returns the rows and index entries read from all tables so far. Those of other connections may be missing. */
async function readOn(pool: pg.Pool): Promise<number> {
  await pool.query(counts)
  return Number((await pool.query<{ reads: string }>(counts)).rows[0]?.reads)
}

/** Opens a store with one connection. */
async function onOneConnection(schema: string) {
  const pool = new pg.Pool({ connectionString: server?.url, max: 1 })
  const store = postgresStore({ pool, schema, listen: false })
  await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1) })
  return {
    store,
    pool,
    async close() {
      await store.close()
      await pool.end()
    },
  }
}

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
    const [early, late] = [await onOneConnection('lists'), await onOneConnection('lists')]
    const pages = sessionLists.flatMap(([, , query]) => [query, { ...query, page: `[${sessionCount / 2},"x"]` }])
    const lists = pages.map(
      (query): ReadOne =>
        (from) =>
          from.listSessions({ ...query, limit: 10 }),
    )
    // One connection makes its plans for empty tables.
    for (const read of [...lists, ...otherReads]) await read(early.store)
    await client?.query(fill)
    await client?.query(fillOthers)
    await client?.query(counts)
    for (const { store, pool, close } of [early, late]) {
      const readBy = async (read: ReadOne): Promise<number> => {
        const before = await readOn(pool)
        const found = await read(store)
        expect('items' in found ? found.items.length : found.status).toEqual('items' in found ? 10 : 'found')
        return (await readOn(pool)) - before
      }
      // A page has an item more than is wanted. Most lists have one to three parts, and each row has an entry in an index.
      for (const [place, read] of lists.entries()) expect(await readBy(read), JSON.stringify(pages[place])).toBeLessThanOrEqual(3 * 11 * 2)
      // Runs have their inputs in another table.
      for (const read of otherReads) expect(await readBy(read), read.toString()).toBeLessThanOrEqual(2 * 11 * 2)
      await close()
    }
  })

  it('S47, S54: statements read their own rows only, also with plans that were made for empty tables', async () => {
    const pool = new pg.Pool({ connectionString: server?.url, max: 1 })
    const rows = postgresRows({ pool, schema: 'young', listen: false })
    await rows.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    for (const read of reads) await rows.read([read])
    for (const write of writes) await rows.write([{ writes: [write] }])
    await client?.query('truncate young.session')
    await client?.query(fillRows)
    await client?.query(counts)
    for (const read of reads) {
      const before = await readOn(pool)
      const found = (await rows.read([read])).rows[0]?.length ?? 0
      expect(found, JSON.stringify(read)).toBeGreaterThan(0)
      // Each row and its entry in an index.
      expect((await readOn(pool)) - before, JSON.stringify(read)).toBe(2 * found)
    }
    for (const write of writes) {
      const before = await readOn(pool)
      expect(await rows.write([{ writes: [write] }])).toEqual([true])
      expect((await readOn(pool)) - before, JSON.stringify(write)).toBeLessThanOrEqual(2 * 10)
    }
    await rows.close()
    await pool.end()
  })
})
