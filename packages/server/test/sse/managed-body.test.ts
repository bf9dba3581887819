import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import type { Principal } from '../../src/auth/principal.ts'
import { defaultLimits } from '../../src/limits.ts'
import { OpenStreams } from '../../src/sse/open-streams.ts'
import { text } from '../support/feed.ts'

const ada: Principal = { id: 'ada', tenant: 'acme', scopes: [] }
const bytes = (of: string) => new TextEncoder().encode(of)

function setUp(limits: Partial<typeof defaultLimits> = {}) {
  const clock = manualClock(1_000_000)
  const streams = new OpenStreams({ clock, heartbeatMs: 15_000, limits: { ...defaultLimits, ...limits } })
  /** Opens a body that sends 'one' and then waits for the test. */
  const hold = async (principal: Principal = ada) => {
    const state: { left: boolean; controller?: ReadableStreamDefaultController<Uint8Array> } = { left: false }
    const source = new ReadableStream<Uint8Array>(
      { start: (controller) => void (state.controller = controller), cancel: () => void (state.left = true) },
      { highWaterMark: 0 },
    )
    const held = await streams.withPlace(principal, undefined, (place) => Promise.resolve(place.hold(source)))
    state.controller?.enqueue(bytes('one'))
    const reader = held.body.getReader()
    expect(text(await reader.read())).toBe('one')
    return { held, reader, state }
  }
  const nothingLeft = () => expect([streams.count, clock.pendingTimers]).toEqual([0, 0])
  return { clock, streams, hold, nothingLeft }
}

it.each([
  ['its age', { streamMaxAgeMs: 60_000 }, ada, 60_000],
  ['the right to read it', { streamMaxAgeMs: 60_000 }, { ...ada, expiresAt: 1_005_000 }, 5000],
] as const)('V42: a body of another format is cut at the end of %s, and its producer is notified', async (_, limits, principal, atMs) => {
  const { clock, hold, nothingLeft } = setUp(limits)
  const { reader, state } = await hold(principal)
  const next = reader.read()
  await clock.advance(atMs - 1)
  expect(state.left).toBe(false)
  const cut = expect(next).rejects.toThrow('ended')
  await clock.advance(1)
  await cut
  expect(state.left).toBe(true)
  nothingLeft()
})

it('V65: a body of another format is cut when the credentials of its reader are removed', async () => {
  const { streams, hold } = setUp()
  const [gone, stays] = [await hold(), await hold({ ...ada, id: 'bob' })]
  const cut = expect(gone.reader.read()).rejects.toThrow('token-expired')
  await streams.recheck(({ id }) => Promise.resolve(id === 'bob'))
  await cut
  expect([gone.state.left, stays.state.left, streams.count]).toEqual([true, false, 1])
})

it('V82: a body of another format may finish while draining, and is cut when the drain is over', async () => {
  const { clock, streams, hold, nothingLeft } = setUp()
  const [finishing, endless] = [await hold(), await hold()]
  const draining = streams.drain(1000)
  finishing.state.controller?.close()
  expect((await finishing.reader.read()).done).toBe(true)
  const cut = expect(endless.reader.read()).rejects.toThrow('drained')
  await clock.advance(1000)
  await cut
  await draining
  nothingLeft()
})

it('V78: a body of another format has a slot until it ends, fails or its reader leaves', async () => {
  const { hold, nothingLeft } = setUp({ streamsPerPrincipal: 1 })
  const refused = { code: 'too-many-streams' }
  const ended = await hold()
  await expect(hold()).rejects.toMatchObject(refused)
  ended.state.controller?.close()
  await ended.reader.read()
  const failed = await hold()
  await expect(hold()).rejects.toMatchObject(refused)
  failed.state.controller?.error(new Error('broke'))
  await expect(failed.reader.read()).rejects.toThrow('broke')
  const left = await hold()
  await expect(hold()).rejects.toMatchObject(refused)
  await left.reader.cancel()
  expect(left.state.left).toBe(true)
  nothingLeft()
})

it('V39: a body of another format is cut when its reader does not read, and not while it waits', async () => {
  const { clock, hold, nothingLeft } = setUp({ slowReaderMs: 1000 })
  const { reader, state } = await hold()
  const next = reader.read()
  await clock.advance(10_000)
  state.controller?.enqueue(bytes('two'))
  expect(text(await next)).toBe('two')
  await clock.advance(2000)
  expect(state.left).toBe(true)
  await expect(reader.read()).rejects.toThrow('takes nothing')
  nothingLeft()
})

it('V39: a large piece is sent in parts, and each part counts as progress', async () => {
  const { clock, hold } = setUp({ slowReaderMs: 1000 })
  const { reader, state } = await hold()
  const whole = Uint8Array.from({ length: 300_000 }, (_, place) => place % 251)
  state.controller?.enqueue(whole)
  const taken: number[] = []
  while (taken.length < whole.length) {
    taken.push(...((await reader.read()).value ?? []))
    await clock.advance(900)
  }
  expect(Uint8Array.from(taken)).toEqual(whole)
})
