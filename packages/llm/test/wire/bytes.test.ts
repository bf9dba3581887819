import { describe, expect, it } from 'vitest'
import { messageOf, readAll } from '../support.ts'
import { observedCall } from './observed-call.ts'
import { bodyOf, call, finish, text, textBodyOf, type Piece } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wires, type Wire } from './wires.ts'

const server = useRawServer()

const said = 'Grüße 👋🏽 an 東京, 😀!'
const answer: readonly Piece[] = [text('Grüße 👋🏽', ' an 東京, ', '😀!'), finish()]

function bytesOf(wire: Wire, pieces: readonly Piece[], lineEnd: '\n' | '\r\n' = '\n'): Buffer {
  return Buffer.from(
    textBodyOf(wire.name, ...pieces)
      .join('')
      .replaceAll('\n', lineEnd),
  )
}

/** Splits the bytes before each of these positions. */
function cutAt(bytes: Buffer, ...positions: readonly number[]): Buffer[] {
  return [0, ...positions].map((start, index) => bytes.subarray(start, positions[index] ?? bytes.length))
}

async function textOf(wire: Wire, body: readonly Buffer[]): Promise<string> {
  server.answer({ body })
  const events = await readAll(observedCall(wire, server).stream)
  const message = messageOf(events)
  expect(message.stopReason).toBe('stop')
  const deltas = events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
  for (const delta of deltas) expect(delta.isWellFormed()).toBe(true)
  const [part] = message.content
  expect(part).toHaveProperty('text', deltas.join(''))
  return deltas.join('')
}

describe.each(wires)('bytes over $name', (wire) => {
  it('F6: a chunk may end inside a character of four bytes', async () => {
    const bytes = bytesOf(wire, answer)
    const emoji = bytes.indexOf('😀')
    for (const inside of [1, 2, 3]) expect(await textOf(wire, cutAt(bytes, emoji + inside))).toBe(said)
  })

  it('F6: a line of data may come in two chunks, and lines may end in CRLF', async () => {
    const bytes = bytesOf(wire, answer, '\r\n')
    const line = bytes.indexOf('data:', bytes.indexOf('Gr'))
    expect(await textOf(wire, cutAt(bytes, line + 2, line + 20))).toBe(said)
    const carriageReturn = bytes.indexOf('\r\n', bytes.indexOf('Gr'))
    expect(await textOf(wire, cutAt(bytes, carriageReturn + 1, carriageReturn + 3))).toBe(said)
  })

  it.each(['\n', '\r\n'] as const)('F6: every byte may be a chunk of its own (line end %j)', async (lineEnd) => {
    const bytes = bytesOf(wire, answer, lineEnd)
    expect(await textOf(wire, cutAt(bytes, ...Array.from({ length: bytes.length - 1 }, (_, index) => index + 1)))).toBe(said)
  })

  it('F6: a character cut into two deltas is delivered whole', async () => {
    const bytes = bytesOf(wire, [text('Hi \ud83d', '\ude00 there'), finish()])
    expect(bytes.includes('\\ud83d')).toBe(true)
    expect(await textOf(wire, [bytes])).toBe('Hi 😀 there')
  })
})

describe.each(wires)('broken JSON over $name', (wire) => {
  const broken = 'data: {"choices":[{"delta":{"content":"lost\n\n'

  it('F16: a broken line between good ones is a malformed response, with the text before it', async () => {
    server.answer({ body: bodyOf(wire.name, text('Hello'), broken, text(' lost'), finish()) })
    expect(await observedCall(wire, server).stream.result()).toMatchObject({
      stopReason: 'error',
      content: [{ type: 'text', text: 'Hello' }],
      error: { kind: 'malformed-response', retryable: true, phase: 'after-output' },
      usage: { inputTokens: 12, outputTokens: 7 },
    })
  })

  it('F16: so is a broken first line', async () => {
    server.answer({ body: [broken, ...bodyOf(wire.name, text('Hello'), finish())] })
    expect(await observedCall(wire, server).stream.result()).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'malformed-response', retryable: true, phase: 'before-output' },
    })
  })

  it('F16: an argument that is broken inside a valid line is a fault of the call, not of the stream', async () => {
    if (wire.name === 'google') return expect(() => bodyOf(wire.name, call('c', 'weather', '{"city'))).toThrow()
    server.answer({ body: bodyOf(wire.name, call('c', 'weather', '{"city'), finish('calls')) })
    expect(await observedCall(wire, server).stream.result()).toMatchObject({
      stopReason: 'tool-calls',
      content: [{ type: 'tool-call', input: {}, invalid: 'not-json', inputText: '{"city' }],
    })
  })
})
