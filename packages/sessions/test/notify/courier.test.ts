import { manualClock } from '@bowline/llm/testing'
import { verifyWebhook, type NoticeRecord, type Runtime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { setup, type SetupOptions } from '../support.ts'
import { onLoopback, receiver, secret, to } from './receiver.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const startMs = 1_750_000_000_000

function talkative(options: Partial<SetupOptions>) {
  return setup({ steps: () => ({ text: 'hi' }), webhooks: onLoopback, ...options })
}

async function turns(runtime: Runtime, key: string, count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) await (await runtime.session(key).send('go')).result()
}

/** Resolves when the notices match and the courier has asked for the next. Checks after each call of the courier. */
function settledStore(store = memoryStore()) {
  let news = Promise.withResolvers<void>()
  let last: string | undefined
  const watched = aroundStore(store as SessionStore, async (operation, _args, go) => {
    const answer = await go()
    if (operation !== 'settleNotice' && operation !== 'claimNotices') return answer
    last = operation
    setImmediate(() => {
      news.resolve()
      news = Promise.withResolvers()
    })
    return answer
  })
  return {
    store: watched,
    async until(fits: (notices: readonly NoticeRecord[]) => boolean): Promise<readonly NoticeRecord[]> {
      for (;;) {
        const { promise } = news
        const { items } = await store.listNotices({ limit: 1000 })
        if (fits(items) && last === 'claimNotices') return items.toReversed()
        await promise
      }
    },
  }
}

const all = (state: NoticeRecord['state'], count: number) => (notices: readonly NoticeRecord[]) =>
  notices.filter((notice) => notice.state === state).length === count

describe('a delivery', () => {
  it('S212: is not repeated because the store fails for a moment after it', async () => {
    const hook = await receiver()
    const { store, until } = settledStore()
    const { runtime, faults } = talkative({
      store: faultyStore(store, [{ of: 'settleNotice', times: 4, fault: 'unavailable' }]),
      notify: to(hook.url),
    })
    await turns(runtime, 'room:1')
    await hook.count(1)
    expect(await until(all('delivered', 1))).toMatchObject([{ attempts: 1 }])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S212: is one signed POST with an id, and is recorded', async () => {
    const hook = await receiver()
    const { store, until } = settledStore()
    const { runtime, faults } = talkative({ store, notify: to(hook.url, { headers: { 'x-tenant': 'acme' } }) })
    await turns(runtime, 'room:1')
    const [one] = await hook.count(1)
    const [notice] = await until(all('delivered', 1))
    expect(one?.body).toEqual({ id: notice?.id, type: 'settled', n: 1, at: notice?.at, ...notice?.body })
    expect(one?.headers).toMatchObject({ 'content-type': 'application/json', 'bowline-event-id': notice?.id, 'x-tenant': 'acme' })
    expect(verifyWebhook(one?.headers as never, one?.text ?? '', secret)).toBe(true)
    expect(notice).toMatchObject({ state: 'delivered', attempts: 1, settledAt: expect.any(Number) as number })
    expect(notice).not.toHaveProperty('dueAt')
    await runtime.stop()
    expect([hook.received.length, faults]).toEqual([1, []])
  })

  it('S212: leaves nothing in memory, however long the runtime lives', async () => {
    const hook = await receiver()
    const requests: WeakRef<object>[] = []
    const onRequest = (message: unknown): void => void requests.push(new WeakRef((message as { readonly request: object }).request))
    subscribe('http.client.request.start', onRequest)
    onTestFinished(() => void unsubscribe('http.client.request.start', onRequest))
    const { store, until } = settledStore()
    const { runtime } = talkative({ store, notify: to(hook.url) })
    await turns(runtime, 'room:1', 10)
    await until(all('delivered', 10))
    expect(requests.length).toBeGreaterThanOrEqual(10)
    await expect.poll(() => (collectGarbage(), requests.filter((request) => request.deref()).length)).toBeLessThan(3)
    await runtime.stop()
  })

  it('S212: goes to each webhook that names the event, also to the webhook of the session', async () => {
    const [first, second, own] = [await receiver(), await receiver(), await receiver()]
    const { runtime } = talkative({ notify: [to(first.url, { name: 'first' }), to(second.url, { name: 'second', events: ['expired'] })] })
    const session = runtime.session('room:1', { notify: { url: own.url, events: ['settled'], secret: 'another secret of a session' } })
    await (await session.send('go')).result()
    await Promise.all([first.count(1), own.count(1)])
    expect(verifyWebhook(own.received[0]?.headers as never, own.received[0]?.text ?? '', 'another secret of a session')).toBe(true)
    await runtime.stop()
    expect(second.received).toEqual([])
  })

  it('S212: keeps the order of its session, whatever the receiver refuses', async () => {
    let asked = 0
    const hook = await receiver((response) => void response.writeHead(asked++ % 3 === 0 ? 500 : 204).end())
    const clock = manualClock(startMs)
    const { store, until } = settledStore()
    const { runtime } = talkative({ store, clock, notify: to(hook.url) })
    for (const key of ['room:1', 'room:2']) await turns(runtime, key, 5)
    while (!(await store.listNotices({ state: 'pending' })).items.every(() => false)) {
      await until((notices) =>
        notices.every(
          ({ state, dueAt }) => state === 'delivered' || dueAt === undefined || (dueAt > clock.now() && dueAt < clock.now() + 20_000),
        ),
      )
      await clock.advance(2_000)
    }
    for (const key of ['room:1', 'room:2']) {
      const order = hook.received.flatMap(({ body }) => (body.session === key ? [body.n] : []))
      expect(order).toEqual(order.toSorted((a, b) => a - b))
      expect(new Set(order)).toEqual(new Set([1, 2, 3, 4, 5]))
    }
    await runtime.stop()
  })

  it('S212: is repeated with back-off under one id during an hour of status 500, and then arrives', async () => {
    let isWell = false
    const hook = await receiver((response) => void response.writeHead(isWell ? 204 : 500).end())
    const clock = manualClock(startMs)
    const { runtime } = talkative({ clock, timers: false, notify: to(hook.url) })
    await runtime.session('room:1').send('go')
    await runtime.drain()
    const waits: number[] = []
    while (clock.now() < startMs + 3_600_000) {
      const {
        items: [notice],
      } = await runtime.notices()
      expect(notice).toMatchObject({ state: 'pending', attempts: waits.length + 1, error: 'the receiver answered 500' })
      waits.push((notice?.dueAt ?? 0) - clock.now())
      await clock.advance(waits.at(-1) ?? 0)
      await runtime.sweep()
    }
    expect(waits).toEqual(Array.from({ length: 12 }, (_, place) => 1000 * 2 ** place))
    isWell = true
    // The longest wait.
    await clock.advance(3_600_000)
    await runtime.sweep()
    expect((await runtime.notices({ state: 'delivered' })).items).toMatchObject([{ attempts: 14 }])
    expect(new Set(hook.received.map(({ headers }) => headers['bowline-event-id'])).size).toBe(1)
    expect(new Set(hook.received.map(({ text }) => text)).size).toBe(1)
    await runtime.stop()
  })

  it('S212: fails for good after its retention, is listed with the reason, and can be sent again', async () => {
    let isWell = false
    const hook = await receiver((response) => void response.writeHead(isWell ? 204 : 503).end())
    const clock = manualClock(startMs)
    const { store, until } = settledStore()
    const { runtime } = talkative({ store, clock, notify: to(hook.url, { retentionMs: 4000 }) })
    await turns(runtime, 'room:1')
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until(([each]) => each?.attempts === attempt && each.error !== undefined)
      await clock.advance(2000)
    }
    const [failed] = await until(all('failed', 1))
    expect(failed).toMatchObject({ state: 'failed', attempts: 3, error: 'the receiver answered 503' })
    expect((await runtime.notices({ state: 'failed' })).items).toEqual([failed])
    isWell = true
    expect(await runtime.resendNotice('room:1', failed?.id ?? '')).toMatchObject({ id: failed?.id, state: 'pending' })
    await until(all('delivered', 1))
    expect(hook.received.at(-1)?.body.id).toBe(failed?.id)
    expect(await runtime.resendNotice('room:1', 'made up')).toBeNull()
    await runtime.stop()
  })
})

describe('a receiver that never answers', () => {
  it('S213: has 10 s, and delays neither runs nor other receivers, however many notices there are', async () => {
    const [silent, well] = [await receiver(() => undefined), await receiver()]
    const clock = manualClock(startMs)
    const { store, until } = settledStore()
    const { runtime } = talkative({ store, clock, notify: [to(silent.url, { name: 'silent' }), to(well.url, { name: 'well' })] })
    await Promise.all(Array.from({ length: 20 }, (_, place) => turns(runtime, `room:${place}`)))
    await well.count(20)
    // Sends this many at once, and no more.
    expect((await silent.count(8)).length).toBe(8)
    await clock.advance(9_999)
    expect(silent.received.length).toBe(8)
    await clock.advance(1)
    await until((notices) => notices.filter(({ error }) => error === 'the receiver did not answer within 10000 ms').length === 8)
    await silent.count(9)
    await runtime.stop({ graceMs: 0 })
  })

  it('S213: a notice that is being sent when the runtime stops is sent at once by the next runtime', async () => {
    const silent = await receiver(() => undefined)
    const memory = memoryStore()
    const second = memory.second()
    const { runtime } = talkative({ store: memory, notify: to(silent.url) })
    await turns(runtime, 'room:1')
    await silent.count(1)
    await runtime.stop({ graceMs: 0 })
    const well = await receiver()
    const next = talkative({ store: second, notify: to(well.url) })
    await next.runtime.start()
    expect((await well.count(1))[0]?.body.id).toBe(silent.received[0]?.body.id)
    await next.runtime.stop()
  })
})

describe('a host without timers', () => {
  it('S212: gets the time of the next delivery, and sends with drain and sweep', async () => {
    let isWell = false
    const hook = await receiver((response) => void response.writeHead(isWell ? 204 : 500).end())
    const clock = manualClock(startMs)
    const wakes: number[] = []
    const { runtime } = talkative({ clock, timers: false, onWake: ({ atMs }) => void wakes.push(atMs), notify: to(hook.url) })
    await runtime.session('room:1').send('go')
    const report = await runtime.drain()
    expect([hook.received.length, report.nextDueAt]).toEqual([1, startMs + 1000])
    expect(wakes.at(-1)).toBe(startMs + 1000)
    isWell = true
    await clock.advance(1000)
    expect((await runtime.sweep()).nextDueAt).toBeNull()
    expect([hook.received.length, (await runtime.notices({ state: 'delivered' })).items.length]).toEqual([2, 1])
    await runtime.stop()
  })

  it('S212: a drain at its deadline leaves the notice that it is sending to the next drain', async () => {
    let isWell = false
    const hook = await receiver((response) => (isWell ? void response.writeHead(204).end() : undefined))
    const clock = manualClock(startMs)
    const { runtime } = talkative({ clock, timers: false, notify: to(hook.url) })
    await runtime.session('room:1').send('go')
    const draining = runtime.drain({ untilMs: startMs + 5000 })
    await hook.count(1)
    await clock.advance(5000)
    expect((await draining).nextDueAt).toBe(startMs + 5000)
    isWell = true
    expect((await runtime.drain()).nextDueAt).toBeNull()
    expect(hook.received.length).toBe(2)
    await runtime.stop()
  })
})

it('S212: a store that is unavailable for a while only delays a notice', async () => {
  const hook = await receiver()
  const clock = manualClock(startMs)
  let isAway = true
  const memory = memoryStore()
  const store = aroundStore(memory as SessionStore, async (operation, _args, go) => {
    if (isAway && operation === 'claimNotices') throw new Error('away')
    return go()
  })
  const { runtime, faults } = talkative({ store, clock, notify: to(hook.url) })
  await turns(runtime, 'room:1')
  await clock.advance(5000)
  isAway = false
  await clock.advance(5000)
  await hook.count(1)
  expect(faults.length).toBeGreaterThan(0)
  await runtime.stop()
})
