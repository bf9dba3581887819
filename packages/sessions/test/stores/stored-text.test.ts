import fc from 'fast-check'
import { expect, it } from 'vitest'
import { boundValue, fromStored, toStored } from '../../src/rows/sql/stored-text.ts'
import { randomRuns } from '../../../../scripts/test-length.ts'

const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\u0001', '\u0002', '\u0003', 'd800', '\ud83d', '\udc4d', 'a', 'ü', '\u{1f44d}'),
    fc.string({ unit: 'binary' }),
  ),
})

it('S7, S44: any text is read back from a database unchanged, in a form that SQLite and Postgres accept', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = toStored(text)
      expect([stored.includes('\0'), stored.isWellFormed()]).toEqual([false, true])
      expect(fromStored(stored)).toBe(text)
    }),
    randomRuns(500),
  )
})

it('S7: texts keep their order', () => {
  const wellFormed = anyText.filter((text) => text.isWellFormed())
  fc.assert(
    fc.property(wellFormed, wellFormed, (left, right) => {
      const order = Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)))
      expect(Math.sign(Buffer.compare(Buffer.from(toStored(left)), Buffer.from(toStored(right))))).toBe(order)
    }),
    randomRuns(500),
  )
})

it('S44: texts in lists are encoded like single texts', () => {
  expect(boundValue(['a', '\0', 1])).toEqual(['a', '\u0001\u0001', 1])
  expect([boundValue(null), boundValue(3)]).toEqual([null, 3])
})
