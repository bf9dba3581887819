import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import type { LoggedEvent, Session, SessionStore } from '@bowline/sessions'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { collect, setup } from '../support.ts'

const placeOf = placesOfStores()
const postgres = postgresPlace()
const turns = 4

/** Counts the calls of the store by name. */
function counted(store: SessionStore): { readonly store: SessionStore; readonly calls: Map<string, number> } {
  const calls = new Map<string, number>()
  const watched = aroundStore(store, (operation, _args, go) => {
    calls.set(operation, (calls.get(operation) ?? 0) + 1)
    return go()
  })
  return { store: watched, calls }
}

/** Reads a session live until this many of its runs have ended. */
async function readTurns(session: Session, count: number): Promise<readonly LoggedEvent[]> {
  const events: LoggedEvent[] = []
  let left = count
  for await (const event of session.events()) {
    events.push(event)
    if (event.type === 'settled' && --left === 0) break
  }
  return events
}

/** Runs turns of a session in `writer`, while readers of `reader` follow it. Returns the calls of the reader's store. */
async function callsOf(
  writer: Session,
  reader: Session,
  calls: Map<string, number>,
  readers: number,
): Promise<Readonly<Record<string, number>>> {
  await writer.open()
  const reading = Array.from({ length: readers }, () => readTurns(reader, turns))
  for (let turn = 0; turn < turns; turn++) await (await writer.send(`go ${turn}`)).result()
  const read = await Promise.all(reading)
  for (const events of read) expect(events.map(({ cursor }) => cursor)).toEqual(read[0]?.map(({ cursor }) => cursor))
  return Object.fromEntries(calls)
}

it.each(namesOfPlaces)('S103: many readers of a session read its log as often as one: %s', async (name) => {
  const callsFor = async (readers: number): Promise<Readonly<Record<string, number>>> => {
    const { store, calls } = counted(placeOf(name)[0])
    const { runtime } = setup({ steps: () => ({ text: 'Hello there' }), store, clock: manualClock() })
    const session = runtime.session('room:1')
    const all = await callsOf(session, session, calls, readers)
    await runtime.stop()
    return all
  }
  const one = await callsFor(1)
  // Each reader reads the session once, when it starts.
  expect(await callsFor(50)).toEqual({ ...one, readSession: (one['readSession'] ?? 0) + 49 })
})

it('S103: many readers in another process than the run read its log about as often as one: postgres', async () => {
  const readsFor = async (readers: number): Promise<number> => {
    const far = setup({ steps: () => ({ text: 'Hello there' }), store: postgres.store() })
    const { store, calls } = counted(postgres.store())
    const near = setup({ steps: () => ({ text: 'Hello there' }), store })
    const all = await callsOf(far.runtime.session(`room:${readers}`), near.runtime.session(`room:${readers}`), calls, readers)
    await far.runtime.stop()
    await near.runtime.stop()
    return all['readEvents'] ?? 0
  }
  const one = await readsFor(1)
  expect(await readsFor(50)).toBeLessThan(3 * one + 10)
})

it.each(['one', 'many'] as const)('S103: readers that wait poll together, whenever they have started: a store of %s', async (processes) => {
  const readsFor = async (readers: number): Promise<number> => {
    const clock = manualClock()
    const { store, calls } = counted(placeOf('sqlite')[0])
    const capabilities = { ...store.capabilities, processes }
    const ofMany = new Proxy(store, {
      get: (target, name) => (name === 'capabilities' ? capabilities : (Reflect.get(target, name) as unknown)),
    })
    const { runtime } = setup({ steps: () => ({ text: 'Hello there' }), store: ofMany, clock })
    const session = runtime.session('room:1')
    await session.open()
    const leaving = new AbortController()
    const reading: Promise<unknown>[] = []
    for (let reader = 0; reader < readers; reader++) {
      reading.push(collect(session.events({ abortSignal: leaving.signal })))
      await clock.advance(37)
    }
    await clock.advance(2000)
    calls.clear()
    for (let second = 0; second < 120; second++) await clock.advance(1000)
    leaving.abort()
    await Promise.all(reading)
    await runtime.stop()
    return calls.get('readEvents') ?? 0
  }
  const one = await readsFor(1)
  expect(one).toBeGreaterThan(5)
  expect(await readsFor(50)).toBeLessThanOrEqual(one + 1)
})
