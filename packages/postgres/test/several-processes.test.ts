import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { Batch, LoggedEvent, Runtime, SessionStore, StoreHint, Write, Wake } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import type { PostgresStoreOptions } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { DeltaBatch } from '@bowline/sessions/store-parts'
import { SessionError } from '@bowline/sessions'
import { DeltaWriter } from '../src/store/delta-table.ts'
import { gate, setup } from '../../sessions/test/support.ts'
import { postgresPlace } from './place.ts'
import { wireProxies } from './wire-proxy.ts'

const place = postgresPlace()
const startProxy = wireProxies()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  warnings.length = 0
  for (const close of closing.splice(0).reverse()) await close()
})

const warnings: string[] = []
const onWarning = (message: string): void => void warnings.push(message)

async function open(store: SessionStore, owner: string): Promise<SessionStore> {
  await store.open({ namespace: 'default', owner, clock: systemClock })
  closing.push(() => store.close())
  return store
}

function runtimeOver(options: PostgresStoreOptions, more: Partial<Parameters<typeof setup>[0]>): Runtime {
  const { runtime } = setup({ steps: [], store: place.store({ onWarning, ...options }), clock: systemClock, ...more })
  closing.push(() => runtime.stop())
  return runtime
}

let batches = 0
const ensure: Write = { op: 'session.ensure', session: { id: 'session', agent: 'assistant', metadata: {}, at: 1 } }
const insertRun = (id: string): Write => ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1 } })
const batch = (writes: readonly Write[], fields: Partial<Batch> = {}): Batch => ({
  id: `batch-${++batches}`,
  key: 'room:1',
  expect: [],
  writes,
  ...fields,
})
const requestOf = (owner: string) => ({ owner, max: 10, leaseMs: 60_000, agents: ['assistant'], holds: [] })

const processesOf = (owner: string) => place.query('select name, lock_key::text as key from bowline.process where owner = $1', [owner])
const directOf = async (owner: string): Promise<unknown> => {
  const rows = await place.query(
    `select pid from bowline.process join pg_locks on locktype = 'advisory' and objsubid = 1 and granted and (classid::bigint << 32 | objid::bigint) = lock_key where owner = $1`,
    [owner],
  )
  return rows[0]?.['pid']
}

/** Locks rows or tables until the test releases them or ends. */
async function keep(text: string): Promise<{ letGo(): Promise<void> }> {
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  await client.query(`begin; ${text}`)
  let isOver = false
  const letGo = async (): Promise<void> => {
    if (isOver) return
    isOver = true
    await client.query('rollback')
    await client.end()
  }
  closing.push(letGo)
  return { letGo }
}

/** Resolves when a statement that matches `like` waits for a lock. */
async function untilWaiting(like: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const rows = await place.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like $1 and datname = current_database()",
        [like],
      )
      expect(rows).toHaveLength(1)
    },
    { timeout: 10_000 },
  )
}

/** Opens two processes on empty tables. `die` ends the direct connections of one of them for good: it cannot register again. */
async function openBoth(): Promise<{ readonly dying: SessionStore; readonly living: SessionStore; die(): Promise<void> }> {
  const { url, close } = await startProxy(place.url)
  const dying = await open(await place.empty({ onWarning, directConnectionString: url }), 'dying')
  return { dying, living: await open(place.store({ onWarning }), 'living'), die: close }
}

describe('several processes on one Postgres', () => {
  it('S184: the runs of a dead process are taken over at once, even if its leases have not ended', async () => {
    const { dying, living, die } = await openBoth()
    await dying.commit(batch([ensure, insertRun('run-1')]))
    expect(await dying.claim(requestOf('dying'))).toHaveLength(1)
    expect(await living.claim(requestOf('living'))).toEqual([])
    const woken = new Promise<StoreHint>((resolve) => living.subscribe((hint) => hint.key === 'room:1' && resolve(hint)))
    await die()
    await vi.waitUntil(async () => (await living.claim(requestOf('living'))).length === 1 || undefined, { timeout: 10_000, interval: 20 })
    expect(await woken).toMatchObject({ wake: true, elsewhere: true })
  })

  it('S185: a process without its direct connection claims nothing, and claims again when it has one', async () => {
    const store = await open(await place.empty({ onWarning }), 'cut')
    await store.commit(batch([ensure, insertRun('run-1')]))
    // It cannot register while the table is locked.
    const direct = await directOf('cut')
    const table = await keep('lock table bowline.process in access exclusive mode')
    await place.query('select pg_terminate_backend($1)', [direct])
    await vi.waitFor(() => expect(warnings.at(-1)).toContain('The direct connection to Postgres was lost'), { timeout: 10_000 })
    expect(await store.claim(requestOf('cut'))).toEqual([])
    await table.letGo()
    await vi.waitUntil(async () => (await store.claim(requestOf('cut'))).length === 1, { timeout: 10_000, interval: 20 })
  })

  it('S185: a process that has registered again looks for work at once, without a hint or a poll', async () => {
    await (await place.empty({ onWarning })).close()
    const runtime = runtimeOver({}, { clock: manualClock(), steps: [{ text: 'done' }] })
    await runtime.start()
    const run = await runtime.session('room:1').send('go', { notBefore: Date.now() + 3_600_000 })
    const [row] = await place.query('select owner from bowline.process')
    const direct = await directOf(String(row?.['owner']))
    // It listens again, and cannot register while the table is locked.
    const table = await keep('lock table bowline.process in access exclusive mode')
    await place.query('select pg_terminate_backend($1)', [direct])
    await untilWaiting('select from "bowline".process%')
    await place.query("update bowline.run set body = (body::jsonb #- '{notBefore}')::text")
    await place.query('update bowline.session set not_before = null')
    await table.letGo()
    expect((await run.result()).text).toBe('done')
  })

  it('S185: a process that does not know that it was taken over claims nothing, because the claim checks', async () => {
    const store = await open(await place.empty({ onWarning }), 'unknowing')
    await store.commit(batch([ensure, insertRun('run-1')]))
    const { length } = await processesOf('unknowing')
    expect(length).toBe(1)
    await place.query('delete from bowline.process')
    expect(await store.claim(requestOf('unknowing'))).toEqual([])
  })

  it('S184: a takeover sees a claim under way of the dead process', async () => {
    const { dying, living, die } = await openBoth()
    await dying.commit(batch([ensure, insertRun('run-1')]))
    // The claim waits for the row while its process is still registered.
    const row = await keep('select 1 from bowline.run for update')
    const claim = dying.claim(requestOf('dying'))
    await untilWaiting('%update "bowline"."run"%')
    await die()
    await untilWaiting('delete from "bowline".process%')
    await row.letGo()
    expect(await claim).toHaveLength(1)
    await vi.waitUntil(async () => (await living.claim(requestOf('living'))).length === 1, { timeout: 10_000, interval: 20 })
  })

  it('S184: a process under another name keeps its leases, and so do all others', async () => {
    const [slow, living] = [await open(await place.empty({ onWarning }), 'slow'), await open(place.store({ onWarning }), 'living')]
    await slow.commit(batch([ensure, insertRun('run-1')]))
    await slow.claim(requestOf('slow'))
    // A row with an old name of the process, and one of a process without leases. No process holds their locks.
    await place.query("insert into bowline.process values ('default', 'slow#former', 'slow', 1, 0), ('default', 'idle#1', 'idle', 2, 0)")
    await vi.waitFor(async () => expect(await place.query('select name from bowline.process where lock_key in (1, 2)')).toEqual([]), {
      timeout: 10_000,
    })
    expect(await living.claim(requestOf('living'))).toEqual([])
  })

  it('S187: an input that one process accepts is started by another one without waiting for its next poll', async () => {
    await (await place.empty({ onWarning })).close()
    const here = runtimeOver({}, { concurrency: 0 })
    // Its clock stands still: no poll is due.
    const there = runtimeOver({}, { clock: manualClock(), steps: () => Promise.resolve({ text: 'done' }) })
    await here.start()
    await there.start()
    for (let n = 1; n <= 5; n++) {
      const run = await here.session(`room:${n}`).send('go')
      expect((await run.result()).text).toBe('done')
    }
  })

  it('S173: after a lost connection the process looks for what was stored in the meantime', async () => {
    await (await place.empty({ onWarning })).close()
    const [began, aborted] = [gate(), gate()]
    const working = runtimeOver(
      {},
      {
        lease: { ttlMs: 600_000, heartbeatMs: 300_000 },
        steps: async ({ abortSignal }) => {
          began.open()
          await new Promise((_resolve, reject) =>
            abortSignal?.addEventListener('abort', () => (aborted.open(), reject(new Error('aborted')))),
          )
          return { text: 'never' }
        },
      },
    )
    await working.start()
    await working.session('room:1').send('go')
    await began.passed
    await place.query('update bowline.lease set stop = $1', [JSON.stringify({ at: Date.now() })])
    const [row] = await place.query('select owner from bowline.process')
    await place.query('select pg_terminate_backend($1)', [await directOf(String(row?.['owner']))])
    await aborted.passed
    await vi.waitFor(async () => expect(await working.session('room:1').info()).toMatchObject({ status: 'stopped' }), { timeout: 10_000 })
  })

  it('S187: with LISTEN off everything arrives, but later', async () => {
    await (await place.empty({ onWarning })).close()
    const here = runtimeOver({ listen: false }, { concurrency: 0 })
    const there = runtimeOver({ listen: false }, { steps: [{ text: 'done' }] })
    await here.start()
    await there.start()
    const run = await here.session('room:1').send('go')
    expect((await run.result()).text).toBe('done')
    expect(await place.query('select 1 from bowline.process')).toEqual([])
  })

  it('S188: a reader sees the deltas of a run in another process before their message is complete', async () => {
    await (await place.empty({ onWarning })).close()
    const here = runtimeOver({}, { concurrency: 0 })
    const held = gate()
    const parts = [
      { type: 'text-start', id: 't' } as const,
      { type: 'text-delta', id: 't', delta: 'first ' } as const,
      { wait: held.passed },
      { type: 'text-delta', id: 't', delta: 'second' } as const,
      { type: 'text-end', id: 't' } as const,
    ]
    const there = runtimeOver({}, { steps: [{ parts }] })
    await here.start()
    await there.start()
    const run = await here.session('room:1').send('go')
    const texts: string[] = []
    for await (const event of run as AsyncIterable<LoggedEvent>) {
      if (event.type !== 'text-delta') continue
      texts.push(event.delta)
      held.open()
    }
    // The rest may arrive with the message that replaces the deltas.
    expect('first second'.startsWith(texts.join(''))).toBe(true)
    expect(texts[0]).toBe('first ')
    expect((await run.result()).text).toBe('first second')
    expect(await place.query('select 1 from bowline.delta')).toEqual([])
  })

  it('S188, S105: a deleted session leaves no live deltas in the tables', async () => {
    const store = await open(await place.empty({ onWarning, listen: false }), 'deleting')
    await store.commit(batch([ensure, insertRun('run-1')]))
    await store.claim(requestOf('deleting'))
    await store.deltas?.push({ key: 'room:1', runId: 'run-1', epoch: 1, base: 1, n: 1, events: [] })
    expect(await place.query('select n::int from bowline.delta')).toEqual([{ n: 1 }])
    await store.commit(
      batch([
        { op: 'run.patch', runId: 'run-1', patch: { status: 'aborted' } },
        { op: 'session.delete', at: 1 },
      ]),
    )
    expect(await place.query('select n::int from bowline.delta')).toEqual([])
  })

  it('S193: a closed process leaves no connection, no lock and no row', async () => {
    const store = await open(await place.empty({ onWarning }), 'closing')
    await store.close()
    closing.length = 0
    expect(await processesOf('closing')).toEqual([])
    const left = `select query from pg_stat_activity where application_name = 'bowline' and datname = current_database()`
    await vi.waitFor(async () => expect(await place.query(left)).toEqual([]), { timeout: 10_000 })
    expect(
      await place.query(
        `select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
      ),
    ).toEqual([])
  })

  it('S193: a serverless host does its work in drain, and leaves no connection, no lock and no lease', async () => {
    await (await place.empty({ onWarning })).close()
    const wakes: number[] = []
    const serverless = { listen: false, poolSize: 1 } as const
    const accepting = runtimeOver(serverless, { concurrency: 0, timers: false, onWake: ({ atMs }) => void wakes.push(atMs) })
    await accepting.session('room:1').send('go')
    expect(wakes.length).toBeGreaterThan(0)
    await accepting.stop()
    const working = runtimeOver(serverless, { steps: [{ text: 'done' }], timers: false, onWake: ({ atMs }) => void wakes.push(atMs) })
    expect(await working.drain({ untilMs: Date.now() + 60_000 })).toMatchObject({ ran: 1, left: 0 })
    expect(await working.session('room:1').info()).toMatchObject({ status: 'completed' })
    await working.stop()
    expect(await place.query('select 1 from bowline.lease')).toEqual([])
    expect(await place.query('select 1 from bowline.process')).toEqual([])
    await vi.waitFor(
      async () =>
        expect(
          await place.query(`select query from pg_stat_activity where application_name = 'bowline' and datname = current_database()`),
        ).toEqual([]),
      { timeout: 10_000 },
    )
  })

  it('S193: with placement host, processes hold no lock and no row of the ring, one takes over from another at once, and hints arrive', async () => {
    await (await place.empty({ onWarning })).close()
    const wakes: string[] = []
    const host = { timers: false, placement: 'host', onWake: ({ key = '' }: Wake) => void wakes.push(key) } as const
    const began = gate()
    const steps: Parameters<typeof setup>[0]['steps'] = () => {
      began.open()
      return new Promise(() => undefined)
    }
    const frozen = runtimeOver({}, { steps, ...host })
    const session = frozen.session('room:1')
    const run = await session.send('go')
    expect(wakes).toEqual(['room:1'])
    const lost = frozen.work('room:1', { takeOver: true })
    await began.passed
    expect(await place.query('select 1 from bowline.process')).toEqual([])
    expect(
      await place.query(
        `select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
      ),
    ).toEqual([])
    const worker = runtimeOver({}, { steps: [{ text: 'taken over' }], ...host })
    expect(await worker.work('room:1')).toMatchObject({ ran: 0, nextDueAt: expect.any(Number) as number })
    expect(await worker.work('room:1', { takeOver: true })).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    // The hint of the claim fences the other process.
    expect(await lost).toEqual({ ran: 0, yielded: 0, nextDueAt: null })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'taken over' })
    await worker.stop()
    await frozen.stop()
  })

  it('S194: when a process stops, another one resumes its runs at once', async () => {
    await (await place.empty({ onWarning })).close()
    const began = gate()
    const leaving = runtimeOver(
      {},
      {
        steps: async (call) => (
          began.open(),
          await new Promise((_resolve, reject) => call.abortSignal?.addEventListener('abort', () => reject(new Error('stopped'))))
        ),
      },
    )
    await leaving.start()
    const session = leaving.session('room:1')
    await session.send('go')
    await began.passed
    // Its clock stands still: no poll is due.
    const going = runtimeOver({}, { clock: manualClock(), steps: [{ text: 'from the other one' }] })
    await going.start()
    await leaving.stop()
    await vi.waitFor(async () => expect(await going.session('room:1').info()).toMatchObject({ status: 'completed' }), { timeout: 10_000 })
    expect(
      await place.query("select (body::json ->> 'epoch')::int as epoch, (body::json ->> 'attempts')::int as attempts from bowline.run"),
    ).toEqual([{ epoch: 2, attempts: 0 }])
  })

  it('S190: a process has at most two connections besides its pool', async () => {
    const store = await open(await place.empty({ onWarning, poolSize: 3 }), 'counted')
    await Promise.all(Array.from({ length: 20 }, () => store.readSession('room:1')))
    await vi.waitFor(
      async () => {
        const rows = await place.query(`select 1 from pg_stat_activity where application_name = 'bowline' and datname = current_database()`)
        expect(rows.length).toBe(5)
      },
      { timeout: 10_000 },
    )
  })
})

describe('the direct connection', () => {
  it('S189: a pool alone causes a warning that says what to do, and works', async () => {
    await (await place.empty({ onWarning })).close()
    const told: string[] = []
    const pool = new pg.Pool({ connectionString: place.url, max: 2 })
    closing.push(() => pool.end())
    const store = await open(place.store({ pool, listen: true, onWarning: (message) => void told.push(message) }), 'pooled')
    await store.commit(batch([ensure, insertRun('run-1')]))
    expect(await store.claim(requestOf('pooled'))).toHaveLength(1)
    expect(told).toEqual([expect.stringContaining('Give it a directConnectionString to the server, or set listen to false.')])
  })

  it('S194: a direct connection that cannot be opened ends the start with an error that names no server', async () => {
    await (await place.empty({ onWarning })).close()
    const store = postgresStore({
      connectionString: place.url,
      directConnectionString: place.url.replace(/\/test_\d+_\d+/, '/missing_database'),
      onWarning,
    })
    await expect(store.open({ namespace: 'default', owner: 'a', clock: systemClock })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('The database does not exist') as string,
    })
    const left = `select query from pg_stat_activity where application_name = 'bowline' and datname = current_database()`
    await vi.waitFor(async () => expect(await place.query(left)).toEqual([]), { timeout: 10_000 })
  })

  it('an unused directConnectionString is refused', () => {
    expect(() =>
      postgresStore({ connectionString: 'postgres://localhost/x', directConnectionString: 'postgres://localhost/x', listen: false }),
    ).toThrow(/leave one of them out/)
  })
})

describe('DeltaWriter', () => {
  const delta = (n: number): DeltaBatch => ({ key: 'room:1', runId: 'run', epoch: 1, base: 1, n, events: [] })

  it('S188: writes the deltas that arrive during a write together, one write at a time', async () => {
    const written: number[][] = []
    const first = gate()
    const writer = new DeltaWriter(async (given) => {
      written.push(given.map(({ n }) => n))
      await first.passed
    })
    const pushes = [1, 2, 3].map((n) => writer.push(delta(n)))
    expect(written).toEqual([[1]])
    first.open()
    await Promise.all(pushes)
    expect(written).toEqual([[1], [2, 3]])
  })

  it('S188: a failure rejects the deltas of that write, and the next ones are written', async () => {
    const failure = new SessionError('store-unavailable', 'gone')
    let writes = 0
    const writer = new DeltaWriter(() => (++writes === 1 ? Promise.reject(failure) : Promise.resolve()))
    await expect(writer.push(delta(1))).rejects.toBe(failure)
    await writer.push(delta(2))
    expect(writes).toBe(2)
  })
})
