import { describe, expect, it } from 'vitest'
import { now, observedCall, passTime } from './observed-call.ts'
import { bodyOf, call as toolCall, finish, half, text } from './raw-bodies.ts'
import { gate, useRawServer } from './raw-server.ts'
import { wireNamed, wires } from './wires.ts'

const server = useRawServer()

describe.each(wires)('the end of the body over $name', (wire) => {
  it('F7: a socket that breaks in the middle of the body keeps the text and is no success', async () => {
    const broken = gate()
    server.answer({ body: bodyOf(wire.name, half(text('Hello ', 'there')), broken, { destroy: true }) })
    const { stream, part } = observedCall(wire, server)
    const result = stream.result()
    await part('text-delta', 2)
    broken.open()
    const message = await result
    expect(message).toMatchObject({
      stopReason: 'error',
      content: [{ type: 'text', text: 'Hello there' }],
      error: { retryable: true, phase: 'after-output' },
      usage: { estimated: true, outputTokens: 3 },
    })
    expect(['stream-broken', 'network']).toContain(message.error?.kind)
  })

  it('F8: a body that ends cleanly without its last event is a broken stream', async () => {
    server.answer({ body: bodyOf(wire.name, text('All the text, whole.')) })
    expect(await observedCall(wire, server).stream.result()).toMatchObject({
      stopReason: 'error',
      content: [{ type: 'text', text: 'All the text, whole.' }],
      error: { kind: 'stream-broken', retryable: true, phase: 'after-output' },
      usage: { estimated: true, outputTokens: 5 },
    })
  })

  it('F8: so is a body that ends before any text, and one that ends in arguments', async () => {
    server.answer({ body: bodyOf(wire.name) }, { body: bodyOf(wire.name, half(toolCall('c', 'weather', 'Os'))) })
    expect(await observedCall(wire, server).stream.result()).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'stream-broken', phase: 'before-output' },
    })
    const cut = await observedCall(wire, server).stream.result()
    expect(cut).toMatchObject({ stopReason: 'error', error: { kind: 'stream-broken' } })
    expect(cut.content).toMatchObject([{ type: 'tool-call', toolName: 'weather', input: {} }])
    expect(cut.content[0]).toHaveProperty('invalid')
  })
})

describe('a body that stays open after its last event', () => {
  it('F8: anthropic: the answer is complete 250 ms later, and the socket is closed', async () => {
    server.answer({ body: bodyOf('anthropic', text('Hello'), finish()), then: 'open' })
    const { stream, clock, part } = observedCall(wireNamed('anthropic'), server)
    const result = stream.result()
    await part('finish')
    await clock.advance(249)
    expect(await now(result)).toBe('pending')
    await clock.advance(1)
    expect(await now(result)).toMatchObject({
      stopReason: 'stop',
      content: [{ text: 'Hello' }],
      usage: { inputTokens: 12, outputTokens: 7 },
    })
    await (
      await server.request(0)
    ).closed
  })

  it.each(wires.filter(({ name }) => name !== 'anthropic'))(
    'F8: $name: the client reports its finish only at the end of the body, so the idle limit ends the call',
    async (wire) => {
      server.answer({ body: bodyOf(wire.name, text('Hello'), finish()), then: 'open' })
      const call = observedCall(wire, server)
      const result = call.stream.result()
      await call.part('text-delta')
      expect(await passTime(call, result)).toMatchObject({
        stopReason: 'error',
        content: [{ text: 'Hello' }],
        error: { kind: 'timeout', code: 'idle', phase: 'after-output' },
        usage: { estimated: true },
      })
      await (
        await server.request(0)
      ).closed
    },
  )
})
