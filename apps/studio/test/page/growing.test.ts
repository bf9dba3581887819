import { expect, it } from 'vitest'
import { entryOf, withEntry } from '../../src/page/parts/growing.ts'
import type { Growing } from '../../src/page/parts/growing.ts'

it('D32: a new entry copies at most one part, and earlier entries stay unchanged', () => {
  let record: Growing<number> = []
  for (let count = 0; count < 1000; count++) {
    const before = record
    record = withEntry(record, `key-${count}`, count)
    expect(record.filter((part) => !before.includes(part))).toHaveLength(1)
    expect(Object.keys(record.at(-1) ?? {}).length).toBeLessThanOrEqual(64)
  }
  const changed = withEntry(record, 'key-3', -3)
  expect([entryOf(changed, 'key-3'), entryOf(record, 'key-3'), entryOf(record, 'key-999'), entryOf(record, 'none')]).toEqual([
    -3,
    3,
    999,
    undefined,
  ])
  expect(changed.filter((part, place) => part !== record[place])).toHaveLength(1)
})
