import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import type { Principal } from '../../src/auth/principal.ts'
import { defaultLimits } from '../../src/limits.ts'
import type { StreamPlace } from '../../src/sse/open-streams.ts'
import { OpenStreams } from '../../src/sse/open-streams.ts'
import { end, feed, problem, text } from '../support/feed.ts'

const ada: Principal = { id: 'ada', tenant: 'acme', scopes: [] }

function setUp(limits: Partial<typeof defaultLimits> = {}) {
  const clock = manualClock(1_000_000)
  const streams = new OpenStreams({ clock, heartbeatMs: 15_000, limits: { ...defaultLimits, ...limits } })
  const opened = (source: ReturnType<typeof feed>) => (place: StreamPlace) =>
    Promise.resolve(place.open({ open: (signal) => source.open(signal), complete: () => Promise.resolve(end), toFrame: () => problem }))
  /** Opens a stream and reads its first bytes. */
  const open = async (principal: Principal = ada, sessionId = 'mine') => {
    const source = feed()
    const stream = await streams.withPlace(principal, sessionId, opened(source))
    const reader = stream.body.getReader()
    await reader.read()
    return { source, stream, reader }
  }
  return { clock, streams, open }
}

it('V82: draining lets streams finish, then ends the others with drained so that their readers reconnect', async () => {
  const { clock, streams, open } = setUp()
  const finishing = await open()
  const idle = await open()
  let drained = false
  const draining = streams.drain(1000).then(() => (drained = true))
  finishing.source.finish()
  expect(text(await finishing.reader.read())).toContain('"settled"')
  const last = idle.reader.read()
  await clock.advance(999)
  expect(drained).toBe(false)
  await clock.advance(1)
  expect(text(await last)).toBe('data: {"type":"stream-end","reason":"drained","resume":true}\n\n')
  await draining
  expect(streams.count).toBe(0)
  expect(idle.source.aborted).toBe(true)
})

it('V82: draining does not wait forever for a reader that does not read', async () => {
  const { clock, streams, open } = setUp()
  await open()
  const draining = streams.drain(1000)
  await clock.advance(2000)
  await expect(draining).resolves.toBeUndefined()
})

it.each([
  ['of the server', { streams: 2 }, { id: 'bob', tenant: 'other', scopes: [] }, 'other'],
  ['of a principal', { streamsPerPrincipal: 2 }, ada, 'other'],
  ['of a session', { streamsPerSession: 2 }, { id: 'bob', tenant: 'acme', scopes: [] }, 'mine'],
] as const)('V78: the streams %s are limited, and one that ends makes room for the next', async (_, limits, principal, sessionId) => {
  const { open } = setUp(limits)
  const [first] = [await open(), await open()]
  const refused = { code: 'too-many-streams', retryAfterMs: 1000 }
  await expect(open(principal, sessionId)).rejects.toMatchObject(refused)
  await expect(open(principal, sessionId)).rejects.toMatchObject(refused)
  await first.reader.cancel()
  await open(principal, sessionId)
  await expect(open(principal, sessionId)).rejects.toMatchObject(refused)
})

it('V78: principals with the same name in two tenants do not count for each other, nor do their sessions', async () => {
  const { streams, open } = setUp({ streamsPerPrincipal: 1, streamsPerSession: 1 })
  await open()
  await open({ ...ada, tenant: 'other' })
  expect(streams.count).toBe(2)
})

it('V78: an unused slot is freed, whatever the reason', async () => {
  const { streams, open } = setUp({ streams: 1 })
  await streams.withPlace(ada, 'mine', () => Promise.resolve())
  await expect(streams.withPlace(ada, 'mine', () => Promise.reject(new Error('no such session')))).rejects.toThrow('no such session')
  await expect(streams.withPlace(ada, undefined, (place) => opening(place))).rejects.toThrow('of a session')
  await open()
})

it('V78: a stream that was opened but not returned is closed', async () => {
  const { clock, streams, open } = setUp({ streams: 1 })
  const failing = streams.withPlace(ada, 'mine', async (place) => {
    await opening(place)
    throw new Error('the answer could not be made')
  })
  await expect(failing).rejects.toThrow('could not be made')
  expect(clock.pendingTimers).toBe(0)
  await open()
})

it('V78: a slot stays taken until the work is done', async () => {
  const { streams, open } = setUp({ streams: 1 })
  const work = Promise.withResolvers<void>()
  const busy = streams.withPlace(ada, 'mine', () => work.promise)
  await expect(open()).rejects.toMatchObject({ code: 'too-many-streams' })
  work.resolve()
  await busy
  await open()
})

it('V42: a stream that has reached its maximum age ends with max-age, and its reader may reconnect', async () => {
  const { clock, open, streams } = setUp({ streamMaxAgeMs: 60_000 })
  const { source, reader } = await open()
  for (let silence = 0; silence < 3; silence++) {
    const beat = reader.read()
    await clock.advance(15_000)
    expect(text(await beat)).toBe(': hb\n\n')
  }
  source.push({ type: 'save-point', cursor: '7' })
  await reader.read()
  const last = reader.read()
  await clock.advance(15_000)
  expect(text(await last)).toBe('id: 7\ndata: {"type":"stream-end","reason":"max-age","resume":true}\n\n')
  expect((await reader.read()).done).toBe(true)
  expect([streams.count, clock.pendingTimers]).toEqual([0, 0])
})

it('V42: a stream ends when its reader loses the right to read', async () => {
  const { clock, open } = setUp({ streamMaxAgeMs: 60_000 })
  const { reader } = await open({ ...ada, expiresAt: clock.now() + 5000 })
  const last = reader.read()
  await clock.advance(5000)
  expect(text(await last)).toContain('"token-expired","resume":true')
})

async function opening(place: StreamPlace): Promise<unknown> {
  await Promise.resolve()
  return place.open({ open: (signal) => feed().open(signal), complete: () => Promise.resolve(end), toFrame: () => problem })
}
