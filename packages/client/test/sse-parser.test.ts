import fc from 'fast-check'
import { randomRuns } from '../../../scripts/test-length.ts'
import { describe, expect, it } from 'vitest'
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
    const text = 'retry: 2000\r\n: ready\r\n\r\nid: 1\ndata: {"a":"knøt 🪢 結"}\n\n: hb\n\nid:2.1\rdata:one\rdata: two\r\r\nid: 3\r\ndata: x\r\n\r\n'
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

  it('C20: comments, unknown fields and a frame that was cut off give nothing', () => {
    expect(parse(encoder.encode(': a\nevent: x\nfoo\n\n: b\n\nid: 7\ndata: cut off\n'))).toEqual([])
  })

  it('C20: an id stays for the frames behind it, and one with a zero character is no id', () => {
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

  it('C20: 16 MiB are taken, one byte more is not', () => {
    const limit = 16 * 1024 * 1024
    const line = new Uint8Array(limit + 2).fill(120)
    line.set(encoder.encode('data: '))
    line.fill(10, limit)
    expect(createSseParser().push(line)).toHaveLength(1)
    const longer = new Uint8Array(limit + 3).fill(120)
    longer.fill(10, limit + 1)
    expect(() => createSseParser().push(longer)).toThrowError(expect.objectContaining({ code: 'frame-too-large' }))
  })

  it('keeps what the server asks for as retry time', () => {
    const parser = createSseParser()
    parser.push(encoder.encode('retry: 2000\nretry: soon\n\n'))
    expect(parser.retryMs).toBe(2000)
  })
})
