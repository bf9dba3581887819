import { describe, expect, it } from 'vitest'
import { now, observedCall } from './observed-call.ts'
import { bodyOf, call as toolCall, half, text, type WireName } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wires } from './wires.ts'

const server = useRawServer()

/** Expected arguments of an unfinished call with the deltas `Os` and `lo`. */
const argumentsSoFar = (wire: WireName): string => (wire === 'google' ? '{"half":"Oslo' : 'Oslo')

describe.each(wires)('leaving a call over $name', (wire) => {
  it('F15: abort before the headers', async () => {
    server.answer({ then: 'no-headers' })
    const controller = new AbortController()
    const { stream, clock } = observedCall(wire, server, { abortSignal: controller.signal })
    const result = stream.result()
    const request = await server.request(0)
    controller.abort('enough')
    const message = await now(result)
    expect(message).toMatchObject({
      stopReason: 'aborted',
      abortReason: 'enough',
      content: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    await request.closed
    expect(clock.pendingTimers).toBe(0)
  })

  it('F15: abort in the text', async () => {
    server.answer({ body: bodyOf(wire.name, half(text('Hello ', 'there'))), then: 'open' })
    const { stream, clock, part } = observedCall(wire, server)
    const result = stream.result()
    await part('text-delta', 2)
    stream.abort('enough')
    expect(await now(result)).toMatchObject({
      stopReason: 'aborted',
      abortReason: 'enough',
      content: [{ type: 'text', text: 'Hello there' }],
      usage: { estimated: true, outputTokens: 3 },
    })
    expect(await result).not.toHaveProperty('error')
    await (
      await server.request(0)
    ).closed
    expect(clock.pendingTimers).toBe(0)
  })

  it('F15: abort in the arguments of a call', async () => {
    const city = toolCall('call_1', 'weather', 'Os', 'lo')
    server.answer({ body: bodyOf(wire.name, text('Well: '), half(city)), then: 'open' })
    const { stream, part } = observedCall(wire, server)
    const result = stream.result()
    await part('tool-input-delta', 2)
    stream.abort()
    expect(await now(result)).toMatchObject({
      stopReason: 'aborted',
      content: [
        { type: 'text', text: 'Well: ' },
        {
          type: 'tool-call',
          toolCallId: 'call_1',
          toolName: 'weather',
          input: {},
          invalid: 'truncated',
          inputText: argumentsSoFar(wire.name),
        },
      ],
    })
    await (
      await server.request(0)
    ).closed
  })

  it('F15: a reader that breaks after three deltas', async () => {
    server.answer({ body: bodyOf(wire.name, half(text('a', 'b', 'c', 'd', 'e'))), then: 'open' })
    const { stream, clock } = observedCall(wire, server)
    const seen: string[] = []
    for await (const event of stream) {
      if (event.type === 'text-delta' && seen.push(event.delta) === 3) break
    }
    expect(seen).toEqual(['a', 'b', 'c'])
    const message = await now(stream.result())
    expect(message).toMatchObject({
      stopReason: 'aborted',
      abortReason: 'consumer-left',
      content: [{ type: 'text', text: expect.stringMatching(/^abcd?$/) as string }],
    })
    await (
      await server.request(0)
    ).closed
    expect(clock.pendingTimers).toBe(0)
  })
})
