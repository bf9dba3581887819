import { describe, expect, it } from 'vitest'
import type { LanguageModelV4StreamPart } from '../src/index.ts'
import type { Action } from '../src/testing/index.ts'
import { brokenCall, clientCall, nameOf, partsOf, stopRows } from './stop-rows.ts'
import { call, finish, resultOf, text } from './support.ts'

describe('stop reasons', () => {
  it.each(stopRows.map((row) => [nameOf(row), row] as const))('L36: %s', async (_, row) => {
    const message = await resultOf(partsOf(row))
    expect(message.stopReason).toBe(row.stopReason)
    if (row.error) expect(message.error).toMatchObject(row.error)
    else expect(message).not.toHaveProperty('error')
  })

  it('L36: pause_turn is a stop that asks for another call', async () => {
    expect(await resultOf([...text('a'), finish('stop', 'pause_turn')])).toMatchObject({
      stopReason: 'stop',
      paused: true,
      rawStopReason: 'pause_turn',
    })
  })

  it('L36: an abort wins over an error, an error over the finish', async () => {
    const { stream } = call({ parts: [{ type: 'error', error: new Error('x') }, { hang: true }] })
    const result = stream.result()
    await new Promise((resolve) => setImmediate(resolve))
    stream.abort('stop')
    expect((await result).stopReason).toBe('aborted')
    expect((await resultOf([{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, finish('stop')])).error?.kind).toBe(
      'overloaded',
    )
  })

  it('L36: after the finish the reason of the provider counts, not the state of the connection', async () => {
    const endOf = async (last: LanguageModelV4StreamPart | Action): Promise<unknown[]> => {
      const { stopReason, error, usage } = await resultOf([...text('a'), finish(), last])
      return [stopReason, error?.kind, usage]
    }
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    const overloaded = { type: 'overloaded_error', message: 'busy' }
    expect(await endOf({ type: 'error', error: overloaded })).toEqual(['error', 'overloaded', usage])
    expect(await endOf({ throw: overloaded })).toEqual(['stop', undefined, usage])
  })

  it('L37: content before a filter is kept, with the raw reason', async () => {
    const message = await resultOf([...text('so far'), finish('content-filter', 'PROHIBITED')])
    expect(message.content).toEqual([{ type: 'text', text: 'so far' }])
    expect(message.rawStopReason).toBe('PROHIBITED')
    expect(message.error?.message).toContain('PROHIBITED')
    expect((await resultOf([...text('a'), finish('other', 'moonphase')])).error?.message).toContain('moonphase')
  })

  it('L38: calls of a truncated message stay, the cut one is marked and never repaired', async () => {
    const message = await resultOf([clientCall, brokenCall, finish('length', 'max_tokens')])
    expect(message.stopReason).toBe('length')
    expect(message.content).toMatchObject([{ input: {} }, { invalid: 'not-json', inputText: '{"a', input: {} }])
    expect(message.content[0]).not.toHaveProperty('invalid')
  })

  it('L39: a stream without a finish is never a success, even when all text has arrived', async () => {
    const { stream } = call({ text: 'the whole answer', toolCalls: [{ name: 'x', input: {} }], finish: false })
    expect(await stream.result()).toMatchObject({
      stopReason: 'error',
      error: { kind: 'stream-broken', phase: 'after-output' },
    })
  })
})
