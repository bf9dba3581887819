import { describe, expect, it } from 'vitest'
import { addUsage, type LanguageModelV4StreamPart } from '../src/index.ts'
import { resultOf, text, usageOf } from './support.ts'

const finishWith = (
  usage: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['usage'],
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified: 'stop', raw: undefined },
  usage,
})

describe('usage', () => {
  it('L63: unknown numbers stay absent', async () => {
    const { usage } = await resultOf([...text('a'), finishWith(usageOf(undefined, 3))])
    expect(usage).toEqual({ outputTokens: 3 })
  })

  it('L63: a missing number is filled only by exact arithmetic', async () => {
    const { usage } = await resultOf([
      ...text('a'),
      finishWith({
        inputTokens: { total: 100, noCache: undefined, cacheRead: 70, cacheWrite: 20 },
        outputTokens: { total: 9, text: undefined, reasoning: 4 },
        raw: { total: 100, at: undefined },
      }),
    ])
    expect(usage).toEqual({
      inputTokens: 100,
      noCacheTokens: 10,
      cacheReadTokens: 70,
      cacheWriteTokens: 20,
      outputTokens: 9,
      reasoningTokens: 4,
      totalTokens: 109,
      raw: { total: 100 },
    })
    const { usage: partial } = await resultOf([
      ...text('a'),
      finishWith({
        inputTokens: { total: 100, noCache: undefined, cacheRead: 70, cacheWrite: undefined },
        outputTokens: { total: undefined, text: undefined, reasoning: undefined },
      }),
    ])
    expect(partial).toEqual({ inputTokens: 100, cacheReadTokens: 70 })
  })

  it('L66: a later finish without a number does not erase an earlier one', async () => {
    const { usage } = await resultOf([...text('a'), finishWith(usageOf(10, 5)), finishWith(usageOf(undefined, 6))])
    expect(usage).toEqual({ inputTokens: 10, outputTokens: 6, totalTokens: 16 })
  })

  it('L71: addUsage treats a number as missing only if both sides miss it, and carries estimated', () => {
    const sum = addUsage(
      { inputTokens: 1, outputTokens: 2, raw: { a: 1 } },
      { inputTokens: 3, reasoningTokens: 4, estimated: true },
    )
    expect(sum).toEqual({ inputTokens: 4, outputTokens: 2, reasoningTokens: 4, estimated: true })
    expect(addUsage({}, {})).toEqual({})
  })
})
