import { manualClock } from '@bowline/llm/testing'
import type { NoticeQuery, SessionStore, Write } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { SortedRows } from '../../src/rows/sorted-rows.ts'
import { sessionLists, tenant } from '../stores/session-lists.ts'

const startMs = 1_750_000_000_000
const secret = 'a secret of a session'
const page = 10
let visited = 0

/** Counts the rows that any scan passes over, found or not. */
beforeEach(() => {
  for (const name of ['from', 'before'] as const) {
    const walk = SortedRows.prototype[name]
    vi.spyOn(SortedRows.prototype, name).mockImplementation(function* (this: SortedRows<unknown>, ...given) {
      for (const row of walk.apply(this, given)) {
        visited += 1
        yield row
      }
    })
  }
})
afterEach(() => vi.restoreAllMocks())

interface World {
  readonly store: SessionStore
  readonly commit: (key: string, writes: readonly Write[]) => Promise<void>
  readonly clock: ReturnType<typeof manualClock>
}

/** Returns a store with this many sessions of every kind. Few of each hundred match the queries of the tests. */
async function worldOf(sessions: number): Promise<World> {
  const clock = manualClock(startMs)
  const store = memoryStore()
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  let batches = 0
  const commit = async (key: string, writes: readonly Write[]): Promise<void> => {
    expect(await store.commit({ id: `batch ${batches++}`, key, expect: [], writes })).toMatchObject({ ok: true })
  }
  for (let n = 0; n < sessions; n++) {
    const key = n % 50 < 2 ? `${tenant}${n}` : `tenant:b${n % 7}:s:${n}`
    const parents = n % 2 === 1 && { parent: n % 50 === 1 ? `${tenant}a` : 'other' }
    const notify = { url: `https://${n % 3 === 0 ? 'live' : `dead-${n % 3}`}.example/hook`, events: ['settled'] as const, secret }
    const ttl = n % 10 === 4 && { ttl: { maxAgeMs: 1_000_000 } }
    const settings = { ...ttl, ...(n % 2 === 0 && { notify }) }
    const session = { id: key, agent: n % 100 < 2 ? 'assistant' : 'other', metadata: {}, at: clock.now(), settings, ...parents }
    const run = { id: `run ${n}`, kind: 'user', inputHash: 'hash', input: 'hello', at: clock.now(), inputId: `input ${n}` } as const
    await commit(key, [{ op: 'session.ensure', session }])
    await clock.advance(1)
    if (n % 100 === 2) continue
    await commit(key, [{ op: 'run.insert', run }])
    if (n % 100 === 0) continue
    for (const status of ['running', 'completed'] as const) await commit(key, [{ op: 'run.patch', runId: run.id, patch: { status } }])
  }
  return { store, commit, clock }
}

const worlds = new Map<number, Promise<World>>()

function sharedWorld(sessions: number): Promise<World> {
  const world = worlds.get(sessions) ?? worldOf(sessions)
  worlds.set(sessions, world)
  return world
}

async function visitsOf(work: () => Promise<unknown>): Promise<number> {
  visited = 0
  await work()
  return visited
}

const noticeQueries: readonly NoticeQuery[] = [
  {},
  { state: 'failed' },
  { hook: 'session' },
  { state: 'failed', hook: 'session' },
  { key: 'x' },
]
const dead = [1, 2].map((place) => `https://dead-${place}.example`)
const claimOfNotices = { max: 4, leaseMs: 1000, hooks: ['session'] }

/** Calls whose cost must not grow with the sessions that they do not concern, with the most rows that each may pass over. */
const calls: readonly (readonly [title: string, most: number, call: (world: World) => Promise<unknown>])[] = [
  [
    'a claim of a named session',
    0,
    ({ store }) => store.claim({ owner: 'a', max: 1, leaseMs: 1, agents: ['any'], holds: [], keys: ['x'] }),
  ],
  ['due work', 60, ({ store }) => store.due(page)],
  ['sessions with a run to claim', 60, ({ store }) => store.listClaimable({ limit: page })],
  ['the newest call with an id', 1, ({ store }) => store.readCall('x', 'call')],
  ['an approval', 1, ({ store }) => store.readApproval('approval')],
  ['runs of a session', 2, ({ store }) => store.listRuns(`${tenant}0`, { limit: page })],
  ['the children of a session', 1, ({ store }) => store.listChildren({ parent: { session: 'x' }, limit: page })],
  ['timers', 1, ({ store }) => store.listTimers({ kind: 'schedule', limit: page })],
  ['pruning without anything to prune', 6, ({ store }) => store.prune({ runsEndedBefore: 1, noticesQueuedBefore: 1 }, page)],
  ['a commit', 12, ({ commit }) => commit('room:1', newSession('room:1'))],
  ...noticeQueries.map((query) => {
    const call = ({ store }: World) => store.listNotices({ ...query, limit: page })
    return [`S218: a page of notices by ${JSON.stringify(query)}`, page + 2, call] as const
  }),
  ...sessionLists.map(([title, _index, query]) => {
    const call = ({ store }: World) => store.listSessions({ ...query, limit: page })
    // At most four sections of a list, for two statuses.
    return [`a page of sessions ${title}`, 8 * (page + 2), call] as const
  }),
]

function newSession(id: string): readonly Write[] {
  return [
    { op: 'session.ensure', session: { id, agent: 'assistant', metadata: {}, at: startMs } },
    { op: 'run.insert', run: { id: `run of ${id}`, kind: 'user', inputHash: 'hash', input: 'hello', at: startMs } },
  ]
}

it.each(calls)('S54: %s passes over as few rows with 2,000 sessions as with 200', async (_title, most, call) => {
  for (const sessions of [200, 2000]) {
    const world = await sharedWorld(sessions)
    expect(await visitsOf(() => call(world))).toBeLessThanOrEqual(most)
  }
})

it.each([
  ['that leaves out the dead receivers', { except: dead }],
  ['that probes one of them', { receiver: dead[0] ?? '' }],
  ['for another hook', { hooks: ['default'] }],
  ['for all receivers', {}],
] as const)('S213: a claim %s passes over as few notices, however many wait', async (_title, request) => {
  for (const sessions of [200, 2000]) {
    const { store } = await sharedWorld(sessions)
    expect(await visitsOf(() => store.claimNotices({ ...claimOfNotices, ...request }))).toBeLessThanOrEqual(20)
  }
})
