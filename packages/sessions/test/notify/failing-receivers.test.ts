import { manualClock } from '@bowline/llm/testing'
import type { NoticeClaimRequest, SessionStore } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { FailingReceivers } from '../../src/runtime/failing-receivers.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { setup } from '../support.ts'
import { receiver, secret, to, type Receiver } from './receiver.ts'

const placeOf = placesOfStores()
const startMs = 1_750_000_000_000
const ofCourier = ['claimNotices', 'settleNotice', 'readSession']

/** A runtime whose host calls it, and whose webhooks reach their receiver only while `isWell`. */
function world(given: SessionStore, options: Partial<Parameters<typeof setup>[0]> = {}) {
  const clock = manualClock(startMs)
  const state = { isWell: false, calls: 0, claims: [] as NoticeClaimRequest[] }
  const store = aroundStore(given, (operation, args, go) => {
    if (ofCourier.includes(operation)) state.calls += 1
    if (operation === 'claimNotices') state.claims.push(args[0] as NoticeClaimRequest)
    return go()
  })
  const resolve = (name: string): Promise<readonly string[]> =>
    Promise.resolve(state.isWell || !name.startsWith('dead') ? ['127.0.0.1'] : [])
  const webhooks = { http: true, allow: ['127.0.0.1'], resolve, random: () => 1 - Number.EPSILON }
  const { runtime } = setup({ steps: () => ({ text: 'hi' }), store, clock, timers: false, webhooks, ...options })
  /** Lets the host look once a second. Returns the calls of the store meanwhile. */
  async function pass(seconds: number): Promise<number> {
    state.calls = 0
    for (let second = 0; second < seconds; second++) {
      await clock.advance(1000)
      await runtime.sweep()
    }
    return state.calls
  }
  return { runtime, clock, state, pass }
}

const at = (name: string, { port }: Receiver): string => `http://${name}.example:${port}/hook`

async function endRuns(runtime: ReturnType<typeof world>['runtime'], count: number, urlOf: (place: number) => string): Promise<void> {
  for (let place = 0; place < count; place++) {
    await runtime
      .session(`room:${String(place).padStart(3, '0')}`, { notify: { url: urlOf(place), events: ['settled'], secret } })
      .send('go')
  }
  await runtime.drain()
}

it.each(namesOfPlaces)(
  'S213: a receiver that cannot be reached costs the same calls of the store, however many notices wait for it: %s',
  async (name) => {
    const hook = await receiver()
    const callsFor = async (count: number): Promise<number> => {
      const { runtime, pass } = world(placeOf(name)[0])
      await endRuns(runtime, count, (place) => `${at('dead', hook)}/${place}`)
      const calls = await pass(120)
      await runtime.stop()
      return calls
    }
    const few = await callsFor(40)
    // Each look claims once. Seven probes claim, read the webhook of the session and store the outcome.
    expect(few).toBeLessThan(120 + 40)
    expect(await callsFor(90)).toBe(few)
    expect(hook.received).toEqual([])
  },
)

it('S213: when a receiver is back, what waits goes out in order with the next probe, and others never wait for it', async () => {
  const hook = await receiver()
  const { runtime, state, pass } = world(placeOf('sqlite')[0])
  await endRuns(runtime, 100, (place) => at(place % 10 === 0 ? 'well' : 'dead', hook))
  const sessions = (): readonly string[] => hook.received.map(({ body }) => body.session)
  expect(sessions().toSorted()).toEqual(Array.from({ length: 10 }, (_, place) => `room:0${place}0`))
  const { items: before } = await runtime.notices({ state: 'pending', limit: 1000 })
  const untried = before.filter(({ attempts }) => attempts === 0).map(({ session }) => session)
  expect(untried.length).toBeGreaterThan(40)
  state.isWell = true
  await pass(2)
  const late = new Set(untried)
  expect(sessions().filter((session) => late.has(session))).toEqual(untried.toSorted())
  expect((await runtime.notices({ state: 'delivered', limit: 1000 })).items).toHaveLength(100)
  await runtime.stop()
})

it('S213: while receivers are paused, claims leave them out', async () => {
  const hook = await receiver()
  const notify = [to(at('dead', hook), { name: 'dead' }), to(at('well', hook), { name: 'well' })]
  const { runtime, state, clock } = world(placeOf('sqlite')[0], { notify })
  for (let place = 0; place < 20; place++) await runtime.session(`room:${place}`).send('go')
  await runtime.drain()
  await clock.advance(30_000)
  for (const key of ['late:1', 'late:2']) {
    await runtime.session(key).send('go')
    await runtime.drain()
  }
  expect(hook.received).toHaveLength(22)
  expect(state.claims.at(-1)).toEqual({ max: 8, leaseMs: 30_000, hooks: ['dead', 'well', 'session'], except: ['dead'] })
  await runtime.stop()
})

it('S213: what waits for a paused receiver fails after its retention without being sent', async () => {
  const hook = await receiver()
  const { runtime, pass } = world(placeOf('memory')[0], { notify: to(at('dead', hook), { retentionMs: 20_000 }) })
  for (let place = 0; place < 50; place++) await runtime.session(`room:${place}`).send('go')
  await runtime.drain()
  await pass(80)
  const { items } = await runtime.notices({ limit: 1000 })
  expect(new Set(items.map(({ state, error }) => `${state}: ${error}`))).toEqual(
    new Set(['failed: the address is refused: it is not a public address']),
  )
  expect(items).toHaveLength(50)
  await runtime.stop()
})

it('S213: a receiver is paused after eight failures in a row, a success resumes it, and no more than so many are remembered', () => {
  const clock = manualClock(startMs)
  const failing = new FailingReceivers({ clock, random: () => 1 - Number.EPSILON, most: 3 })
  const fail = (name: string, times: number): void => {
    for (let time = 0; time < times; time++) failing.failed(name, 'session', 'refused')
  }
  fail('one', 7)
  failing.succeeded('one')
  fail('one', 7)
  expect([failing.paused, failing.nextProbeAt, failing.errorOf('one')]).toEqual([[], Infinity, undefined])
  fail('one', 1)
  // These were under way.
  fail('one', 20)
  expect([failing.paused, failing.nextProbeAt, failing.errorOf('one')]).toEqual([['one'], startMs + 1000, 'refused'])
  for (const name of ['two', 'three', 'four', 'five']) fail(name, 8)
  expect(failing.paused).toEqual(['three', 'four', 'five'])
  failing.succeeded('four')
  expect(failing.paused).toEqual(['three', 'five'])
})
