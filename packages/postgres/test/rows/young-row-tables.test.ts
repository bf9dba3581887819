import { systemClock } from '@bowline/llm'
import type { Read, Write } from '@bowline/sessions/sql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../../scripts/postgres.ts'
import { postgresRows } from '../../src/store/postgres-rows.ts'

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

const fill = `
  insert into bowline.session (namespace, key, section, active_at, agent, tenant, rare_status, body)
    select 'default', 'key:' || n, n % 2, n, case when n % 100 = 0 then 'rare' else 'usual' end, 'tenant:' || n % 50,
      case when n % 500 = 0 then 'failed' end, '{}' from generate_series(1, 5000) as n;
  insert into bowline.entry (namespace, session, id, n, parent_id, body)
    select 'default', 'key:' || n % 10, n, n, case when n > 10 then n - 10 end, '{}' from generate_series(1, 5000) as n;
  insert into bowline.notice (namespace, session, n, session_id, hook, at, state, line, body)
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

describe('rows in tables without statistics', () => {
  it('statements read their own rows only, also with plans that were made for empty tables', async () => {
    const pool = new pg.Pool({ connectionString: server?.url, max: 1 })
    const rows = postgresRows({ pool, listen: false })
    await rows.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    for (const read of reads) await rows.read([read])
    for (const write of writes) await rows.write([{ writes: [write] }])
    await client?.query('truncate bowline.session')
    await client?.query(fill)
    await client?.query(counts)
    const readSoFar = async (): Promise<number> => {
      await pool.query(counts)
      return Number((await pool.query<{ reads: string }>(counts)).rows[0]?.reads)
    }
    for (const read of reads) {
      const before = await readSoFar()
      const found = (await rows.read([read])).rows[0]?.length ?? 0
      expect(found, JSON.stringify(read)).toBeGreaterThan(0)
      // Each row and its entry in an index.
      expect((await readSoFar()) - before, JSON.stringify(read)).toBe(2 * found)
    }
    for (const write of writes) {
      const before = await readSoFar()
      expect(await rows.write([{ writes: [write] }])).toEqual([true])
      expect((await readSoFar()) - before, JSON.stringify(write)).toBeLessThanOrEqual(2 * 10)
    }
    await rows.close()
    await pool.end()
  })
})
