import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import type { Principal } from '@bowline/server'
import { bench, gate, say, stores } from './support/bench.ts'
import { allFrames, completion, framesUntil, typesOf, type Frame } from './support/frames.ts'

const events = '/api/agent/session/mine/events'
const isSettled = (frame: Frame) => frame.data.type === 'settled'
const isDelta = (frame: Frame) => frame.data.type === 'text-delta'

describe.each(stores)('the lifetime of a stream, over $name', ({ make }) => {
  it.each([
    ['max-age', { limits: { streamMaxAgeMs: 60_000 } }],
    ['token-expired', { expiresAt: 60_000 }],
  ] as const)(
    'V42: at its end by %s the reader reconnects, and no event is lost',
    async (reason, { expiresAt, limits }: { expiresAt?: number; limits?: object }) => {
      const clock = manualClock()
      const half = gate()
      const parts = [
        { type: 'text-start', id: 't' } as const,
        { type: 'text-delta', id: 't', delta: 'One two ' } as const,
        { wait: half.passed },
        { type: 'text-delta', id: 't', delta: 'three.' } as const,
        { type: 'text-end', id: 't' } as const,
      ]
      const ada: Principal = { id: 'ada', tenant: 'acme', scopes: ['sessions:read', 'sessions:write'] }
      const auth = () => Promise.resolve(expiresAt !== undefined && clock.now() < expiresAt ? { ...ada, expiresAt } : ada)
      // The clock jumps, and no reader can keep up with it.
      const it = await bench({ store: make(), clock, auth, steps: [{ parts }], limits: { slowReaderMs: 100_000, ...limits } })
      const execute = allFrames(await it.execute({ sessionId: 'mine', input: say('count'), context: {} }))
      const reading = allFrames(await it.get(`${events}?from=start`))
      await framesUntil(await it.get(`${events}?from=start`), isDelta)
      while (it.model.calls.length === 0) await clock.advance(0)
      await clock.advance(60_000)
      const [ofRun, before] = [await execute, await reading]
      for (const frames of [ofRun, before]) {
        expect(frames.at(-1)).toEqual({ id: frames.at(-2)?.id, data: { type: 'stream-end', reason, resume: true } })
      }
      const rest = framesUntil(await it.get(events, { 'last-event-id': before.at(-1)?.id ?? '' }), isSettled)
      half.open()
      const together = [...before.slice(0, -1), ...(await rest)]
      const texts = together.flatMap(({ data }) => (data.type === 'text-delta' ? [data.delta] : []))
      expect(texts.join('')).toBe('One two three.')
      const durable = together.filter(({ data }) => 'seq' in data)
      const whole = await framesUntil(await it.get(`${events}?from=start`), isSettled)
      expect(durable).toEqual(whole.filter(({ data }) => 'seq' in data))
      expect(typesOf(whole)).toContain('turn-end')
    },
  )
})

it('V42: a stream of a run that ends before the maximum age has its last frame', async () => {
  const clock = manualClock()
  const it = await bench({ clock, steps: [{ text: 'Hi.' }], limits: { streamMaxAgeMs: 1 } })
  expect(completion(await allFrames(await it.execute({ input: say('hi'), context: {} }))).status).toBe('completed')
})
