import { describe, expect, it } from 'vitest'
import { SessionError } from '../../src/errors.ts'
import { askAgain, commitOnce } from '../../src/contract/commit-once.ts'
import type { Batch } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'

const away = (): SessionError => new SessionError('store-unavailable', 'away')

/** Creates a function that fails this many times, then answers. */
function failing(failures: number, error: () => unknown) {
  let asked = 0
  const ask = async (): Promise<string> => {
    asked++
    if (asked <= failures) throw error()
    return 'stored'
  }
  return { ask, asked: () => asked }
}

describe('S35: a store call without an answer is made again', () => {
  it('S35: it is made three times at most', async () => {
    const once = failing(2, away)
    expect(await askAgain(once.ask)).toBe('stored')
    expect(once.asked()).toBe(3)
    const lost = failing(3, away)
    await expect(askAgain(lost.ask)).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(lost.asked()).toBe(3)
  })

  it.each([
    ['refuses for good', () => new SessionError('store-full', 'full')],
    ['throws anything else', () => new TypeError('broken')],
    ['throws what only looks like it', () => Object.assign(new Error('x'), { code: 'store-unavailable', retryable: true })],
  ])('S35: a call that %s is made once', async (_what, error) => {
    const refusing = failing(1, error)
    await expect(askAgain(refusing.ask)).rejects.toThrow()
    expect(refusing.asked()).toBe(1)
  })

  it('S35: a commit is repeated under its own id', async () => {
    const given: unknown[] = []
    const commit = async (batch: Batch) => {
      given.push(batch)
      if (given.length < 2) throw away()
      return { ok: true } as never
    }
    const batch = { id: 'b1', key: 'room:1', expect: [], writes: [] } as Batch
    expect(await commitOnce({ commit } as unknown as SessionStore, batch)).toEqual({ ok: true })
    expect(given).toEqual([batch, batch])
  })
})
