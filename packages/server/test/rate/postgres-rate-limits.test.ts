import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock, type Clock } from '@bowline/llm'
import type { Principal } from '@bowline/server'
import { createNodeServer } from '@bowline/server/node'
import { postgresRateLimiter } from '@bowline/server/rate-limits'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { isPgBouncerMissing, pgBouncers, startPostgres, testDatabase, titleWithPgBouncer } from '../../../../scripts/postgres.ts'
import { bundledFlags } from '../../../../scripts/programs.ts'
import { bench, refusal, say, type Bench, type BenchOptions } from '../support/bench.ts'

const list = '/api/agent/sessions'
const ann = { authorization: 'Basic ann' }

/** Accepts every name that a caller gives, except `nobody`. */
const auth = (request: Request): Promise<Principal | null> => {
  const id = (request.headers.get('authorization') ?? '').replace('Basic ', '')
  return Promise.resolve(id === '' || id === 'nobody' ? null : { id, tenant: 'demo', scopes: ['admin'] })
}

const database = testDatabase()
const startPooler = pgBouncers()

function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 })
  onTestFinished(() => pool.end())
  return pool
}

/** The limiter must not time out on a busy machine. */
const clock: Clock = { ...systemClock, setTimer: () => () => undefined }

const counted = (url: string, schema: string, options: BenchOptions): Promise<Bench> =>
  bench({ make: createNodeServer, clock, auth, rateLimiter: postgresRateLimiter({ pool: poolOf(url), schema }), ...options })

/** Creates two servers with one pool each. Each schema has its own buckets. */
async function twoServers(url: string, schema: string, options: BenchOptions): Promise<readonly [Bench, Bench]> {
  return Promise.all([counted(url, schema, options), counted(url, schema, options)])
}

async function statusesOf(servers: readonly Bench[], requests: number, headers = ann): Promise<Readonly<Record<number, number>>> {
  const answers = await Promise.all(
    Array.from({ length: requests }, async (_, place) => servers[place % servers.length]?.get(list, headers)),
  )
  const counts: Record<number, number> = {}
  for (const { status } of answers.flatMap((answer) => answer ?? [])) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('servers on one Postgres', () => {
  it('V75: share each limit: of requests at the same time to both, each counts, also the first ones', async () => {
    const servers = await twoServers(database.url, 'shared', { limits: { requestsPerMinute: 10 } })
    expect(await statusesOf(servers, 40)).toEqual({ 200: 10, 429: 30 })
    const refused = await servers[1].get(list, ann)
    expect(refused.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/)
    expect(await refusal(refused, 429, 'rate-limited')).toMatchObject({ retryable: true })
    // Another principal has another bucket.
    expect(await statusesOf(servers, 2, { authorization: 'Basic bob' })).toEqual({ 200: 2 })
  })

  it('V75: create the table once if they start at the same time', async () => {
    const pools = Array.from({ length: 8 }, () => poolOf(database.url))
    await Promise.all(pools.map((pool) => pool.query('select 1')))
    for (const schema of ['race_1', 'race_2', 'race_3', 'race_4', 'race_5']) {
      const states = await Promise.all(
        pools.map((pool) => postgresRateLimiter({ pool, schema })({ name: 'requests', points: 8, windowMs: 60_000 }).take('a')),
      )
      expect(states.map(({ remaining }) => remaining).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    }
  })

  it('V75: also share work and failed logins', async () => {
    const [one, two] = await twoServers(database.url, 'kinds', {
      limits: { workPerMinute: 1, authFailuresPerMinute: 2 },
      steps: [{ text: 'Hi.' }],
    })
    await (await one.execute({ input: say('hi'), context: {} }, ann)).text()
    await refusal(two.execute({ input: say('hi'), context: {} }, ann), 429, 'rate-limited')
    for (const each of [one, two]) await refusal(each.get(list, { authorization: 'Basic nobody' }), 401, 'unauthenticated')
    for (const each of [one, two]) await refusal(each.get(list, { authorization: 'Basic nobody' }), 429, 'rate-limited')
  })

  it('V75: a bucket is full again after its window, and a key may be long', async () => {
    const limiter = postgresRateLimiter({ pool: poolOf(database.url), schema: 'window' })({ name: 'requests', points: 1, windowMs: 60_000 })
    const key = 'x'.repeat(1000)
    expect(await limiter.look(key)).toEqual({ allowed: true, remaining: 1, resetMs: 0 })
    expect(await limiter.take(key)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.look(key)).toMatchObject({ allowed: false, remaining: 0 })
    expect(await limiter.take(key)).toMatchObject({ allowed: false, remaining: 0 })
    await poolOf(database.url).query('update "window".rate_limits set expire = expire - 60000')
    expect(await limiter.look(key)).toEqual({ allowed: true, remaining: 1, resetMs: 0 })
    expect(await limiter.take(key)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('V75: need no right to create a table if it exists', async () => {
    const owner = poolOf(database.url)
    const limiterOf = (pool: pg.Pool) => postgresRateLimiter({ pool, schema: 'rights' })({ name: 'requests', points: 2, windowMs: 60_000 })
    await limiterOf(owner).take('a')
    await owner.query(
      `create role few_rights login; grant usage on schema rights to few_rights; grant select, insert, update on rights.rate_limits to few_rights`,
    )
    const few = new pg.Pool({ connectionString: database.url, options: '-c role=few_rights' })
    try {
      await expect(few.query('create table rights.other ()')).rejects.toThrow('permission denied')
      expect(await limiterOf(few).take('a')).toMatchObject({ allowed: true, remaining: 0 })
    } finally {
      await few.end()
      await owner.query('drop owned by few_rights; drop role few_rights')
    }
  })

  it('V80: while Postgres is away reads pass and new work is 503, and each limit counts again afterwards', async () => {
    const server = await startPostgres()
    try {
      const it = await counted(server.tcpUrl, 'bowline', { limits: { requestsPerMinute: 3 }, steps: [{ text: 'Hi.' }] })
      expect((await it.get(list, ann)).headers.get('ratelimit')).toMatch(/^"requests";r=2;t=\d+$/)
      await server.end()
      for (let count = 0; count < 4; count++) expect((await it.get(list, ann)).status).toBe(200)
      const problem = await refusal(it.execute({ input: say('hi'), context: {} }, ann), 503, 'store-unavailable')
      expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
      expect(JSON.stringify(it.faults)).toContain('the rate limiter failed')
      expect(JSON.stringify(it.faults)).not.toContain('bowline@')
      await server.start()
      // After the crash the table is empty.
      await vi.waitFor(async () => expect((await it.get(list, ann)).headers.get('ratelimit')).toMatch(/^"requests"/), { timeout: 20_000 })
      expect((await statusesOf([it], 4))[429]).toBeGreaterThan(0)
    } finally {
      await server.stop()
    }
  })

  it('V80: a server that starts before Postgres counts as soon as Postgres is up, and after the table was dropped', async () => {
    const pool = poolOf(database.url)
    let isAway = true
    const late = {
      on: pool.on.bind(pool),
      removeListener: pool.removeListener.bind(pool),
      query: async (query: { text: string; values?: unknown[] }) => (isAway ? Promise.reject(new Error('away')) : pool.query(query)),
    }
    const limiter = postgresRateLimiter({ pool: late, schema: 'late' })({ name: 'work', points: 2, windowMs: 60_000 })
    await expect(limiter.take('a')).rejects.toThrow('away')
    isAway = false
    expect(await limiter.take('a')).toMatchObject({ remaining: 1 })
    await pool.query('drop schema late cascade')
    await expect(limiter.take('a')).rejects.toThrow()
    expect(await limiter.take('a')).toMatchObject({ remaining: 1 })
  })

  it('V75: the example of the documentation counts in the database', async () => {
    const folder = join(import.meta.dirname, '../..')
    const example =
      /```ts check\n(.*?)```/s.exec(readFileSync(join(folder, '../../docs/guides/rate-limits.md'), 'utf8'))?.[1] ??
      expect.fail('there is no example')
    const script = `
      import { systemClock } from '@bowline/llm'
      // The limiter must not time out on a busy machine.
      const clock = { ...systemClock, setTimer: () => () => undefined }
      ${example.replace('createNodeServer({', 'createNodeServer({ clock,')}
      const { headers } = await server.fetch(new Request('http://127.0.0.1/api/agent/sessions', { headers: { host: '127.0.0.1' } }), { remoteAddress: '127.0.0.1' })
      console.error(headers.get('ratelimit'))
      await server.close()
      await pool.end()`
    const flags = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
    const { stderr } = await promisify(execFile)(process.execPath, flags, {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: database.url },
    })
    expect(stderr).toMatch(/^"requests";r=599;t=\d+\n$/)
    const { rows } = await poolOf(database.url).query('select key, points from bowline.rate_limits')
    expect(rows).toEqual([{ key: 'bowline-requests:acme/ann', points: 1 }])
  })
})

describe.skipIf(isPgBouncerMissing)(titleWithPgBouncer('PgBouncer in transaction mode'), () => {
  it('V75: count though each statement may have another connection of the pool', async () => {
    const url = await startPooler(database.url, 'transaction', { default_pool_size: '2' })
    const servers = await twoServers(url, 'pooled', { limits: { requestsPerMinute: 20 } })
    expect(await statusesOf(servers, 60)).toEqual({ 200: 20, 429: 40 })
  })
})
