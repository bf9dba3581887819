import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { decodeHints, encodeHints, mergeHints } from '../src/store/hint-format.ts'
import type { Hint } from '../src/store/hint-format.ts'

const characters = [...'ABCXYZabcxyz0189._:-@/+=~']
const hint = fc.record<Hint>({
  key: fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 700 }).map((all) => all.join('')),
  seq: fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
  wake: fc.boolean(),
  deltas: fc.boolean(),
})

describe('payloads of hints', () => {
  it('S187: hold every hint once, in less than 8,000 bytes each, whatever characters the keys contain', () => {
    fc.assert(
      fc.property(fc.uniqueArray(hint, { selector: ({ key }) => key, maxLength: 60 }), fc.nat(), (hints, batch) => {
        const payloads = encodeHints({ sender: 'a-1', batch, hints })
        for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8000)
        const decoded = payloads.map(decodeHints)
        expect(decoded.every((each) => each?.sender === 'a-1' && each.batch === batch)).toBe(true)
        expect(decoded.flatMap((each) => each?.hints)).toEqual(hints)
      }),
      randomRuns(100),
    )
  })

  it('S187: are filled before the next one is started', () => {
    const hints = Array.from({ length: 1000 }, (_, n): Hint => ({ key: `room:${n}`, seq: n, wake: true, deltas: false }))
    const payloads = encodeHints({ sender: 'a', batch: 1, hints })
    const bytes = payloads.reduce((sum, { length }) => sum + length, 0)
    expect(payloads).toHaveLength(Math.ceil(bytes / 7999))
  })

  it('S187: hold key, number and flags only', () => {
    const hints = [
      { key: 'room:1', seq: 7, wake: true, deltas: true },
      { key: 'room:2', seq: undefined, wake: false, deltas: false },
    ]
    expect(encodeHints({ sender: 'a', batch: 3, hints })).toEqual(['1 a 3\nroom:1 7 wd\nroom:2 - '])
    expect(encodeHints({ sender: 'a', batch: 4, hints: undefined })).toEqual(['1 a 4\n*'])
    expect(encodeHints({ sender: 'a', batch: 5, hints: [] })).toEqual([])
  })

  it.each(['', '2 a 1\nroom:1 7 w', 'room:1', '1 a\nroom:1 7 w', '1 a b\nroom:1 7 w'])(
    'S187: of another version (%j) are not read',
    (payload) => {
      expect(decodeHints(payload)).toBeUndefined()
    },
  )

  it.each(['1 a 1', '1 a 1\n*', '1 a 1\nroom:1', '1 a 1\nroom:1 x w', '1 a 1\nroom:1 7 w\nroom 2 7 w', '1 a 1\nro$m 7 w'])(
    'S187: with an unreadable line (%j) ask for a read of everything',
    (payload) => {
      expect(decodeHints(payload)).toEqual({ sender: 'a', batch: 1, hints: undefined })
    },
  )

  it('S187: with a flag of a later version are read without it', () => {
    expect(decodeHints('1 a 1\nroom:1 7 zwq')?.hints).toEqual([{ key: 'room:1', seq: 7, wake: true, deltas: false }])
  })

  it('S187: of one key are merged to the highest number and to all their flags', () => {
    fc.assert(
      fc.property(hint, hint, (left, given) => {
        const right = { ...given, key: left.key }
        const merged = mergeHints(left, right)
        expect(merged).toEqual(mergeHints(right, left))
        const seqs = [left.seq, right.seq].filter((seq) => seq !== undefined)
        expect(merged.seq).toBe(seqs.length > 0 ? Math.max(...seqs) : undefined)
        expect([merged.wake, merged.deltas]).toEqual([left.wake || right.wake, left.deltas || right.deltas])
      }),
      randomRuns(100),
    )
  })
})
