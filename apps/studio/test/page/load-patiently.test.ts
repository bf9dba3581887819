import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ClientError } from '@bowline/client'
import { loadCode, loadFacts } from '../../src/page/parts/load-patiently.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Returns a function that fails with these errors, one per call, and then loads the code. */
function failing(...errors: readonly Error[]) {
  const left = [...errors]
  return vi.fn(async () => {
    const error = left.shift()
    if (error) throw error
    return 'code'
  })
}

it('code that does not arrive is loaded again after longer and longer waits', async () => {
  const load = failing(...Array.from({ length: 8 }, () => new TypeError('Failed to fetch dynamically imported module')))
  const loading = loadCode(load)
  const calls: number[] = []
  for (const waitMs of [250, 500, 1000, 2000, 4000, 8000, 10_000]) {
    await vi.advanceTimersByTimeAsync(waitMs - 1)
    calls.push(load.mock.calls.length)
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(calls).toEqual([1, 2, 3, 4, 5, 6, 7])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await loading).toBe('code')
  expect(vi.getTimerCount()).toBe(0)
})

it('an error of the code itself is not waited for', async () => {
  const load = failing(new SyntaxError('Unexpected token'))
  await expect(loadCode(load)).rejects.toThrow('Unexpected token')
  expect(load).toHaveBeenCalledOnce()
})

it('facts for the actions of the page are asked for again after a 500, not after a refusal', async () => {
  const { signal } = new AbortController()
  const failed = failing(new ClientError('internal', 'No.', { status: 500 }), new ClientError('network', 'No.'))
  const loading = loadFacts(failed, signal)
  await vi.advanceTimersByTimeAsync(750)
  expect(await loading).toBe('code')
  const refused = failing(new ClientError('scope-missing', 'No.', { status: 403 }))
  await expect(loadFacts(refused, signal)).rejects.toThrow('No.')
  expect(refused).toHaveBeenCalledOnce()
})

it('a page that no longer needs the facts does not ask again', async () => {
  const leaving = new AbortController()
  const load = failing(new ClientError('internal', 'No.', { status: 500 }))
  const refused = expect(loadFacts(load, leaving.signal)).rejects.toThrow()
  await vi.advanceTimersByTimeAsync(100)
  leaving.abort()
  await refused
  expect(load).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})
