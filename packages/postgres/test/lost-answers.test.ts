import { setTimeout } from 'node:timers/promises'
import { systemClock } from '@bowline/llm'
import type { Batch, SessionError, SessionStore, Write } from '@bowline/sessions'
import type { PostgresQuery } from '@bowline/postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresPlace } from './place.ts'
import { watchedPool, type Watch } from './watched-pool.ts'
import { wireProxies } from './wire-proxy.ts'

const place = postgresPlace()
const startProxy = wireProxies()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function openStore(store: SessionStore): Promise<void> {
  return store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
}

async function open(store: SessionStore): Promise<SessionStore> {
  await openStore(store)
  closing.push(() => store.close())
  return store
}

let names = 0
const newName = (): string => `n${(names += 1)}`
const ensure = (key: string): Write => ({
  op: 'session.ensure',
  session: { id: `session-${key}`, agent: 'assistant', metadata: {}, at: 1 },
})
const event: Write = { op: 'event.append', events: [{ event: { type: 'run-queued', at: 1 } }] }
const insertRun = (id: string): Write => ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1 } })
const batchOf = (key: string, writes: readonly Write[], fields: Partial<Batch> = {}): Batch => ({
  id: newName(),
  key,
  expect: [],
  writes,
  ...fields,
})

/** A writing operation. Its names are new each time. */
interface Operation {
  readonly name: string
  /** Prepares the operation through an undisturbed store. Returns how to execute it and how to check it. */
  prepare(
    calm: SessionStore,
  ): Promise<{ act(store: SessionStore): Promise<unknown>; look(answer: unknown, isLost: boolean): Promise<void> }>
}

async function runIn(calm: SessionStore): Promise<{ readonly key: string; readonly runId: string }> {
  const key = newName()
  await calm.commit(batchOf(key, [ensure(key), insertRun(`run-${key}`)]))
  return { key, runId: `run-${key}` }
}

const claimOf = (runId: string) => ({ owner: 'owner-a', max: 1, leaseMs: 60_000, agents: ['assistant'], holds: [], runId })

const storedEpoch = 'select coalesce((select epoch::int from bowline.lease where run = $1), 0) as epoch'
const isRenewed = 'select until > (extract(epoch from now()) + 3000) * 1000 as renewed from bowline.lease where run = $1'

const operations: readonly Operation[] = [
  {
    name: 'commit',
    async prepare(calm) {
      const [from, to] = [newName(), newName()]
      await calm.commit(batchOf(from, [ensure(from)], { deliver: [{ id: newName(), to, writes: [ensure(to)] }] }))
      const batch = batchOf(from, [event, insertRun(`run-${from}`)], {
        deliver: [{ id: newName(), to, writes: [event, insertRun(`run-${to}`)] }],
      })
      return {
        act: (store) => store.commit(batch),
        async look(answer) {
          if (!isUnknown(answer)) expect(answer).toMatchObject({ ok: true, firstSeq: 1, lastSeq: 1 })
          expect(await calm.commit(batch)).toMatchObject({ ok: true, firstSeq: 1, lastSeq: 1 })
          for (const key of [from, to]) {
            expect((await calm.readEvents(key, 0, 10)).events).toHaveLength(1)
            expect((await calm.listRuns(key)).items).toHaveLength(1)
          }
        },
      }
    },
  },
  {
    name: 'claim',
    async prepare(calm) {
      const { runId } = await runIn(calm)
      return {
        act: (store) => store.claim(claimOf(runId)),
        async look(answer, isLost) {
          const epochs = (claims: unknown): readonly number[] =>
            (claims as Awaited<ReturnType<SessionStore['claim']>>).map(({ run }) => run.epoch)
          const given = isUnknown(answer) ? [] : epochs(answer)
          const [stored] = await place.query(storedEpoch, [runId])
          // 0 also while the server has not yet finished the commit of a lost connection.
          const epoch = Number(stored?.['epoch'])
          expect([0, 1]).toContain(epoch)
          // A claim skips a session that the server still locks for a lost connection.
          if (!isUnknown(answer) && !(isLost && given.length === 0)) expect([given, epoch]).toEqual([[1], 1])
          if (given.length > 0) return
          // The owner does not know of a claim whose answer was lost, and claims the run again.
          let claimed: readonly number[] = []
          while (claimed.length === 0) claimed = epochs(await calm.claim(claimOf(runId)))
          expect([[epoch + 1], [2]]).toContainEqual(claimed)
        },
      }
    },
  },
  {
    name: 'renew',
    async prepare(calm) {
      const { runId } = await runIn(calm)
      await calm.claim({ ...claimOf(runId), leaseMs: 1 })
      const leaseMs = 3_600_000
      const lease = { runId, epoch: 1 }
      return {
        act: (store) => store.renew([lease], leaseMs),
        async look(answer) {
          if (!isUnknown(answer)) expect(answer).toEqual([{ runId, held: true }])
          const [stored] = await place.query(isRenewed, [runId])
          if (!isUnknown(answer)) expect(stored).toEqual({ renewed: true })
          expect(await calm.renew([lease], leaseMs)).toEqual([{ runId, held: true }])
        },
      }
    },
  },
  {
    name: 'prune',
    async prepare(calm) {
      const { key, runId } = await runIn(calm)
      const [claim] = await calm.claim(claimOf(runId))
      const fence = { that: 'fence', runId, epoch: claim?.run.epoch ?? 0 } as const
      await calm.commit(batchOf(key, [event, { op: 'run.patch', runId, patch: { status: 'completed' } }], { expect: [fence] }))
      const rules = { runsEndedBefore: Date.now() + 3_600_000 }
      return {
        act: (store) => store.prune(rules, 10),
        async look(answer, isLost) {
          const left = (await calm.listRuns(key)).items.length
          if (!isUnknown(answer)) {
            expect(answer).toMatchObject({ runs: 1 - left })
            // Skips a session that the server still locks for a lost connection.
            expect(isLost ? [0, 1] : [0]).toContain(left)
          }
          let pruned = 0
          const areLeft = async (): Promise<boolean> => (await calm.listRuns(key)).items.length > 0
          while (await areLeft()) pruned += (await calm.prune(rules, 10)).runs
          // The server may finish the deletion of a lost connection after `left` was read.
          expect(isUnknown(answer) ? [0, left] : [left]).toContain(pruned)
          expect(await calm.prune(rules, 10)).toEqual({ runs: 0, events: 0, more: false })
          expect((await calm.listRuns(key)).items).toEqual([])
        },
      }
    },
  },
  {
    name: 'state.compareAndSet',
    async prepare({ state }) {
      const id = newName()
      return {
        act: (store) => store.state.compareAndSet('space', id, null, 'new', { ttlMs: 'never' }),
        async look(answer) {
          if (!isUnknown(answer)) expect(answer).toEqual({ ok: true, version: 1 })
          const read = await state.get('space', id)
          if (!isUnknown(answer) || read.status !== 'missing')
            expect(read).toMatchObject({ status: 'found', value: { version: 1, value: 'new' } })
        },
      }
    },
  },
  {
    name: 'state.delete',
    async prepare({ state }) {
      const id = newName()
      await state.compareAndSet('space', id, null, 'old', { ttlMs: 'never' })
      return {
        act: (store) => store.state.delete('space', id, 1),
        async look(answer) {
          if (!isUnknown(answer)) expect(answer).toEqual({ ok: true, version: 1 })
          const read = await state.get('space', id)
          if (!isUnknown(answer) || read.status !== 'found') expect(read).toEqual({ status: 'missing' })
        },
      }
    },
  },
]

/** Returns true for the error of an operation with an unknown outcome, and checks that it is clear. */
function isUnknown(answer: unknown): answer is SessionError {
  if (!(answer instanceof Error)) return false
  expect(answer).toMatchObject({ code: 'store-unavailable', retryable: true })
  return true
}

/** Far more than the statements of any operation. */
const mostStatements = 60

/** A fault at one statement. */
interface Strike {
  /** Selects the statement, counted from now on. Infinity: none. */
  at(number: number): void
  /** True until the fault has happened. */
  readonly isLeft: boolean
  /** True if the fault loses the connection. */
  readonly isLost: boolean
}

/** Strikes the first statement of the operation, then the second of another one, until it has no more. */
async function atEach({ prepare }: Operation, calm: SessionStore, store: SessionStore, strike: Strike): Promise<number> {
  for (let number = 1; number <= mostStatements; number++) {
    const { act, look } = await prepare(calm)
    strike.at(number)
    const answer = await act(store).catch((error: unknown) => error)
    const { isLeft } = strike
    strike.at(Infinity)
    await look(answer, strike.isLost)
    if (isLeft) return number - 1
  }
  throw new TypeError(`There are more than ${mostStatements} statements.`)
}

describe('each operation that writes to Postgres', () => {
  let calm: SessionStore
  beforeAll(async () => {
    calm = place.store({ migrate: false, listen: false })
    await openStore(calm)
  })
  afterAll(() => calm.close())

  it.each(operations.flatMap((operation) => (['before', 'behind', 'terminate'] as const).map((how) => ({ ...operation, how }))))(
    'S195: $name, with a connection that is lost at any statement ($how): it is applied once or reported as uncertain',
    async ({ how, ...operation }) => {
      const proxy = await startProxy(place.url)
      const store = await open(place.store({ connectionString: proxy.url, migrate: false, listen: false }))
      let left = Infinity
      proxy.cut = () => ((left -= 1) === 0 ? how : undefined)
      const strike = {
        at: (number: number) => void (left = number),
        get isLeft() {
          return left > 0
        },
        isLost: true,
      }
      expect(await atEach(operation, calm, store, strike)).toBeGreaterThan(0)
    },
  )

  it.each(operations.flatMap((operation) => ['40P01', '40001', '57P01'].map((code) => ({ ...operation, code }))))(
    'S195: $name, with the failure $code at any statement: it is applied once or reported as uncertain',
    async ({ code, ...operation }) => {
      let left = Infinity
      const fails: PostgresQuery = { text: `do $$ begin raise exception using errcode = '${code}'; end $$` }
      const watch: Watch = () => ((left -= 1) === 0 ? fails : undefined)
      const { pool, end } = watchedPool(place.url, watch)
      closing.push(end)
      const store = await open(place.store({ pool, migrate: false, listen: false }))
      const strike = {
        at: (number: number) => void (left = number),
        get isLeft() {
          return left > 0
        },
        isLost: code === '57P01',
      }
      expect(await atEach(operation, calm, store, strike)).toBeGreaterThan(0)
    },
  )

  it('S195: a claim with a lost answer is not repeated by the store, and a second claim of its caller gets the run', async () => {
    const proxy = await startProxy(place.url)
    const store = await open(place.store({ connectionString: proxy.url, migrate: false, listen: false }))
    const { runId } = await runIn(calm)
    let [isWriting, commits] = [false, 0]
    proxy.cut = (text) => {
      if (text?.startsWith('begin')) isWriting = text.includes('read committed')
      return isWriting && text === 'commit' && ++commits === 1 ? 'behind' : undefined
    }
    await expect(store.claim(claimOf(runId))).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(commits).toBe(1)
    expect(await place.query(storedEpoch, [runId])).toEqual([{ epoch: 1 }])
    expect(await store.claim(claimOf(runId))).toMatchObject([{ run: { epoch: 2 } }])
  })

  it('S195: if the server ends a backend while its commit waits for a row, the backend is replaced, and the commit is applied once', async () => {
    const { key } = await runIn(calm)
    await place.query('begin')
    await place.query('select 1 from bowline.session for update')
    const given = batchOf(key, [event])
    const waiting = calm.commit(given)
    const blocked = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while ((await place.query(blocked)).length === 0) await setTimeout(5)
    await place.query(`select pg_terminate_backend(pid) from (${blocked}) as blocked`)
    await place.query('rollback')
    expect(await waiting).toMatchObject({ ok: true, firstSeq: 1, lastSeq: 1 })
    expect((await calm.readEvents(key, 0, 10)).events).toHaveLength(1)
  })

  it('S195: if the server ends connections while their store closes, nothing else ends', async () => {
    for (let round = 0; round < 8; round++) {
      const store = place.store({ migrate: false })
      await openStore(store)
      await Promise.all([store.readSession('room:1'), store.readSession('room:2'), store.readSession('room:3')])
      const ending = place.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      await store.close()
      await ending
    }
  })

  it.each(['before', 'behind', 'terminate'] as const)(
    'S195: opening a store, with a connection that is lost at any statement (%s): it opens, or reports a failure and opens the next time',
    async (how) => {
      const proxy = await startProxy(place.url)
      let left = 0
      proxy.cut = () => ((left -= 1) === 0 ? how : undefined)
      let number = 0
      do {
        left = number += 1
        const store = place.store({ connectionString: proxy.url, listen: false })
        const failure: unknown = await openStore(store).catch((error: unknown) => error)
        if (failure !== undefined) {
          isUnknown(failure)
          await openStore(store)
        }
        expect(await store.readSession('none')).toEqual({ status: 'missing' })
        await store.close()
      } while (left <= 0)
      expect(number).toBeGreaterThan(2)
    },
  )
})
