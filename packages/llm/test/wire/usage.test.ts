import { describe, expect, it } from 'vitest'
import type { Cost } from '../../src/index.ts'
import { observedCall } from './observed-call.ts'
import { bodyOf, finish, half, text } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wireNamed, wires, type Wire } from './wires.ts'

const server = useRawServer()

/** Prices whose ninth decimal must be kept. */
const price = { input: '3.000000001', cacheRead: 0.3, cacheWrite: 3.75, output: 15 } as const

/** Returns whether the wire reports tokens written to the cache. The others count them as ordinary input. */
const tellsWrites = (wire: Wire): boolean => ['openai responses', 'openai chat', 'anthropic'].includes(wire.name)

const costOfParts = (total: string, input: string, cacheWrite: string): Cost => ({
  currency: 'USD',
  total,
  input,
  cacheRead: '0.00033',
  cacheWrite,
  output: '0.000315',
})

describe.each(wires)('usage over $name', (wire) => {
  it('F19: input is the sum of read, written and new tokens', async () => {
    const written = tellsWrites(wire) ? { cacheWrite: 300 } : {}
    const usage = { input: 1_507, output: 21, cacheRead: 1_100, ...written }
    server.answer({ body: bodyOf(wire.name, text('Hello'), finish('stop', usage)) })
    const message = await observedCall(wire, server, { price }).stream.result()
    expect(message.stopReason).toBe('stop')
    expect(message.usage).toMatchObject({
      inputTokens: 1_507,
      cacheReadTokens: 1_100,
      noCacheTokens: tellsWrites(wire) ? 107 : 407,
      outputTokens: 21,
      totalTokens: 1_528,
      ...(tellsWrites(wire) && { cacheWriteTokens: 300 }),
    })
    expect(message.usage).not.toHaveProperty('estimated')
    expect(message.usage.raw).toBeTypeOf('object')
    if (!tellsWrites(wire)) expect(message.usage).not.toHaveProperty('cacheWriteTokens')
    expect(message.cost).toEqual(
      tellsWrites(wire)
        ? costOfParts('0.002091000000107', '0.000321000000107', '0.001125')
        : costOfParts('0.001866000000407', '0.001221000000407', '0'),
    )
  })
})

describe('missing usage', () => {
  const silentWires = wires.filter(({ name }) => name !== 'anthropic')

  it.each(silentWires)('F19: $name: is unknown, and not zero', async (wire) => {
    server.answer({ body: bodyOf(wire.name, text('Hello'), finish('stop', 'none')) })
    const message = await observedCall(wire, server, { price }).stream.result()
    expect(message).toMatchObject({ stopReason: 'stop', content: [{ text: 'Hello' }] })
    expect(message.usage).toEqual({})
    expect(message).not.toHaveProperty('cost')
  })

  it('F19: anthropic: the input is known from the start of the message, whatever happens later', async () => {
    const usage = { input: 1_507, output: 21, cacheRead: 1_100, cacheWrite: 300 }
    const [opening = ''] = bodyOf('anthropic', finish('stop', usage))
    const [, ...frames] = bodyOf('anthropic', half(text('Hello')))
    server.answer({ body: [opening, ...frames] })
    expect(await observedCall(wireNamed('anthropic'), server, { price }).stream.result()).toMatchObject({
      stopReason: 'error',
      // 107 new, 1,100 read, 300 written, and 2 output tokens. The latter are estimated, which marks the whole.
      cost: { total: '0.001806000000107', estimated: true },
      usage: {
        inputTokens: 1_507,
        cacheReadTokens: 1_100,
        cacheWriteTokens: 300,
        noCacheTokens: 107,
        outputTokens: 2,
        estimated: true,
      },
    })
  })
})
