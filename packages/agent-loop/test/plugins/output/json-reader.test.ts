import fc from 'fast-check'
import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../../scripts/test-length.ts'
import { patchOutput } from '../../../src/events/output.ts'
import { JsonReader } from '../../../src/plugins/output/json-reader.ts'

function readAll(pieces: readonly string[]): { readonly output: JSONValue | undefined; readonly changes: number } {
  const reader = new JsonReader()
  let output: JSONValue | undefined
  let changes = 0
  for (const piece of pieces) {
    const patch = reader.push(piece)
    changes += patch.length
    output = patchOutput(output, patch)
  }
  return { output, changes }
}

function cut(text: string, places: readonly number[]): readonly string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b)
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

describe('an object that is still being written', () => {
  it('A191: the patches of any object, cut anywhere, rebuild the object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.nat()), fc.boolean(), (object, places, spaced) => {
        const text = spaced ? `Here:\n\`\`\`json\n${JSON.stringify(object, null, 2)}\n\`\`\` }` : JSON.stringify(object)
        expect(readAll(cut(text, places)).output).toEqual(JSON.parse(JSON.stringify(object)))
      }),
      randomRuns(200),
    )
  })

  it('A191: the patches of each piece describe only what it adds, for a text its new end', () => {
    const reader = new JsonReader()
    expect(reader.push('{"a":"x')).toEqual([
      { path: [], value: {} },
      { path: ['a'], value: 'x' },
    ])
    expect(reader.push('yz\\u00')).toEqual([{ path: ['a'], append: 'yz' }])
    expect(reader.push('e9","l":[1')).toEqual([
      { path: ['a'], append: 'é' },
      { path: ['l'], value: [] },
    ])
    expect(reader.push('2,{"b":nu')).toEqual([
      { path: ['l', 0], value: 12 },
      { path: ['l', 1], value: {} },
    ])
    expect(reader.push('ll}]}')).toEqual([{ path: ['l', 1, 'b'], value: null }])
    expect(reader.push('{"c":1}')).toEqual([])
  })

  it('A191: a text of any length costs one change per piece', () => {
    const pieces = ['{"a":"', ...Array.from({ length: 5_000 }, () => 'word '), '"}']
    const { output, changes } = readAll(pieces)
    expect(changes).toBe(5_002)
    expect(output).toEqual({ a: 'word '.repeat(5_000) })
  })

  it.each([
    ['{"a":tru,"b":1}', {}],
    ['{"a":1]', { a: 1 }],
    ['{a:1}', {}],
    ['no object', undefined],
    ['{"a" 1}', {}],
  ])('A191: returns no more patches after a mistake in %s', (text, output) => {
    expect(readAll([...text]).output).toEqual(output)
  })

  it('A191: a patch whose path does not exist changes nothing, and no key changes the prototype', () => {
    expect(patchOutput({ a: 1 }, [{ path: ['a'], append: 'x' }])).toEqual({ a: 1 })
    expect(patchOutput([1], [{ path: [5, 'a'], value: 1 }])).toEqual([1])
    expect(patchOutput({}, [{ path: ['constructor'], append: 'x' }])).toEqual({})
    expect(patchOutput([1], [{ path: [5], value: 2 }])).toEqual([1, 2])
    expect(patchOutput(undefined, [{ path: ['a'], value: 1 }])).toBeUndefined()
    expect(Object.keys(patchOutput({}, [{ path: ['__proto__'], value: {} }]) as object)).toEqual(['__proto__'])
  })
})
