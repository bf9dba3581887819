import type { Socket } from 'node:net'
import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { Batch, SessionStore, Write } from '@bowline/sessions'
import type { PostgresPool, PostgresQuery } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { setup } from '../../sessions/test/support.ts'
import { postgresPlace } from './place.ts'
import { watchedPool, type Watch } from './watched-pool.ts'

const place = postgresPlace()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(store: SessionStore, owner = 'owner-a'): Promise<SessionStore> {
  await store.open({ namespace: 'default', owner, clock: systemClock })
  closing.push(() => store.close())
  return store
}

let batches = 0
const batch = (writes: readonly Write[], fields: Partial<Batch> = {}): Batch => ({
  id: `batch-${(batches += 1)}`,
  key: 'room:1',
  expect: [],
  writes,
  ...fields,
})
const ensure = (key = 'room:1'): Write => ({
  op: 'session.ensure',
  session: { id: `session-${key}`, agent: 'assistant', metadata: {}, at: 1 },
})
const insertRun = (id: string): Write => ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1 } })
const event = (): Write => ({ op: 'event.append', events: [{ event: { type: 'run-queued', at: 1 } }] })
const entry = (id: string, parentId: string | null): Write => ({
  op: 'entry.append',
  entries: [{ id, parentId, type: 'note', text: 'x', at: 1 }],
})
const request = { owner: 'owner-a', max: 10, leaseMs: 10_000, agents: ['assistant'], holds: [] }

function watched(watch: Watch): PostgresPool {
  const { pool, end } = watchedPool(place.url, watch)
  closing.push(end)
  return pool
}

/** Counts round trips: writes to a connection without an outstanding answer. */
function countingPool(): { readonly pool: PostgresPool; roundTrips(): number } {
  let trips = 0
  const pool = watched(() => undefined)
  const unanswered = new WeakMap<object, number>()
  const counting: PostgresPool = {
    ...pool,
    async connect() {
      const client = await pool.connect()
      const change = (by: number): number => {
        const before = unanswered.get(client) ?? 0
        unanswered.set(client, before + by)
        return before
      }
      const query = async (asked: PostgresQuery) => {
        if (change(1) === 0) trips += 1
        try {
          return await client.query(asked)
        } finally {
          change(-1)
        }
      }
      return new Proxy(client, { get: (target, name) => (name === 'query' ? query : (Reflect.get(target, name) as unknown)) })
    },
  }
  return {
    pool: counting,
    roundTrips() {
      const counted = trips
      trips = 0
      return counted
    },
  }
}

describe('commits to Postgres', () => {
  it('S182: a commit takes two round trips, whatever it contains, and a claim three', async () => {
    await (await place.empty()).close()
    const { pool, roundTrips } = countingPool()
    const store = await open(place.store({ pool, directConnectionString: place.url, migrate: false }))
    roundTrips()
    const tripsOf = async (work: () => Promise<unknown>): Promise<number> => {
      expect(await work()).not.toMatchObject({ ok: false })
      return roundTrips()
    }
    const commit = (writes: readonly Write[], fields?: Partial<Batch>) => tripsOf(() => store.commit(batch(writes, fields)))
    expect(await commit([ensure(), insertRun('run-1'), event()], { expect: [{ that: 'queue-below', max: 10 }] })).toBe(2)
    expect(await tripsOf(() => store.claim({ ...request }))).toBe(3)
    const fence = { that: 'fence', runId: 'run-1', epoch: 1 } as const
    const child = { id: 'd', to: 'room:2', writes: [ensure('room:2'), insertRun('child'), event()] }
    const writes = [
      entry('a', null),
      entry('b', 'a'),
      event(),
      { op: 'definition.put', hash: 'h', body: {} },
      { op: 'run.patch', runId: 'run-1', patch: { definition: 'h' } },
    ] as const
    expect(await commit(writes, { expect: [fence], deliver: [child] })).toBe(2)
    const end = { op: 'run.patch', runId: 'run-1', patch: { status: 'completed' } } as const
    expect(
      await commit([end, event()], {
        expect: [fence, { that: 'inbox-empty', kinds: ['steer'] }, { that: 'none-queued', except: 'run-1' }],
      }),
    ).toBe(2)
    expect(await tripsOf(() => store.readSession('room:1'))).toBe(1)
    expect(await tripsOf(() => store.readEvents('room:1', 0, 100))).toBeLessThanOrEqual(2)
    expect(await tripsOf(() => store.due(10))).toBe(1)
    expect(await tripsOf(() => store.state.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' }))).toBe(1)
  })

  it('S182: statements that are sent together leave in one packet', async () => {
    await (await place.empty()).close()
    let packets = 0
    const pool = new pg.Pool({ connectionString: place.url, max: 1 })
    closing.push(() => pool.end())
    pool.on('connect', (client) => {
      const { stream } = (client as unknown as { connection: { stream: Record<'_write' | '_writev', (...given: unknown[]) => void> } })
        .connection
      for (const name of ['_write', '_writev'] as const) {
        const send = stream[name].bind(stream)
        stream[name] = (...given) => ((packets += 1), send(...given))
      }
    })
    const store = await open(place.store({ pool, directConnectionString: place.url, migrate: false }))
    await store.commit(batch([ensure(), insertRun('run-1'), event()]))
    packets = 0
    await store.commit(batch([event(), event(), entry('a', null)]))
    expect(packets).toBe(2)
    packets = 0
    await store.claim({ ...request })
    expect(packets).toBe(3)
  })

  it('S182: a plain turn takes at most 24 round trips from its input to its end, with a reader of its session', async () => {
    await (await place.empty()).close()
    const { pool, roundTrips } = countingPool()
    const store = place.store({ pool, directConnectionString: place.url, migrate: false })
    // No poll is due during the turn.
    const { runtime, faults } = setup({ steps: [{ text: 'one' }, { text: 'two' }], store, clock: manualClock() })
    await runtime.start()
    closing.push(() => runtime.stop())
    const session = runtime.session('room:1')
    await (await session.send('first')).result()
    // After the first sweep, and after everything that is stored after the first run.
    await runtime.sweep()
    const { cursor } = await session.open()
    const settled = (async () => {
      for await (const event of session.events({ cursor })) if (event.type === 'settled') return
    })()
    await store.readSession('room:1')
    roundTrips()
    await session.send('go')
    await settled
    const trips = roundTrips()
    expect(trips).toBeGreaterThan(8)
    expect(trips).toBeLessThanOrEqual(24)
    expect(faults).toEqual([])
  })

  it('S182: a plain turn adds at most 9,500 bytes to the log of the server', async () => {
    await (await place.empty()).close()
    const steps = Array.from({ length: 30 }, () => ({ text: 'An answer of forty characters, like this.' }))
    const { runtime } = setup({ steps, store: place.store({ migrate: false }), clock: manualClock() })
    await runtime.start()
    closing.push(() => runtime.stop())
    const logged = async (): Promise<number> => {
      const [row] = await place.query("select pg_current_wal_insert_lsn() - '0/0' as bytes")
      return Number(row?.['bytes'])
    }
    const bytes: number[] = []
    for (const _ of steps) {
      const before = await logged()
      await (await runtime.session('room:1').send('go')).result()
      bytes.push((await logged()) - before)
    }
    // Others write to the same log.
    expect(Math.min(...bytes.slice(1))).toBeLessThanOrEqual(9_500)
  })

  it('S182, S189: statements are prepared if the connection reports its server process, else not', async () => {
    await (await place.empty()).close()
    for (const tellsPid of [true, false]) {
      const names = new Set<string | undefined>()
      const { pool, end } = watchedPool(place.url, ({ name, types }) => void (types && names.add(name)), { tellsPid })
      closing.push(end)
      const store = await open(place.store({ pool, migrate: false }))
      await store.commit(batch([ensure()]))
      expect(names.has(undefined)).toBe(!tellsPid)
      expect(names.size > 1).toBe(tellsPid)
    }
  })

  it('S164: a definition is kept if a commit under way refers to it', async () => {
    const store = await open(await place.empty())
    const put = { op: 'definition.put', hash: 'hash', body: { model: 'large' } } as const
    const timer = { op: 'timer.put', timers: [{ id: 'timer', kind: 'deadline', dueAt: 1, body: {} }] } as const
    await store.commit(batch([ensure(), put, timer]))
    // The timer is written after the definition, so the commit waits for the timer.
    await place.query('begin')
    await place.query('select 1 from bowline.timer for update')
    const waiting = store.commit(
      batch([insertRun('run-1'), put, { op: 'run.patch', runId: 'run-1', patch: { definition: 'hash' } }, timer]),
    )
    await vi.waitFor(
      async () =>
        expect(
          await place.query("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
        ).toHaveLength(1),
      { timeout: 10_000 },
    )
    await store.prune({ runsEndedBefore: 0 }, 10)
    await place.query('rollback')
    expect(await waiting).toMatchObject({ ok: true })
    expect(await store.readDefinition('hash')).toEqual({ model: 'large' })
  })

  it.each([
    ['a deadlock', '40P01'],
    ['a serialization failure', '40001'],
  ])('S195: after %s at any statement a commit is done again, once', async (_name, code) => {
    await (await place.empty()).close()
    let left = Infinity
    const pool = watched(() => {
      left -= 1
      return left === 0 ? { text: `do $$ begin raise exception using errcode = '${code}'; end $$` } : undefined
    })
    const store = await open(place.store({ pool, directConnectionString: place.url, migrate: false }))
    await store.commit(batch([ensure()]))
    let seq = 0
    for (let at = 1; at < 16; at++) {
      left = at
      expect(await store.commit(batch([event(), insertRun(`run-${at}`)]))).toMatchObject({ ok: true, firstSeq: (seq += 1), lastSeq: seq })
    }
    expect(left).toBeGreaterThan(0)
  })

  it('S195: if the connection is lost at any time, a commit is applied once or reported as uncertain; its repeat returns the outcome', async () => {
    await (await place.empty()).close()
    let left = Infinity
    const pool = watched((_query, client) => {
      left -= 1
      if (left === 0) (Reflect.get(Reflect.get(client, 'connection') as object, 'stream') as Socket).destroy()
      return undefined
    })
    const store = await open(place.store({ pool, directConnectionString: place.url, migrate: false }))
    await store.commit(batch([ensure()]))
    for (let at = 1, seq = 1; at < 16; at++, seq++) {
      left = at
      const given = batch([event(), insertRun(`run-${at}`)])
      const first = await store.commit(given).catch((error: unknown) => error)
      if (first instanceof Error) expect(first).toMatchObject({ code: 'store-unavailable', retryable: true })
      left = Infinity
      expect(await store.commit(given)).toMatchObject({ ok: true, firstSeq: seq, lastSeq: seq })
    }
    expect((await store.listRuns('room:1')).items).toHaveLength(15)
  })

  it('S188: deltas that arrived while their run ended are removed by pruning', async () => {
    const store = await open(await place.empty({ listen: false }))
    for (const key of ['room:1', 'room:2']) await store.commit(batch([ensure(key), insertRun(key)], { key }))
    await store.claim({ ...request, keys: ['room:1'] })
    await place.query(
      "insert into bowline.delta (namespace, session, run, epoch, base, n, events, body) select namespace, session, id, 1, 0, 0, 1, '[]' from bowline.run",
    )
    await place.query(
      "insert into bowline.delta (namespace, session, run, epoch, base, n, events, body) values ('default', 'gone', 'gone', 1, 0, 0, 1, '[]')",
    )
    await store.prune({ runsEndedBefore: 1 }, 10)
    expect(await place.query('select run as id from bowline.delta')).toEqual([{ id: 'room:1' }])
    expect(await place.query('select count(*)::int as deltas from bowline.delta')).toEqual([{ deltas: 1 }])
  })
})
