import { setTimeout } from 'node:timers/promises'
import { systemClock } from '@bowline/llm'
import type { Batch, SessionStore, Write } from '@bowline/sessions'
import { checkTranscript } from '@bowline/testing'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { accepted, look, RecordedProcesses } from '../../sessions/test/history/recorded-runs.ts'
import { checkLog } from '../../sessions/test/support.ts'
import { postgresPlace } from './place.ts'

const place = postgresPlace()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(store: SessionStore): Promise<SessionStore> {
  await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
  closing.push(() => store.close())
  return store
}

let batches = 0
const batch = (key: string, writes: readonly Write[]): Batch => ({ id: `batch-${(batches += 1)}`, key, expect: [], writes })
const ensure = (key: string): Write => ({
  op: 'session.ensure',
  session: { id: `session-${key}`, agent: 'assistant', metadata: {}, at: 1 },
})
const event: Write = { op: 'event.append', events: [{ event: { type: 'run-queued', at: 1 } }] }

async function another(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  closing.push(() => client.end())
  return client
}

async function untilBlocked(count: number): Promise<void> {
  const blocked = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  while ((await place.query(blocked)).length < count) await setTimeout(5)
}

describe('an exhausted pool of connections to Postgres', () => {
  it('S190: makes callers wait for 10 s and then refuses them, completes the started work, and works again', async () => {
    const store = await open(await place.empty({ poolSize: 2 }))
    // Commits to one session wait for each other in the process, and keep one connection.
    const keys = ['room:1', 'room:2']
    for (const key of keys) await store.commit(batch(key, [ensure(key)]))
    const holder = await another()
    await holder.query('begin')
    await holder.query('select 1 from bowline.session for update')
    const begun = keys.map((key) => store.commit(batch(key, [event])))
    await untilBlocked(2)
    const before = performance.now()
    const refused = await Promise.allSettled([
      store.commit(batch('room:3', [ensure('room:3')])),
      store.readSession('room:1'),
      store.state.get('space', 'id'),
    ])
    expect(performance.now() - before).toBeGreaterThan(9_900)
    for (const each of refused)
      expect(each).toMatchObject({
        status: 'rejected',
        reason: { code: 'store-unavailable', retryable: true, message: expect.stringContaining('Raise poolSize') as string },
      })
    await holder.query('rollback')
    expect(await Promise.all(begun)).toMatchObject([{ ok: true }, { ok: true }])
    for (const key of keys) expect(await store.readSession(key)).toMatchObject({ status: 'found', value: { nextSeq: 2 } })
    expect(await store.readSession('room:3')).toEqual({ status: 'missing' })
  })

  it('S190: no operation needs a second connection: with one connection all operations end, however many run at once', async () => {
    const store = await open(await place.empty({ poolSize: 1 }))
    await store.commit(batch('room:1', [ensure('room:1')]))
    const request = { owner: 'owner-a', max: 10, leaseMs: 10_000, agents: ['assistant'], holds: [] }
    const each = (index: number): readonly Promise<unknown>[] => [
      store.commit({ ...batch('room:1', [event]), deliver: [{ id: `d-${index}`, to: 'room:2', writes: [ensure('room:2')] }] }),
      store.claim(request),
      store.renew([{ runId: 'none', epoch: 1 }], 1),
      store.readPath('room:1'),
      store.readEvents('room:1', 0, 10),
      store.due(10),
      store.prune({ runsEndedBefore: 0 }, 10),
      store.state.compareAndSet('space', `id-${index}`, null, 1, { ttlMs: 'never' }),
    ]
    await Promise.all(Array.from({ length: 16 }, (_, index) => each(index)).flat())
    expect(await store.readSession('room:1')).toMatchObject({ status: 'found', value: { nextSeq: 17 } })
  })
})

describe('a snapshot held by another client of Postgres', () => {
  it('S192, S197: causes no failure and no wrong result while runs are executed and pruned', async () => {
    const holder = await another()
    const recorded = new RecordedProcesses()
    const steps = ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) => {
      const calls = prompt.slice(prompt.findLastIndex(({ role }) => role === 'user')).filter(({ role }) => role === 'tool').length
      return calls < 3 ? { toolCalls: [{ id: `call-${prompt.length}`, name: 'look', input: {} }] } : { text: 'done' }
    }
    const faults: unknown[] = []
    const options = { steps, tools: [look], onError: (error: unknown) => faults.push(error) }
    const [one, two] = [recorded.start(await place.empty(), options), recorded.start(place.store({ migrate: false }), options)]
    closing.push(
      () => one.stop(),
      () => two.stop(),
    )
    await one.start()
    await two.start()
    await holder.query('begin isolation level repeatable read')
    await holder.query('select count(*) from bowline.session')
    const keys = Array.from({ length: 6 }, (_, index) => `room:${index}`)
    for (let round = 0; round < 4; round++) {
      const runs = await Promise.all(keys.map((key, index) => (index % 2 === 0 ? one : two).session(key).send('go')))
      expect((await Promise.all(runs.map((run) => run.result()))).map(({ status }) => status)).toEqual(keys.map(() => 'completed'))
      await one.sweep()
    }
    expect((await holder.query<{ count: string }>('select count(*) from bowline.session')).rows).toEqual([{ count: '0' }])
    for (const key of keys) {
      await checkLog(two.session(key))
      expect(checkTranscript((await two.session(key).messages()).items)).toEqual([])
    }
    await holder.query('rollback')
    expect(faults).toEqual([])
    accepted(recorded.history(), { atRest: true })
  })
})
