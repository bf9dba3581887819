import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { copyJson } from '../../src/json.ts'

const values = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.object({ key: fc.constantFrom('a', '__proto__', 'toJSON'), values: [fc.double(), fc.constant(undefined), fc.string()] }),
)

it('a copy of a value equals its JSON form, and shares nothing with it', () => {
  fc.assert(
    fc.property(values, (value) => {
      const copy = copyJson(value)
      expect(copy).toStrictEqual(JSON.parse(JSON.stringify(value)))
      expect(partsOf(copy).filter((part) => partsOf(value).includes(part))).toEqual([])
    }),
    randomRuns(500),
  )
})

it('a copy of a deep value with holes equals its JSON form', () => {
  const deep = Array.from({ length: 300 }).reduce<unknown>((inner) => [inner], 'x')
  const sparse: unknown[] = [1]
  sparse[2] = 2
  for (const value of [deep, sparse, Object.create(null), -0]) expect(copyJson(value)).toStrictEqual(JSON.parse(JSON.stringify(value)))
})

function partsOf(value: unknown): readonly object[] {
  return typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(partsOf)] : []
}
