import { systemClock, type Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { migratePostgres } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { rounds } from '../../../scripts/test-length.ts'
import { lockWaitMs } from '../src/store/process-table.ts'
import { SessionConnection } from '../src/store/session-connection.ts'
import type { Session } from '../src/store/pg-session.ts'
import type { SessionUser } from '../src/store/session-connection.ts'
import { Watcher, type WatcherOptions } from '../src/store/watcher.ts'
import { ask, clientsFor, placeOf } from './clients.ts'

const database = testDatabase()
const opened: SessionConnection[] = []
const times = rounds({ short: 4, long: 20 })
const scope = { schema: 'watched', namespace: 'default' }
let victim: pg.Client

beforeAll(() => migratePostgres({ connectionString: database.url, schema: scope.schema }))

/** Creates a process that holds its lock. Only its connection exists. */
beforeEach(async () => {
  victim = new pg.Client(placeOf(database.url))
  await victim.connect()
  await register('victim#1', '1000')
})

afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
  await victim.end()
  await ask(placeOf(database.url), 'truncate watched.process')
})

async function register(owner: string, lockKey: string): Promise<void> {
  await victim.query('select pg_advisory_lock($1::bigint)', [lockKey])
  await ask(placeOf(database.url), 'insert into watched.process values ($1, $2, $2, $3::bigint, 0)', [scope.namespace, owner, lockKey])
}

async function freeLocks(): Promise<void> {
  await victim.query('select pg_advisory_unlock_all()')
}

/** Called before each statement is sent. */
type Asks = (text: string) => Promise<void>

function asking(session: Session, asks: Asks): Session {
  return {
    get isOpen() {
      return session.isOpen
    },
    onNotification: (listener) => session.onNotification(listener),
    async query(text, values) {
      await asks(text)
      return session.query(text, values)
    },
  }
}

interface Watching {
  readonly connection: SessionConnection
  readonly watcher: Watcher
  readonly errors: unknown[]
}

/** Creates a watcher before the victim in the ring. While processes join, several may be there for a moment. */
async function watch(
  onTakenOver: (owner: string) => void = () => undefined,
  options: Partial<WatcherOptions> = {},
  asks: Asks = () => Promise.resolve(),
): Promise<Watching> {
  const errors: unknown[] = []
  const watcher = new Watcher({
    ...scope,
    clock: systemClock,
    onTakenOver,
    onMissing: () => undefined,
    place: () => ({ name: 'somewhere#1', lockKey: '999' }),
    cancel: (backend) => ask(placeOf(database.url), 'select pg_cancel_backend($1)', [backend]),
    onError: (error) => void errors.push(error),
    ...options,
  })
  const user: SessionUser = {
    opened: (session) => watcher.opened(asking(session, asks)),
    lost: () => watcher.lost(),
    closing: () => watcher.closing(),
  }
  const connection = new SessionConnection({
    newClient: clientsFor(placeOf(database.url)),
    clock: systemClock,
    random: () => 0,
    users: [user],
    onError: () => undefined,
    onPooler: () => undefined,
  })
  opened.push(connection)
  await connection.open()
  return { connection, watcher, errors }
}

interface Waiting {
  readonly pid: number
  readonly began: string
}

function waiting(): Promise<readonly Waiting[]> {
  return ask<Waiting>(
    placeOf(database.url),
    `select pid, query_start::text as began from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and not granted and datname = current_database()`,
  )
}

async function untilWaiting(count: number): Promise<readonly Waiting[]> {
  return vi.waitUntil(
    async () => {
      const found = await waiting()
      return found.length === count && found
    },
    { timeout: 10_000, interval: 10 },
  )
}

async function untilNoRows(): Promise<void> {
  await vi.waitFor(async () => expect(await ask(placeOf(database.url), 'select name from watched.process')).toEqual([]), {
    timeout: 10_000,
  })
}

describe('watchers of one process', () => {
  it(`S184: when the lock becomes free, exactly one watcher takes over, ${times} times of ${times}`, async () => {
    const lost: string[] = []
    const watchers = [await watch((owner) => void lost.push(owner)), await watch((owner) => void lost.push(owner))]
    for (let n = 1; n <= times; n++) {
      if (n > 1) await register(`victim#${n}`, '1000')
      await untilWaiting(2)
      await freeLocks()
      await untilNoRows()
    }
    // Both have read the ring again.
    await register('last#1', '1000')
    await untilWaiting(2)
    expect(lost).toEqual(Array.from({ length: times }, (_, n) => `victim#${n + 1}`))
    expect(watchers.map(({ watcher }) => watcher.takeovers).reduce((sum, each) => sum + each, 0)).toBe(times)
    expect(watchers.flatMap(({ errors }) => errors)).toEqual([])
  })

  it('S184: a takeover that one watcher cannot complete is done by another', async () => {
    const first = await watch()
    const [{ pid: pidOfFirst } = {}] = await untilWaiting(1)
    // A claim of the victim in progress, for which the takeover must wait.
    const claim = new pg.Client(placeOf(database.url))
    await claim.connect()
    await claim.query("begin; select from watched.process where name = 'victim#1' for key share")
    const second = await watch()
    await untilWaiting(2)
    await freeLocks()
    const takingOver = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from%' and datname = current_database()`
    const [{ pid } = {}] = await vi.waitUntil(
      async () => {
        const found = await ask<Pick<Waiting, 'pid'>>(placeOf(database.url), takingOver)
        return found.length === 1 && found
      },
      { timeout: 10_000, interval: 10 },
    )
    expect(await ask(placeOf(database.url), 'select name from watched.process')).toHaveLength(1)
    await ask(placeOf(database.url), 'select pg_terminate_backend($1)', [pid])
    await claim.end()
    await untilNoRows()
    const [killed, other] = pid === pidOfFirst ? [first, second] : [second, first]
    await expect.poll(() => [killed.watcher.takeovers, other.watcher.takeovers]).toEqual([0, 1])
  })

  it('S184: a takeover that fails is reported and repeated', async () => {
    const clock = manualClock()
    const errors: unknown[] = []
    const failed = Promise.withResolvers<void>()
    const { watcher } = await watch(undefined, { clock, onError: (error) => (errors.push(error), failed.resolve()) })
    await untilWaiting(1)
    await ask(placeOf(database.url), 'alter table watched.lease rename to hidden')
    await freeLocks()
    await failed.promise
    expect(await ask(placeOf(database.url), 'select name from watched.process')).toHaveLength(1)
    await ask(placeOf(database.url), 'alter table watched.hidden rename to lease')
    await clock.advance(lockWaitMs)
    await untilNoRows()
    await watcher.closing()
    expect([watcher.takeovers, errors]).toEqual([1, [expect.objectContaining({ code: 'store-unavailable' })]])
  })

  it('S192: a wait keeps no snapshot for longer than a second', async () => {
    await watch()
    const began = new Set<string>()
    await vi.waitFor(
      async () => {
        for (const row of await waiting()) began.add(row.began)
        expect(began.size).toBeGreaterThanOrEqual(3)
      },
      { timeout: 10_000, interval: 20 },
    )
    const moments = [...began].map((text) => Date.parse(text))
    // Each wait has its own start, on a slow machine a later one: none keeps the snapshot of an earlier wait.
    expect(new Set(moments).size).toBe(began.size)
  })

  it('S192: a watcher that is killed while it waits leaves no connection on the server', async () => {
    const { connection } = await watch()
    const [{ pid = 0 } = {}] = await untilWaiting(1)
    connection.drop()
    await vi.waitFor(
      async () => expect(await ask(placeOf(database.url), 'select from pg_stat_activity where pid = $1', [pid])).toEqual([]),
      { timeout: 10_000 },
    )
  })

  it('S193: a watcher is closed without the rest of its wait, and the server logs no error', async () => {
    const { connection, errors } = await watch()
    await untilWaiting(1)
    await connection.close()
    expect([errors, await waiting()]).toEqual([[], []])
  })

  it.each([
    ['a process', 1],
    ['nobody', 0],
  ] as const)(
    'S193: a watcher that is closed while it looks for its neighbour, and finds %s, waits for nothing',
    async (_name, neighbours) => {
      if (neighbours === 0) await ask(placeOf(database.url), 'truncate watched.process')
      const looking = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      const statements: string[] = []
      const neverDue: Clock = { ...systemClock, setTimer: () => () => undefined }
      const { watcher } = await watch(undefined, { clock: neverDue }, async (text) => {
        statements.push(text)
        if (!text.includes('as "isMember"')) return
        looking.resolve()
        await goOn.promise
      })
      await looking.promise
      const closing = watcher.closing()
      goOn.resolve()
      await closing
      expect(statements.filter((text) => text.includes('wait_for_process_lock'))).toEqual([])
    },
  )

  it('S193: a cancel that comes before the wait has begun is repeated', async () => {
    const asked = Promise.withResolvers<void>()
    const repeated = Promise.withResolvers<void>()
    let cancels = 0
    const cancel = (backend: number): Promise<unknown> => {
      if ((cancels += 1) > 1) repeated.resolve()
      return ask(placeOf(database.url), 'select pg_cancel_backend($1)', [backend])
    }
    // The wait begins after the second cancel.
    const { watcher } = await watch(undefined, { cancel }, async (text) => {
      if (!text.includes('wait_for_process_lock')) return
      asked.resolve()
      await repeated.promise
    })
    await asked.promise
    await watcher.closing()
    expect(cancels).toBeGreaterThan(1)
  })
})
