import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { coreStore } from '../../src/core/core-store.ts'
import { SessionError } from '../../src/errors.ts'
import { memoryRows } from '../../src/rows/memory-rows.ts'
import { memoryStateStore } from '../../src/state/memory-state-store.ts'

const at = 1_750_000_000_000
const leaseMs = 30_000
/** More than a claim reads at once, twice. */
const many = 450

/** Returns a store with many runs of an agent that only the process `old` knows. It has claimed all of them. */
async function newWorld(loss: 'lease' | 'owner') {
  const clock = manualClock(at)
  const store = coreStore(memoryRows(), { loss, state: memoryStateStore({ clock }) })
  await store.open({ namespace: 'default', owner: 'old', clock })
  const begin = async (key: string, agent: string): Promise<void> => {
    const session = { id: `session of ${key}`, agent, metadata: {}, at: clock.now() }
    const run = { id: `run of ${key}`, kind: 'user', inputHash: 'hash', input: 'hello', at: clock.now() } as const
    await store.commit({
      id: `batch of ${key}`,
      key,
      expect: [],
      writes: [
        { op: 'session.ensure', session },
        { op: 'run.insert', run },
      ],
    })
  }
  for (let n = 0; n < many; n++) await begin(`tenant:${n % 3}:${n}`, 'gone')
  expect(await store.claim({ owner: 'old', holds: [], agents: ['gone'], leaseMs, max: many })).toHaveLength(many)
  return { clock, store, begin }
}

it.each(['lease', 'owner'] as const)('S56: a lost run is taken over, however many others no process can take over, by %s', async (loss) => {
  const { clock, store, begin } = await newWorld(loss)
  await clock.advance(1)
  await begin('last', 'kept')
  const request = { holds: [], agents: ['kept'], leaseMs, max: 1 }
  expect(await store.claim({ ...request, owner: 'middle' })).toMatchObject([{ run: { id: 'run of last' } }])
  await clock.advance(leaseMs)
  expect(await store.claim({ ...request, owner: 'new' })).toMatchObject([{ previous: 'running', run: { id: 'run of last' } }])
})

it('S56: the runs of a tenant are all counted, however many there are', async () => {
  const { store, begin } = await newWorld('lease')
  await begin('tenant:2:new', 'kept')
  const request = { owner: 'new', holds: [], agents: ['kept'], leaseMs, max: 1 }
  expect(await store.claim({ ...request, maxRunsPerTenant: many / 3 })).toEqual([])
  expect(await store.claim({ ...request, maxRunsPerTenant: many / 3 + 1 })).toHaveLength(1)
})

it('S164: a definition without a run is deleted, however many older ones are in use', async () => {
  const clock = manualClock(at)
  const store = coreStore(memoryRows(), { loss: 'lease', state: memoryStateStore({ clock }) })
  await store.open({ namespace: 'default', owner: 'old', clock })
  const session = { id: 'session_1', agent: 'kept', metadata: {}, at }
  const define = (hash: string, runId: string) =>
    store.commit({
      id: `batch ${hash}`,
      key: 'room',
      expect: [],
      writes: [
        { op: 'session.ensure', session },
        { op: 'definition.put', hash, body: {} },
        ...(runId === '' ? [] : ([{ op: 'run.insert', run: { id: runId, kind: 'user', inputHash: 'hash', input: '', at } }] as const)),
        ...(runId === '' ? [] : ([{ op: 'run.patch', runId, patch: { definition: hash } }] as const)),
      ],
    })
  for (let n = 0; n < many; n++) await define(`used ${n}`, `run ${n}`)
  await clock.advance(1)
  await define('unused', '')
  await store.prune({ runsEndedBefore: 1, noticesQueuedBefore: 1 }, 1)
  expect(await store.readDefinition('unused')).toBeUndefined()
  expect(await store.readDefinition(`used ${many - 1}`)).toEqual({})
})

/** Returns a store over memory rows, with one run to claim in each of the sessions `a` and `b`. */
async function twoRuns() {
  const clock = manualClock(at)
  const rows = memoryRows()
  const store = coreStore(rows, { loss: 'lease', state: memoryStateStore({ clock }) })
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  for (const key of ['a', 'b']) {
    const session = { id: `session of ${key}`, agent: 'kept', metadata: {}, at }
    const run = { id: `run of ${key}`, kind: 'user', inputHash: 'hash', input: 'hello', at } as const
    const writes = [
      { op: 'session.ensure', session },
      { op: 'run.insert', run },
    ] as const
    await store.commit({ id: `batch of ${key}`, key, expect: [], writes })
  }
  const claim = async (holds: readonly string[] = []): Promise<readonly unknown[]> => {
    const claims = await store.claim({ owner: 'owner-a', holds, agents: ['kept'], leaseMs, max: 2 })
    return claims.map(({ run }) => [run.id, run.epoch])
  }
  return { rows, write: rows.write, store, claim }
}

it('S55: a claim of which a part is refused claims no run twice', async () => {
  const { rows, write, claim } = await twoRuns()
  let times = 0
  // Another process keeps one of two sessions locked.
  const locking: typeof write = (changes) =>
    times++ === 0 && changes.length === 2 ? write(changes.slice(1)).then((stored) => [false, ...stored]) : write(changes)
  Object.assign(rows, { write: locking })
  expect(await claim()).toEqual([['run of b', 1]])
})

it.each(['read', 'write'] as const)('S55: a claim returns the runs that it has stored, although its next %s fails', async (call) => {
  const { rows, write, claim } = await twoRuns()
  const { read } = rows
  const other = coreStore(rows.second(), { loss: 'lease', state: memoryStateStore({ clock: manualClock(at) }) })
  await other.open({ namespace: 'default', owner: 'owner-b', clock: manualClock(at) })
  const fail = (): Promise<never> => Promise.reject(new SessionError('store-unavailable', 'The database does not answer'))
  // Another process changes one of the two sessions, so that the claim looks again.
  const crossing: typeof write = async (changes) => {
    await other.commit({ id: 'crossing', key: 'a', expect: [], writes: [{ op: 'session.patch', patch: { metadata: { crossed: true } } }] })
    const stored = await write(changes)
    Object.assign(rows, { write, [call]: fail })
    return stored
  }
  Object.assign(rows, { write: crossing })
  expect(await claim()).toEqual([['run of b', 1]])
  await expect(claim()).rejects.toMatchObject({ code: 'store-unavailable' })
  Object.assign(rows, { read, write })
  expect(await claim(['run of b'])).toEqual([['run of a', 1]])
})
