import { createHash } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { hashText, portableHash } from '../../src/base/hash-json.ts'
import { copyJson, deepFreeze, frozenJson } from '../../src/base/json.ts'
import { canonicalJson, hashJson, systemIds } from '../../src/index.ts'

describe('hashJson', () => {
  it('is base64url SHA-256 of the canonical JSON', async () => {
    const text = '{"a":[1,"é"],"b":null}'
    expect(canonicalJson({ b: null, a: [1, 'é'] })).toBe(text)
    expect(hashJson({ b: null, a: [1, 'é'] })).toBe(createHash('sha256').update(text).digest('base64url'))
  })

  it('writes half of a surrogate pair as JSON does, so that no two values are equal', () => {
    const halves = { b: 'a\ud83d', 'a\udc00': ['\\ud83d', '\ud83e\ud83e', '😀'] }
    expect(canonicalJson(halves)).toBe('{"a\\udc00":["\\\\ud83d","\\ud83e\\ud83e","😀"],"b":"a\\ud83d"}')
    expect(JSON.parse(canonicalJson(halves))).toEqual(halves)
    expect(new Set(['\ud83d', '\ud83e', '\ufffd', '\\ud83d', 'd83d'].map(hashJson)).size).toBe(5)
  })

  it.each(['', 'a', 'é€😀', 'half of a pair: \ud800', 'x'.repeat(10_000)])(
    'is the same with and without the digest of the platform: %#',
    (text) => {
      expect(portableHash(text)).toBe(hashText(text))
    },
  )
})

describe('systemIds', () => {
  it('returns the kind and a UUID of version 7, in order', () => {
    const [one, two] = [systemIds.next('run'), systemIds.next('run')]
    expect(one).toMatch(/^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    expect(one < two).toBe(true)
  })

  it('keeps the order of many ids in one millisecond, and when the clock goes back', () => {
    const start = Date.now() + 1
    const now = vi.spyOn(Date, 'now')
    try {
      const ids = [start, start, start - 60_000, start + 1].flatMap((at) => {
        now.mockReturnValue(at)
        return Array.from({ length: 1000 }, () => systemIds.next('run'))
      })
      expect(new Set(ids).size).toBe(4000)
      expect([...ids].sort()).toEqual(ids)
    } finally {
      now.mockRestore()
    }
  })
})

describe('copyJson', () => {
  it('copies JSON values and leaves out undefined', () => {
    const given = { a: [1, null, { b: 'x' }], c: undefined, d: -0, ['__proto__']: { own: true } }
    const copy = copyJson(given)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(given))
    expect(copy).not.toBe(given)
    expect(copyJson(JSON.parse('{"__proto__":{"x":1}}'))).toHaveProperty('__proto__', { x: 1 })
  })

  it.each([[Number.NaN], [new Date(0)], [() => 1], [1n], [Symbol('s')], [new Map()], [undefined], [{ a: [Infinity] }]])(
    'refuses %s',
    (value) => {
      expect(() => copyJson(value)).toThrow('JSON')
    },
  )

  it('refuses a cycle, and accepts one object in two places', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = { circle }
    expect(() => copyJson(circle)).toThrow('/self/circle')
    const shared = { x: 1 }
    expect(copyJson([shared, shared])).toEqual([shared, shared])
  })

  it('deepFreeze freezes an object and everything in it', () => {
    const frozen = deepFreeze({ a: [{ b: 1 }] })
    expect([Object.isFrozen(frozen), Object.isFrozen(frozen.a), Object.isFrozen(frozen.a[0])]).toEqual([true, true, true])
  })

  it('frozenJson freezes the copy deeply, and not the original', () => {
    const given = { list: [{ text: 'a' }], empty: {} }
    const copy = frozenJson(given) as unknown as typeof given
    expect(copy).toEqual(given)
    for (const part of [copy, copy.list, copy.list[0], copy.empty]) expect(Object.isFrozen(part)).toBe(true)
    for (const part of [given, given.list, given.list[0], given.empty]) expect(Object.isFrozen(part)).toBe(false)
  })
})
