import { expect, it } from 'vitest'
import { attemptUpTo, retryOnConflict, tryAgain } from '../../src/contract/retry-on-conflict.ts'

const failure = (tries: number): string => `changed ${tries} times`

/** Creates an attempt that loses to another writer this many times. */
function losing(times: number) {
  const attempts: number[] = []
  const attempt = async (tried: number) => {
    attempts.push(tried)
    return tried < times ? tryAgain : 'stored'
  }
  return { attempt, attempts }
}

it('an attempt with a conflict is made again, and gets the number of attempts before it', async () => {
  const { attempt, attempts } = losing(19)
  await expect(retryOnConflict(attempt, failure)).resolves.toBe('stored')
  expect(attempts).toEqual(Array.from({ length: 20 }, (_, place) => place))
})

it('after twenty conflicts no attempt follows: the error is `conflict`', async () => {
  const { attempt, attempts } = losing(20)
  await expect(retryOnConflict(attempt, failure)).rejects.toMatchObject({ code: 'conflict', message: 'changed 20 times' })
  expect(attempts).toHaveLength(20)
  await expect(attemptUpTo(losing(20).attempt)).resolves.toBe(tryAgain)
  await expect(retryOnConflict(losing(1).attempt, failure, 1)).rejects.toMatchObject({ message: 'changed 1 times' })
})

it('an attempt that throws is not made again', async () => {
  let attempts = 0
  const attempt = async () => {
    attempts += 1
    throw new TypeError('broken')
  }
  await expect(retryOnConflict(attempt, failure)).rejects.toThrow('broken')
  expect(attempts).toBe(1)
})
