import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { SessionError } from '../../src/errors.ts'
import { askAgain, steadyStore } from '../../src/contract/steady-store.ts'
import type { Batch } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'

const away = (): SessionError => new SessionError('store-unavailable', 'away')

/** Creates a function that fails this many times, then answers. `at` has the time of each call. */
function failing(failures: number, error: () => unknown = away) {
  const clock = manualClock()
  const at: number[] = []
  const ask = async (): Promise<string> => {
    at.push(clock.now())
    if (at.length <= failures) throw error()
    return 'stored'
  }
  return { ask, at, clock }
}

describe('S35: a store call without an answer is made again', () => {
  it('S35, S203: twice at once, then with a backoff that grows to a second', async () => {
    const { ask, at, clock } = failing(11)
    const asked = askAgain(ask, { clock })
    await clock.advance(10_000)
    expect(await asked).toBe('stored')
    expect(at).toEqual([0, 0, 0, 25, 75, 175, 375, 775, 1_575, 2_575, 3_575, 4_575])
    expect(clock.pendingTimers).toBe(0)
  })

  it('S35: it tells the first failure that it waits for, once, and none before', async () => {
    const told: unknown[] = []
    const short = failing(2)
    await askAgain(short.ask, { clock: short.clock, onWait: (error) => told.push(error) })
    expect(told).toEqual([])
    const longer = failing(5)
    const asked = askAgain(longer.ask, { clock: longer.clock, onWait: (error) => told.push(error) })
    await longer.clock.advance(1_000)
    await asked
    expect(told).toEqual([away()])
  })

  it.each([
    [0, 3],
    [25, 4],
    [74, 4],
    [75, 5],
  ])('S35: for at most %i ms', async (forMs, calls) => {
    const { ask, at, clock } = failing(Infinity)
    const asked = expect(askAgain(ask, { clock, forMs })).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(1_000)
    await asked
    expect(at).toHaveLength(calls)
  })

  it('S35: until a signal says that the outcome does not matter any more', async () => {
    const { ask, at, clock } = failing(Infinity)
    const over = new AbortController()
    const asked = expect(askAgain(ask, { clock, over: over.signal })).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(60)
    over.abort()
    await asked
    expect(at).toEqual([0, 0, 0, 25])
    expect(clock.pendingTimers).toBe(0)
  })

  it.each(['store-unavailable', 'store-full', 'store-locked', 'store-corrupt', 'schema-too-new'] as const)(
    'S35: %s may pass',
    async (code) => {
      const { ask, clock } = failing(1, () => new SessionError(code, 'fails'))
      expect(await askAgain(ask, { clock })).toBe('stored')
    },
  )

  it.each([
    ['refuses for good', () => new SessionError('entry-too-large', 'too large')],
    ['throws anything else', () => new TypeError('broken')],
    ['throws what only looks like it', () => Object.assign(new Error('x'), { code: 'store-unavailable', retryable: true })],
  ])('S35: a call that %s is made once', async (_what, error) => {
    const { ask, at, clock } = failing(1, error)
    await expect(askAgain(ask, { clock })).rejects.toThrow()
    expect(at).toHaveLength(1)
  })

  it('S35: a commit is repeated under its own id', async () => {
    const given: unknown[] = []
    const commit = async (batch: Batch) => {
      given.push(batch)
      if (given.length < 2) throw away()
      return { ok: true } as never
    }
    const batch = { id: 'b1', key: 'room:1', expect: [], writes: [] } as Batch
    expect(await steadyStore({ commit } as unknown as SessionStore, { clock: manualClock() }).commit(batch)).toEqual({ ok: true })
    expect(given).toEqual([batch, batch])
  })
})
