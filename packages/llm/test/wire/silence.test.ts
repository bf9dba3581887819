import { describe, expect, it } from 'vitest'
import { now, observedCall, passTime } from './observed-call.ts'
import { bodyOf, finish, frame, half, text } from './raw-bodies.ts'
import { gate, useRawServer } from './raw-server.ts'
import { wireNamed, wires } from './wires.ts'

const server = useRawServer()
const anthropic = wireNamed('anthropic')
const ping = frame({ type: 'ping' }, 'ping')

/** A fetch that reports when a chunk of the body has reached the client. */
const watching =
  (text: string, onText: () => void): typeof fetch =>
  async (input, init) => {
    const response = await server.fetch(input, init)
    const watch = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        controller.enqueue(chunk)
        if (new TextDecoder().decode(chunk).includes(text)) onText()
      },
    })
    return new Response(response.body?.pipeThrough(watch), response)
  }

describe.each(wires)('silence over $name', (wire) => {
  it('F14: a server that never sends headers is given up after firstPartMs, and its socket is closed', async () => {
    server.answer({ then: 'no-headers' })
    const call = observedCall(wire, server)
    const result = call.stream.result()
    const request = await server.request(0)
    await call.clock.advance(299_999)
    expect(await now(result)).toBe('pending')
    await call.clock.advance(1)
    expect(await result).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'timeout', code: 'first-part', phase: 'before-output', retryable: true },
      usage: { inputTokens: 0, outputTokens: 0 },
      timing: { totalMs: 300_000 },
    })
    await request.closed
    expect(call.clock.pendingTimers).toBe(0)
  })

  it('F14: one delta and then silence is given up after idleMs, with the text', async () => {
    server.answer({ body: bodyOf(wire.name, half(text('Hello'))), then: 'open' })
    const call = observedCall(wire, server)
    const result = call.stream.result()
    await call.part('text-delta')
    await call.clock.advance(119_999)
    expect(await now(result)).toBe('pending')
    // The idle limit is checked every sixteenth of its length, so it may fire that much late.
    await call.clock.advance(1 + 120_000 / 16)
    expect(await now(result)).toMatchObject({
      stopReason: 'error',
      content: [{ type: 'text', text: 'Hello' }],
      error: { kind: 'timeout', code: 'idle', phase: 'after-output', retryable: true },
      usage: { estimated: true, outputTokens: 2 },
    })
    await (
      await server.request(0)
    ).closed
    expect(call.clock.pendingTimers).toBe(0)
  })
})

describe('pings', () => {
  it('F14: anthropic: while pings come, a call is never given up', async () => {
    const pings = Array.from({ length: 20 }, () => gate())
    const rest = gate()
    const steps = pings.flatMap((sent) => [sent, ping])
    server.answer({ body: bodyOf('anthropic', ...steps, rest, text('late'), finish()) })
    const call = observedCall(anthropic, server)
    const result = call.stream.result()
    await call.part('custom')
    for (const [index, sent] of pings.entries()) {
      await call.clock.advance(100_000)
      expect(await now(result)).toBe('pending')
      sent.open()
      await call.part('ping', index + 1)
    }
    rest.open()
    expect(await result).toMatchObject({
      stopReason: 'stop',
      content: [{ text: 'late' }],
      timing: { firstDeltaMs: 2_000_000 },
    })
  })

  it('F14: anthropic: when the pings end too, the call is given up', async () => {
    server.answer({ body: bodyOf('anthropic', ping, ping), then: 'open' })
    const call = observedCall(anthropic, server)
    const result = call.stream.result()
    await call.part('ping', 2)
    expect(await passTime(call, result)).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'timeout', code: 'idle', phase: 'before-output' },
    })
  })

  it('F14: anthropic: the client does not show pings before the start of the message', async () => {
    server.answer({ body: [ping, ping], then: 'open' })
    const call = observedCall(anthropic, server)
    const result = call.stream.result()
    expect(await passTime(call, result)).toMatchObject({ error: { kind: 'timeout', code: 'first-part' } })
  })

  it.each(wires.filter(({ name }) => name !== 'anthropic'))(
    'F14: $name: comments do not count as activity, because the client hides them',
    async (wire) => {
      const comments = gate()
      const arrived = gate()
      const comment = ': still here\n\n'
      server.answer({ body: bodyOf(wire.name, half(text('Hello')), comments, comment), then: 'open' })
      const call = observedCall(wire, { url: server.url, fetch: watching(comment, arrived.open) })
      const result = call.stream.result()
      await call.part('text-delta')
      await call.clock.advance(60_000)
      comments.open()
      await arrived
      expect(await passTime(call, result)).toMatchObject({
        content: [{ text: 'Hello' }],
        error: { kind: 'timeout', code: 'idle' },
        timing: { totalMs: 127_500 },
      })
    },
  )
})
