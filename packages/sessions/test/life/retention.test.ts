import { manualClock } from '@bowline/llm/testing'
import type { Batch, SessionStore } from '@bowline/sessions'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { childrenOf, endOf, handOver, helper, launch, root, team } from '../children/support.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'

const placeOf = placesOfStores()
const hourMs = 3_600_000
const sweepMs = 30_000
const weekMs = 7 * 24 * hourMs
const lifeMs = 4 * hourMs

/** Creates an expired session with a background task, a conversation with a subagent, and states. */
async function livedWithChildren(store: SessionStore) {
  const clock = manualClock()
  const notes = helper('notes', [{ toolCalls: [handOver('deep', 'scout')] }, { text: 'noted' }], {
    subagents: [helper('scout', [{ text: 'deep' }])],
  })
  const made = await team(
    [{ toolCalls: [launch('a', 'scout'), handOver('b', 'notes', { sessionKey: 'notes' })] }, { text: 'done' }, { text: 'seen' }],
    {
      store,
      clock,
      timers: false,
      onWake: () => undefined,
      ttl: { maxAgeMs: lifeMs },
      subagents: [helper('scout', [{ text: 'found' }]), notes],
    },
  )
  const { runtime, session } = made
  await session.open()
  // The children are younger, so they would expire later.
  await clock.advance(lifeMs / 2)
  const run = await session.send('go')
  await runtime.drain()
  await endOf(store, run.runId)
  await session.state.set({ last: 'words' })
  expect(await childrenOf(store)).toHaveLength(2)
  await clock.advance(lifeMs / 2)
  await runtime.sweep()
  expect(await session.info()).toMatchObject({ expiredAt: expect.any(Number) as number })
  return { ...made, clock }
}

describe.each(namesOfPlaces)('an expired session with children, over %s', (name) => {
  it('S105, S161: until its retention is over everything stays readable, then everything is deleted', async () => {
    const [store] = placeOf(name)
    const { runtime, clock, faults } = await livedWithChildren(store)
    const keys = (await store.listSessions({})).items.map(({ key }) => key)
    expect(keys).toHaveLength(4)
    await clock.advance(weekMs)
    await runtime.sweep()
    expect((await store.listSessions({})).items).toHaveLength(4)
    await clock.advance(hourMs)
    await runtime.sweep()
    for (const key of keys) expect(await store.readSession(key)).toMatchObject({ status: key === root ? 'deleted' : 'missing' })
    expect(await childrenOf(store)).toEqual([])
    expect(await store.state.list('session-state', { prefix: '' })).toMatchObject({ items: [] })
    expect(faults).toEqual([])
    await runtime.stop()
  })
})

it('S164: a part that cannot be deleted is reported, blocks nothing else, and is deleted the next time', async () => {
  const [memory] = placeOf('memory')
  let isBroken = false
  const fails = ({ key, writes }: Batch): boolean =>
    isBroken && key.startsWith(`${root}~scout`) && writes.some(({ op }) => op === 'session.delete')
  const store = faultyStore(memory, [{ of: 'commit', when: fails, fault: { error: new Error('disk on fire') } }])
  const { runtime, clock, faults } = await livedWithChildren(store)
  isBroken = true
  await clock.advance(weekMs + lifeMs)
  await runtime.sweep()
  expect(faults).toMatchObject([{ message: 'disk on fire' }, { message: 'disk on fire' }])
  const left = (await store.listSessions({})).items.map(({ key }) => key.split('~').slice(0, 2).join('~'))
  expect(left.sort()).toEqual([root, `${root}~scout`])
  await clock.advance(sweepMs)
  await runtime.sweep()
  expect(faults).toHaveLength(4)
  isBroken = false
  await clock.advance(sweepMs)
  expect(await runtime.sweep()).toMatchObject({ pruned: { sessions: 0 } })
  await clock.advance(sweepMs)
  expect(await runtime.sweep()).toMatchObject({ pruned: { sessions: 2 } })
  expect((await store.listSessions({})).items).toEqual([])
  await runtime.stop()
})
