import fc from 'fast-check'
import { randomRuns } from '../../../scripts/test-length.ts'
import { describe, expect, it } from 'vitest'
import { isAfter, positionOf } from '../src/cursor.ts'
import { createSseParser, type SseFrame } from '../src/sse-parser.ts'

const encoder = new TextEncoder()

function parse(bytes: Uint8Array, cuts: readonly number[] = []): SseFrame[] {
  const parser = createSseParser()
  const places = [...cuts].sort((a, b) => a - b)
  const frames: SseFrame[] = []
  let from = 0
  for (const place of [...places, bytes.length]) {
    frames.push(...parser.push(bytes.subarray(from, place)))
    from = place
  }
  return frames
}

describe('sse parser', () => {
  it('C20: any chunk borders, also within a character, give the same frames', () => {
    const text =
      'retry: 2000\r\n: ready\r\n\r\nid: 1\ndata: {"a":"knøt 🪢 結"}\n\n: hb\n\nid:2.1\rdata:one\rdata: two\r\r\nid: 3\r\ndata: x\r\n\r\n'
    const bytes = encoder.encode(text)
    const whole = parse(bytes)
    expect(whole).toEqual([
      { id: '1', data: '{"a":"knøt 🪢 結"}' },
      { id: '2.1', data: 'one\ntwo' },
      { id: '3', data: 'x' },
    ])
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
        expect(parse(bytes, cuts)).toEqual(whole)
      }),
      randomRuns(300),
    )
    expect(parse(bytes, Array.from(bytes.keys()))).toEqual(whole)
  })

  it('C20: comments, unknown fields and a truncated frame give nothing', () => {
    expect(parse(encoder.encode(': a\nevent: x\nfoo\n\n: b\n\nid: 7\ndata: cut off\n'))).toEqual([])
  })

  it('C20: an id applies to the frames after it, and an id with a zero character is ignored', () => {
    expect(parse(encoder.encode('id: 1\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\n'))).toEqual([
      { id: '1', data: 'a' },
      { id: '1', data: 'b' },
      { id: '1', data: 'c' },
    ])
  })

  it('C20: a line over the limit is an error, whole or in pieces', () => {
    const long = encoder.encode(`data: ${'x'.repeat(100)}\n\n`)
    expect(() => createSseParser(64).push(long)).toThrowError(expect.objectContaining({ code: 'frame-too-large' }))
    const parser = createSseParser(64)
    parser.push(long.subarray(0, 60))
    expect(() => parser.push(long.subarray(60))).toThrowError(expect.objectContaining({ code: 'frame-too-large' }))
    const joined = createSseParser(64)
    joined.push(encoder.encode(`data: ${'x'.repeat(50)}\n`))
    expect(() => joined.push(encoder.encode(`data: ${'x'.repeat(50)}\n`))).toThrowError(/64 bytes/)
  })

  it('C20: 16 MiB are accepted, one byte more is not', () => {
    const limit = 16 * 1024 * 1024
    const line = new Uint8Array(limit + 2).fill(120)
    line.set(encoder.encode('data: '))
    line.fill(10, limit)
    expect(createSseParser().push(line)).toHaveLength(1)
    const longer = new Uint8Array(limit + 3).fill(120)
    longer.fill(10, limit + 1)
    expect(() => createSseParser().push(longer)).toThrowError(expect.objectContaining({ code: 'frame-too-large' }))
  })

  it('C20: the limit applies to a line and to the data of a frame, and each frame and each line has its own', () => {
    const line = 'x'.repeat(58)
    const parser = createSseParser(64)
    for (let frame = 0; frame < 3; frame++) {
      expect(parser.push(encoder.encode(`data: ${line}`))).toEqual([])
      expect(parser.push(encoder.encode(`\ndata: ${'y'.repeat(6)}\n`))).toEqual([])
      expect(parser.push(encoder.encode('\n'))).toEqual([{ data: `${line}\n${'y'.repeat(6)}` }])
    }
    expect(parser.push(encoder.encode(`: ${'c'.repeat(62)}\n: ${'c'.repeat(62)}\n\n`))).toEqual([])
    expect(() => parser.push(encoder.encode(`data: ${line}\ndata: ${'y'.repeat(7)}\n`))).toThrowError(
      expect.objectContaining({ code: 'frame-too-large' }),
    )
    const open = createSseParser(64)
    expect(open.push(encoder.encode('x'.repeat(64)))).toEqual([])
    expect(() => open.push(encoder.encode('x'))).toThrowError(expect.objectContaining({ code: 'frame-too-large' }))
  })

  it('C20: a chunk whose memory is reused does not change what is buffered of it', () => {
    const parser = createSseParser()
    const chunk = encoder.encode('data: knot')
    parser.push(chunk)
    chunk.fill(0)
    expect(parser.push(encoder.encode('s\n\n'))).toEqual([{ data: 'knots' }])
  })

  it('C20: fields without a value, without a colon and with more than one colon or space', () => {
    expect(parse(encoder.encode('id\ndata\n\ndata:\n\ndata:  a: b\n\nid:7\ndata:c\n\n'))).toEqual([
      { id: '', data: '' },
      { id: '', data: '' },
      { id: '', data: ' a: b' },
      { id: '7', data: 'c' },
    ])
  })

  it('C20: keeps the latest retry time of the server, if it is a number of at most nine digits', () => {
    const parser = createSseParser()
    expect(parser.retryMs).toBeUndefined()
    for (const [asked, kept] of [
      ['0', 0],
      ['2000', 2000],
      ['soon', 2000],
      ['-1', 2000],
      ['', 2000],
      ['1000000000', 2000],
      ['999999999', 999_999_999],
    ] as const) {
      parser.push(encoder.encode(`retry: ${asked}\n\n`))
      expect(parser.retryMs).toBe(kept)
    }
  })
})

describe('cursors', () => {
  it.each<readonly [cursor: string, position: { seq: number; delta: number } | null]>([
    ['0', { seq: 0, delta: 0 }],
    ['12', { seq: 12, delta: 0 }],
    ['12.34', { seq: 12, delta: 34 }],
    ['12.34.0-310.2-5', { seq: 12, delta: 34 }],
    ['999999999999999.999999999999999', { seq: 999_999_999_999_999, delta: 999_999_999_999_999 }],
    ...['', 'x', '1.', '.1', '1.2.x', '-1', ' 1', '1 ', '1000000000000000', '1.1000000000000000'].map((cursor) => [cursor, null] as const),
  ])('C5: %j is the position %j', (cursor, position) => {
    expect(positionOf(cursor)).toEqual(position)
  })

  it('C5: positions are ordered by event, then by delta, and none is after itself', () => {
    const places = [
      { seq: 1, delta: 0 },
      { seq: 1, delta: 1 },
      { seq: 1, delta: 2 },
      { seq: 2, delta: 0 },
      { seq: 2, delta: 1 },
      { seq: 3, delta: 0 },
    ]
    for (const [index, place] of places.entries()) {
      for (const [other, before] of places.entries()) expect(isAfter(place, before)).toBe(index > other)
    }
  })
})
