import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { migratePostgres } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, testDatabase } from '../../../scripts/postgres.ts'
import { rounds } from '../../../scripts/test-length.ts'
import { LiveConnection } from '../src/store/live-connection.ts'
import type { LiveConnectionOptions } from '../src/store/live-connection.ts'
import { lockKeyOf } from '../src/store/process-table.ts'
import { ask, clientsFor, placeOf, queriesOf } from './clients.ts'
import type { Place } from './clients.ts'
import { liveProcesses } from './live-process-handle.ts'
import type { LiveProcess } from './live-process-handle.ts'
import { proxies } from './proxies.ts'

const database = testDatabase()
const startProcess = liveProcesses()
const startProxy = proxies()
const opened: LiveConnection[] = []
const schema = 'bowline'
const withinMs = 1000
const kills = rounds({ short: 4, long: 50 })

beforeAll(() => createTables(database.url))

afterEach(async () => {
  for (const live of opened.splice(0)) await live.close()
  await ask(placeOf(database.url), `truncate ${schema}.process`)
})

function createTables(connectionString: string): Promise<void> {
  return migratePostgres({ connectionString, schema })
}

interface Noted {
  readonly live: LiveConnection
  readonly lost: string[]
  readonly happened: string[]
  readonly errors: unknown[]
}

/** Creates a member of the ring inside the process of this test. */
async function join(namespace: string, owner: string, options: Partial<LiveConnectionOptions> = {}): Promise<Noted> {
  const [lost, happened, errors]: [string[], string[], unknown[]] = [[], [], []]
  let ids = 0
  const live = new LiveConnection({
    newClient: clientsFor(placeOf(database.url)),
    isMember: true,
    pool: queriesOf(placeOf(database.url)),
    schema,
    namespace,
    owner,
    clock: systemClock,
    random: () => 0.5,
    newId: () => `id${++ids}`,
    events: {
      onHint: ({ key }) => void happened.push(`hint ${key}`),
      onGap: () => undefined,
      onTakenOver: (name) => void lost.push(name),
      onFenced: () => void happened.push('fenced'),
      onRegistered: (name) => void happened.push(name),
      onWarning: (text) => void happened.push(text),
      onError: (error) => void errors.push(error),
    },
    ...options,
  })
  opened.push(live)
  await live.open()
  return { live, lost, happened, errors }
}

function processIn(
  namespace: string,
  owner: string,
  options: { readonly place?: Place; readonly checkMs?: number; readonly answerMs?: number; readonly isIdle?: boolean } = {},
): Promise<LiveProcess> {
  return startProcess({ place: placeOf(database.url), schema, namespace, owner, ...options })
}

interface LockRow {
  readonly owner: string
  readonly pid: number
  readonly isHeld: boolean
  readonly began: string
}

/** Returns the holders of the locks of a namespace, and the processes that wait for them. */
function locksOf(namespace: string): Promise<readonly LockRow[]> {
  return ask<LockRow>(
    placeOf(database.url),
    `select name as owner, pid, granted as "isHeld", query_start::text as began from ${schema}.process
join pg_locks on locktype = 'advisory' and objsubid = 1 and (classid::bigint << 32 | objid::bigint) = lock_key join pg_stat_activity using (pid) where namespace = $1`,
    [namespace],
  )
}

/** Resolves with the server process that waits for the lock of this owner. */
async function untilWatched(namespace: string, owner: string): Promise<LockRow> {
  return vi.waitUntil(async () => (await locksOf(namespace)).find((lock) => lock.owner === owner && !lock.isHeld), {
    timeout: 10_000,
    interval: 10,
  })
}

async function holderOf(namespace: string, owner: string): Promise<number> {
  return (await locksOf(namespace)).find((lock) => lock.owner === owner && lock.isHeld)?.pid ?? 0
}

async function terminate(pid: number): Promise<void> {
  await ask(placeOf(database.url), 'select pg_terminate_backend($1)', [pid])
}

async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(async () => expect(await ask(placeOf(database.url), 'select from pg_stat_activity where pid = $1', [pid])).toEqual([]), {
    timeout: 10_000,
  })
}

/** Returns the longest wait for a trivial statement until `end`. It is due to the machine, and not to the product. */
async function longestAnswerUntil(end: Promise<unknown>): Promise<number> {
  let longestMs = 0
  let isOver = false
  const over = end.finally(() => (isOver = true))
  while (!isOver) {
    const before = performance.now()
    await ask(placeOf(database.url), 'select 1')
    longestMs = Math.max(longestMs, performance.now() - before)
  }
  await over
  return longestMs
}

async function ownersIn(namespace: string): Promise<readonly string[]> {
  const rows = await ask<{ owner: string }>(
    placeOf(database.url),
    `select name as owner from ${schema}.process where namespace = $1 order by name`,
    [namespace],
  )
  return rows.map(({ owner }) => owner)
}

async function keysIn(namespace: string): Promise<readonly string[]> {
  const rows = await ask<{ key: string }>(
    placeOf(database.url),
    `select lock_key::text as key from ${schema}.process where namespace = $1`,
    [namespace],
  )
  return rows.map(({ key }) => key)
}

describe('the death of a process', () => {
  it(`S184: is reported to one watcher within a second, ${kills} times of ${kills}`, async () => {
    const watchers = [await join('kills', 'a'), await join('kills', 'b')]
    const killed: string[] = []
    for (let n = 1; n <= kills; n++) {
      const victim = await processIn('kills', `victim-${n}`)
      await untilWatched('kills', victim.owner)
      const before = performance.now()
      victim.signal('SIGKILL')
      const reported = vi
        .waitUntil(() => watchers.some(({ lost }) => lost.includes(victim.owner)), { timeout: 10_000, interval: 2 })
        .then(() => performance.now())
      const machineMs = await longestAnswerUntil(reported)
      expect((await reported) - before).toBeLessThan(withinMs + 2 * machineMs)
      killed.push(victim.owner)
    }
    expect(watchers.flatMap(({ lost }) => lost).toSorted()).toEqual(killed.toSorted())
    expect(await ownersIn('kills')).toHaveLength(2)
    expect(watchers.map(({ live }) => live.metrics().takeovers).reduce((sum, n) => sum + n, 0)).toBe(kills)
  })

  it('S184: of two processes at once is reported, each once', async () => {
    const watcher = await join('two', 'a')
    const victims = [await processIn('two', 'b'), await processIn('two', 'c')]
    for (const victim of victims) victim.signal('SIGKILL')
    await vi.waitFor(() => expect(watcher.lost.toSorted()).toEqual(victims.map(({ owner }) => owner).toSorted()), { timeout: 10_000 })
    expect(await ownersIn('two')).toEqual(['a#id2'])
    // The waits of the dead processes on the server have ended too.
    await vi.waitFor(async () => expect(await locksOf('two')).toHaveLength(1), { timeout: 10_000 })
  })

  it('S184: of all processes is reported to the next one that starts', async () => {
    const victims = [await processIn('all', 'a'), await processIn('all', 'b')]
    for (const victim of victims) victim.signal('SIGKILL')
    await Promise.all(victims.map(({ exit }) => exit))
    const next = await join('all', 'c')
    await vi.waitFor(() => expect(next.lost.toSorted()).toEqual(victims.map(({ owner }) => owner).toSorted()), { timeout: 10_000 })
  })

  it('S184: is not reported for a process that is only stopped and resumes under its name', async () => {
    const watcher = await join('slow', 'a')
    const slow = await processIn('slow', 'b', { checkMs: 200, answerMs: 2000 })
    const { owner } = slow
    const begun = new Set([(await untilWatched('slow', owner)).began])
    slow.signal('SIGSTOP')
    // Each wait takes a second, so the process is stopped for longer than its own check allows.
    await vi.waitFor(
      async () => {
        begun.add((await untilWatched('slow', owner)).began)
        expect(begun.size).toBeGreaterThanOrEqual(4)
      },
      { timeout: 20_000 },
    )
    slow.signal('SIGCONT')
    for (let n = 0; n < 3; n++)
      expect(await slow.order(`tell room:${n}`)).toMatchObject({ mayClaim: true, metrics: { reconnects: 0, fences: 0 } })
    expect([watcher.lost, slow.said.filter(({ fenced, error }) => fenced ?? error)]).toEqual([[], []])
  })

  it('S184: is not reported for a process that leaves, which leaves no row, no lock and no connection', async () => {
    const watcher = await join('leave', 'a')
    const leaving = await processIn('leave', 'b')
    const watched = await untilWatched('leave', leaving.owner)
    const waiting = await untilWatched('leave', 'a#id2')
    const direct = await holderOf('leave', leaving.owner)
    await leaving.order('close')
    expect(await leaving.exit).toEqual({ code: 0, signal: null })
    for (const pid of [direct, waiting.pid]) await untilGone(pid)
    expect([await ownersIn('leave'), watcher.lost, watcher.errors]).toEqual([['a#id2'], [], []])
    await vi.waitFor(async () => expect((await locksOf('leave')).map(({ pid }) => pid)).not.toContain(watched.pid), { timeout: 10_000 })
  })

  it('S10: watching for it keeps no process alive', async () => {
    const idle = await processIn('idle', 'a', { isIdle: true })
    expect(await idle.exit).toEqual({ code: 0, signal: null })
  })
})

describe('the loss of a connection', () => {
  it('S185: with the lock fences the process, which is taken over and goes on under another name', async () => {
    const watcher = await join('cut', 'a')
    const cut = await processIn('cut', 'b')
    const first = cut.owner
    await untilWatched('cut', first)
    const holder = await holderOf('cut', first)
    // Otherwise it could replace its row before the watcher has deleted it.
    cut.signal('SIGSTOP')
    await terminate(holder)
    await vi.waitFor(() => expect(watcher.lost).toEqual([first]), { timeout: 10_000 })
    cut.signal('SIGCONT')
    await cut.until(({ fenced }) => fenced === true)
    await cut.until(({ registered }) => registered !== undefined && registered !== first)
    expect(await ownersIn('cut')).toEqual(['a#id2', cut.owner])
    expect(await cut.order('tell room:1')).toMatchObject({ mayClaim: true, metrics: { reconnects: 1, fences: 1 } })
    // Under its new name it is watched as before.
    await untilWatched('cut', cut.owner)
    cut.signal('SIGKILL')
    await vi.waitFor(() => expect(watcher.lost).toEqual([first, cut.owner]), { timeout: 10_000 })
  })

  it('S184: of the watcher loses no process, and watching goes on', async () => {
    const watcher = await join('watch', 'a')
    const watched = await processIn('watch', 'b')
    await terminate((await untilWatched('watch', watched.owner)).pid)
    await untilWatched('watch', watched.owner)
    expect([watcher.lost, watched.said.filter(({ fenced }) => fenced)]).toEqual([[], []])
    watched.signal('SIGKILL')
    await vi.waitFor(() => expect(watcher.lost).toEqual([watched.owner]), { timeout: 5000 })
  })

  it('S185: that only the network sees is noticed by the check of the process, which takes a new lock', async () => {
    const clock = manualClock()
    const proxy = await startProxy(placeOf(database.url))
    const { live, happened } = await join('network', 'b', { newClient: clientsFor(proxy.place), clock, checkMs: 5000, answerMs: 4000 })
    proxy.silence()
    await clock.advance(5000 + 4000)
    await vi.waitFor(() => expect(live.metrics().direct).toBe('down'), { timeout: 10_000 })
    await clock.advance(100)
    await vi.waitFor(() => expect(happened).toEqual(['b#id2', 'fenced', 'b#id3']), { timeout: 10_000 })
    // The server does not know that the old connection is dead: the process must not be taken over under its old name.
    expect(await ownersIn('network')).toEqual(['b#id3'])
  })

  it('S185: that the server sees first is noticed by the missing row', async () => {
    const { happened } = await join('missing', 'a')
    await ask(placeOf(database.url), `delete from ${schema}.process where namespace = 'missing'`)
    await vi.waitFor(() => expect(happened).toEqual(['a#id2', 'fenced', 'a#id3']), { timeout: 10_000 })
    expect(await ownersIn('missing')).toEqual(['a#id3'])
  })

  it('S185: with the lock keeps the name if no other process has taken over meanwhile', async () => {
    const { happened, live } = await join('alone', 'a')
    await terminate(await holderOf('alone', 'a#id2'))
    await vi.waitFor(() => expect(happened).toEqual(['a#id2', 'fenced', 'a#id2']), { timeout: 10_000 })
    expect([live.mayClaim, await ownersIn('alone')]).toEqual([true, ['a#id2']])
  })

  it('S173, S185: by a restart of the server ends no process, and all processes are watched again', async () => {
    const server = await startPostgres()
    try {
      const place = placeOf(server.url)
      await createTables(server.url)
      const all = [
        await processIn('restart', 'a', { place }),
        await processIn('restart', 'b', { place }),
        await processIn('restart', 'c', { place }),
      ]
      await server.restart()
      for (const each of all)
        await vi.waitFor(() => expect(each.said.filter(({ registered }) => registered !== undefined).length).toBeGreaterThan(1), {
          timeout: 20_000,
        })
      expect(all.map(({ isRunning }) => isRunning)).toEqual([true, true, true])
      const [victim, ...others] = all
      victim?.signal('SIGKILL')
      await vi.waitFor(() => expect(others.flatMap(({ lost }) => lost)).toContain(victim?.owner), { timeout: 20_000 })
      for (const each of all) each.signal('SIGKILL')
    } finally {
      await server.stop()
    }
  })
})

describe('a registration', () => {
  it('S184: takes another key if its key is locked by another client of the database', async () => {
    const scope = { schema, namespace: 'locked' }
    const other = new pg.Client(placeOf(database.url))
    await other.connect()
    await other.query('select pg_advisory_lock($1::bigint)', [lockKeyOf(scope, 'a#id2', 0)])
    await join('locked', 'a')
    expect(await keysIn('locked')).toEqual([lockKeyOf(scope, 'a#id2', 1)])
    await other.end()
  })

  it('S184: takes another key if a dead process had its key', async () => {
    const scope = { schema, namespace: 'taken' }
    await ask(placeOf(database.url), `insert into ${schema}.process values ('elsewhere', 'x', 'x', $1::bigint, 0)`, [
      lockKeyOf(scope, 'a#id2', 0),
    ])
    await join('taken', 'a')
    expect(await keysIn('taken')).toEqual([lockKeyOf(scope, 'a#id2', 1)])
  })

  it('S184: has a different key for each schema, namespace, owner and attempt', () => {
    const scopes = [
      ['s', 'n', 'o', 0],
      ['s', 'n', 'o', 1],
      ['s', 'n', 'p', 0],
      ['s', 'm', 'o', 0],
      ['t', 'n', 'o', 0],
      ['sn', '', 'o', 0],
      ['s', 'no', '', 0],
    ] as const
    expect(new Set(scopes.map(([name, namespace, owner, attempt]) => lockKeyOf({ schema: name, namespace }, owner, attempt))).size).toBe(
      scopes.length,
    )
  })
})
