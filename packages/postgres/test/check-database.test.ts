import { systemClock } from '@bowline/llm'
import type { Batch, Write } from '@bowline/sessions'
import type { PostgresStore, PostgresStoreOptions } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { warningsOf } from '../src/store/check-database.ts'
import { postgresPlace } from './place.ts'

const place = postgresPlace()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function openEmpty(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  const store = await place.empty(options)
  await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
  closing.push(() => store.close())
  return store
}

let batches = 0
const batch = (key: string, writes: readonly Write[]): Batch => ({ id: `batch-${++batches}`, key, expect: [], writes })
const ensure = (key: string): Write => ({
  op: 'session.ensure',
  session: { id: `session-${key}`, agent: 'assistant', metadata: {}, at: 1 },
})
const insertRun = (id: string, at = Date.now()): Write => ({
  op: 'run.insert',
  run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at },
})
const request = { owner: 'owner-a', max: 10, leaseMs: 10_000, agents: ['assistant'], holds: [] }

describe('the check of a Postgres store', () => {
  it('S192: in an empty database no work waits, and this process is listed', async () => {
    const store = await openEmpty()
    expect(await store.check()).toMatchObject({ processes: 1, waiting: 0, warnings: [] })
  })

  it('S192: a claimable run counts as waiting, and the runs after it in its session do not', async () => {
    const store = await openEmpty()
    await store.commit(
      batch('room:1', [ensure('room:1'), insertRun('run-1', Date.now() - 120_000), insertRun('run-2', Date.now() - 200_000)]),
    )
    await store.commit(
      batch('room:2', [
        ensure('room:2'),
        insertRun('later'),
        { op: 'run.patch', runId: 'later', patch: { notBefore: Date.now() + 60_000 } },
      ]),
    )
    const report = await store.check()
    expect(report).toMatchObject({ waiting: 1, warnings: [{ code: 'work-waits' }] })
    expect(report.oldestWaitMs).toBeGreaterThanOrEqual(119_000)
    expect(report.oldestWaitMs).toBeLessThan(190_000)
    await store.claim(request)
    expect(await store.check()).toMatchObject({ waiting: 0, warnings: [] })
  })

  it('S192: a snapshot that any transaction holds is reported', async () => {
    const store = await openEmpty()
    const holder = new pg.Client({ connectionString: place.url })
    await holder.connect()
    closing.push(() => holder.end())
    await holder.query('begin isolation level repeatable read')
    await holder.query('select 1')
    const first = (await store.check()).oldestSnapshotMs ?? -1
    expect(first).toBeGreaterThanOrEqual(0)
    await vi.waitFor(async () => expect((await store.check()).oldestSnapshotMs).toBeGreaterThan(first), { timeout: 10_000 })
  })

  it('S192: a missing direct connection is reported, unless the store does not want one', async () => {
    const pool = new pg.Pool({ connectionString: place.url, max: 2 })
    closing.push(() => pool.end())
    const alone = await openEmpty({ listen: false })
    expect((await alone.check()).warnings).toEqual([])
    await alone.commit(batch('room:1', [ensure('room:1'), insertRun('run-1')]))
    expect((await alone.check()).warnings).toMatchObject([{ code: 'nobody-claims' }])
  })

  it('S192: each warning says what to do, and has its limit', () => {
    const fine = { processes: 1, waiting: 1, oldest: 60_000, snapshot: 60_000 }
    const codes = (found: Partial<typeof fine>) => warningsOf({ ...fine, ...found }).map(({ code }) => code)
    expect(codes({})).toEqual([])
    expect(codes({ processes: 0 })).toEqual(['nobody-claims'])
    expect(codes({ processes: 0, waiting: 0 })).toEqual([])
    expect(codes({ oldest: 60_001 })).toEqual(['work-waits'])
    expect(codes({ snapshot: 60_001 })).toEqual(['old-snapshot'])
    expect(warningsOf({ ...fine, oldest: 90_000 })[0]?.message).toContain('90 s: start more processes')
  })
})

describe('the metrics of a Postgres store', () => {
  it('S199: count claims, recovered claims, lost leases and its connections', async () => {
    const store = await openEmpty({ poolSize: 2 })
    expect(store.metrics()).toMatchObject({
      claims: 0,
      recovered: 0,
      direct: 'open',
      takeovers: 0,
      reconnects: 0,
      pool: { waits: 0, waiting: 0 },
    })
    await store.commit(batch('room:1', [ensure('room:1'), insertRun('run-1')]))
    expect(await store.claim(request)).toHaveLength(1)
    expect(await store.claim({ ...request, owner: 'owner-a' })).toHaveLength(1)
    expect(
      await store.renew(
        [
          { runId: 'run-1', epoch: 1 },
          { runId: 'run-1', epoch: 2 },
        ],
        10_000,
      ),
    ).toMatchObject([{ held: false }, { held: true }])
    expect(store.metrics()).toMatchObject({ claims: 2, recovered: 1, lostLeases: 1 })
  })

  it('S199: count callers that wait for a connection, and their waiting time', async () => {
    const store = await openEmpty({ poolSize: 1 })
    await Promise.all(Array.from({ length: 8 }, () => store.readSession('room:1')))
    const { pool } = store.metrics()
    expect(pool).toMatchObject({ connections: 1, waiting: 0 })
    expect(pool.waits).toBeGreaterThanOrEqual(6)
    expect(pool.waitedMs).toBeGreaterThan(0)
  })

  it('S199: count hints, and the delay of the last one', async () => {
    const store = await openEmpty()
    await store.commit(batch('room:1', [ensure('room:1')]))
    await vi.waitFor(
      () => expect(store.metrics()).toMatchObject({ hintBatches: 1, hintsSent: 1, notifyLagMs: expect.any(Number) as number }),
      { timeout: 10_000 },
    )
  })

  it('S199: are refused if the store is not open', async () => {
    const store = place.store()
    expect(() => store.metrics()).toThrow(/open/)
    await expect(store.check()).rejects.toMatchObject({ code: 'store-unavailable' })
  })
})
