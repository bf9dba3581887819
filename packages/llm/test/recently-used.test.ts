import { expect, it } from 'vitest'
import { RecentlyUsed } from '../src/models/recently-used.ts'

it('keeps the most recently used entries, and makes the others again', () => {
  const kept = new RecentlyUsed<string>(2)
  const made: string[] = []
  const get = (name: string): string =>
    kept.get(name, () => {
      made.push(name)
      return `value of ${name}`
    })
  for (let round = 0; round < 4; round++) for (const name of ['a', 'b', 'b', 'c']) expect(get(name)).toBe(`value of ${name}`)
  expect(made).toEqual(Array.from({ length: 4 }, () => ['a', 'b', 'c']).flat())
  get('b')
  expect(made).toHaveLength(12)
})

it('keeps no entry with a very long name', () => {
  const kept = new RecentlyUsed<number>(2)
  let made = 0
  const long = 'x'.repeat(1_001)
  expect([kept.get(long, () => ++made), kept.get(long, () => ++made)]).toEqual([1, 2])
})
