import { describe, expect, it } from 'vitest'
import { streamMessage } from '../../src/index.ts'
import { bodyOf, call, finish, text } from './raw-bodies.ts'
import { gate, useRawServer } from './raw-server.ts'
import { wires } from './wires.ts'

const server = useRawServer()
const messages = [{ role: 'user', content: 'hi' }] as const

describe.each(wires)('a hand-made answer over $name', (wire) => {
  it('is accepted by the real client like a real answer', async () => {
    const weather = call('call_1', 'weather', '{"city":', '"Oslo"}')
    server.answer({ body: bodyOf(wire.name, text('Hel', 'lo'), weather, finish('calls')) })
    const message = await streamMessage({ model: wire.model(server), messages }).result()
    expect(message).toMatchObject({
      stopReason: 'tool-calls',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Oslo' } },
      ],
      usage: { inputTokens: 12, outputTokens: 7, totalTokens: 19 },
    })
    expect(message).not.toHaveProperty('warnings')
    expect(message.rawStopReason).toBe(wire.raw.toolCalls)
  })

  it('comes at the moment that the test chooses', async () => {
    const second = gate()
    server.answer({ body: bodyOf(wire.name, text('one '), second, text('two'), finish()) })
    const seen: string[] = []
    for await (const event of streamMessage({ model: wire.model(server), messages })) {
      if (event.type !== 'text-delta') continue
      seen.push(event.delta)
      if (seen.length === 1) second.open()
    }
    expect(seen.join('')).toBe('one two')
    expect((await server.request(0)).body).toBeTypeOf('object')
  })
})
