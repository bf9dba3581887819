import { systemClock } from '@bowline/llm'
import pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { testDatabase } from '../../../../../scripts/postgres.ts'
import { SessionError } from '../../../src/errors.ts'
import { createProcessTable } from '../../../src/stores/postgres/process-table.ts'
import { SessionConnection } from '../../../src/stores/postgres/session-connection.ts'
import { Watcher } from '../../../src/stores/postgres/watcher.ts'
import { ask, clientsFor, placeOf } from './clients.ts'

const database = testDatabase()
const opened: SessionConnection[] = []
const scope = { schema: 'watched', namespace: 'default' }
let victim: pg.Client

beforeAll(async () => {
  for (const text of ['create schema watched', ...createProcessTable('watched')]) await ask(placeOf(database.url), text)
})

/** A process that holds its lock, of which only its connection is there. */
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
  await ask(placeOf(database.url), 'insert into watched.process values ($1, $2, $3::bigint, 0)', [scope.namespace, owner, lockKey])
}

async function freeLocks(): Promise<void> {
  await victim.query('select pg_advisory_unlock_all()')
}

interface Watching {
  readonly connection: SessionConnection
  readonly watcher: Watcher
  readonly errors: unknown[]
}

/** A watcher in front of the victim in the ring, as several are for a moment when processes join. */
async function watch(onLost: (owner: string) => Promise<void>): Promise<Watching> {
  const errors: unknown[] = []
  const watcher = new Watcher({
    ...{ ...scope, clock: systemClock, onLost, onMissing: () => undefined },
    place: () => ({ owner: 'somewhere#1', lockKey: '999' }),
    cancel: (backend) => ask(placeOf(database.url), 'select pg_cancel_backend($1)', [backend]),
    onError: (error) => void errors.push(error),
  })
  const connection = new SessionConnection({
    ...{ newClient: clientsFor(placeOf(database.url)), clock: systemClock, random: () => 0, users: [watcher] },
    ...{ onError: () => undefined, onPooler: () => undefined },
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
  return ask<Waiting>(placeOf(database.url), `select pid, query_start::text as began from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and not granted and datname = current_database()`)
}

async function untilWaiting(count: number): Promise<readonly Waiting[]> {
  return vi.waitUntil(async () => {
    const found = await waiting()
    return found.length === count && found
  }, { timeout: 10_000, interval: 10 })
}

async function untilNoRows(): Promise<void> {
  await vi.waitFor(async () => expect(await ask(placeOf(database.url), 'select owner from watched.process')).toEqual([]), { timeout: 10_000 })
}

describe('watchers of one process', () => {
  it('S184: when the lock falls free, exactly one watcher takes over, 20 times of 20', async () => {
    const lost: string[] = []
    const watchers = [await watch((owner) => Promise.resolve(void lost.push(owner))), await watch((owner) => Promise.resolve(void lost.push(owner)))]
    for (let n = 1; n <= 20; n++) {
      if (n > 1) await register(`victim#${n}`, '1000')
      await untilWaiting(2)
      await freeLocks()
      await untilNoRows()
    }
    // Both have looked again.
    await register('last#1', '1000')
    await untilWaiting(2)
    expect(lost).toEqual(Array.from({ length: 20 }, (_, n) => `victim#${n + 1}`))
    expect(watchers.map(({ watcher }) => watcher.takeovers).reduce((sum, each) => sum + each, 0)).toBe(20)
    expect(watchers.flatMap(({ errors }) => errors)).toEqual([])
  })

  it('S184: what one does not bring to its end is done by another', async () => {
    const began: string[] = []
    const stuck = Promise.withResolvers<void>()
    const first = await watch(() => (began.push('first'), stuck.promise))
    const [{ pid = 0 } = {}] = await untilWaiting(1)
    await watch(() => Promise.resolve(void began.push('second')))
    await untilWaiting(2)
    await freeLocks()
    await vi.waitFor(() => expect(began).toEqual(['first']))
    expect(await ask(placeOf(database.url), 'select owner from watched.process')).toHaveLength(1)
    await ask(placeOf(database.url), 'select pg_terminate_backend($1)', [pid])
    await untilNoRows()
    expect(began).toEqual(['first', 'second'])
    stuck.resolve()
    expect(first.watcher.takeovers).toBe(0)
  })

  it('S184: what is refused is reported and done again', async () => {
    let tries = 0
    const failure = new SessionError('store-unavailable', 'not now')
    const { watcher, errors } = await watch(() => (++tries === 1 ? Promise.reject(failure) : Promise.resolve()))
    await untilWaiting(1)
    await freeLocks()
    await untilNoRows()
    await vi.waitFor(() => expect([tries, watcher.takeovers, errors]).toEqual([2, 1, [failure]]))
  })

  it('S192: a wait keeps no snapshot for longer than a second', async () => {
    await watch(() => Promise.resolve())
    const began = new Set<string>()
    await vi.waitFor(async () => {
      for (const row of await waiting()) began.add(row.began)
      expect(began.size).toBeGreaterThanOrEqual(3)
    }, { timeout: 10_000, interval: 20 })
    const times = [...began].map((text) => Date.parse(text))
    // A slow machine begins later, but what was taken up for the first wait is gone with it.
    expect(new Set(times).size).toBe(began.size)
  })

  it('S192: a watcher that was killed in its wait leaves no connection on the server', async () => {
    const { connection } = await watch(() => Promise.resolve())
    const [{ pid = 0 } = {}] = await untilWaiting(1)
    connection.drop()
    await vi.waitFor(async () => expect(await ask(placeOf(database.url), 'select from pg_stat_activity where pid = $1', [pid])).toEqual([]), { timeout: 10_000 })
  })

  it('S193: a watcher is closed without the rest of its wait, and the server logs no error of it', async () => {
    const { connection, errors } = await watch(() => Promise.resolve())
    await untilWaiting(1)
    await connection.close()
    expect([errors, await waiting()]).toEqual([[], []])
  })
})
