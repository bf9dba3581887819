import { describe, expect, it } from 'vitest'
import { addUsage, type LanguageModelV4StreamPart } from '../src/index.ts'
import { requestLength } from '../src/usage/request-length.ts'
import { completeUsage, estimateMissing, noUsage } from '../src/usage/usage.ts'
import { resultOf, text, usageOf } from './support.ts'

const finishWith = (usage: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['usage']): LanguageModelV4StreamPart => ({
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

  it('L63: a value that cannot be a number of tokens is unknown', async () => {
    const { usage } = await resultOf([
      ...text('a'),
      finishWith({
        inputTokens: { total: 10, noCache: -80, cacheRead: 90, cacheWrite: Number.NaN },
        outputTokens: { total: 1.5, text: Number.POSITIVE_INFINITY, reasoning: '3' as never },
      }),
    ])
    expect(usage).toEqual({ inputTokens: 10, cacheReadTokens: 90 })
  })

  it('L63: nothing is filled from numbers that contradict each other, and a given number is never replaced', () => {
    const impossible = { inputTokens: 10, cacheReadTokens: 90, cacheWriteTokens: 0 }
    expect(completeUsage(impossible)).toEqual(impossible)
    const given = { inputTokens: 10, noCacheTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, totalTokens: 4 }
    expect(completeUsage({ ...given, outputTokens: 5 })).toEqual({ ...given, outputTokens: 5 })
  })

  it('L63: a sum of nothing but zeros is known to be zero', () => {
    const zeros = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
    expect(completeUsage(zeros)).toEqual({ ...zeros, noCacheTokens: 0, totalTokens: 0 })
  })

  it('L64: the usage of a call that was not accepted is 0, not flagged, a fresh object each time', () => {
    expect(noUsage()).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
    expect(noUsage()).not.toBe(noUsage())
  })

  it('L65: an estimate is length / 4, rounded up, and the numbers of the provider win field by field', () => {
    const lengths = { inputLength: 9, outputLength: 4 }
    expect(estimateMissing({}, lengths)).toEqual({ inputTokens: 3, outputTokens: 1, estimated: true })
    expect(estimateMissing({ inputTokens: 7 }, lengths)).toEqual({ inputTokens: 7, outputTokens: 1, estimated: true })
    expect(estimateMissing({ outputTokens: 0 }, lengths)).toEqual({ inputTokens: 3, outputTokens: 0, estimated: true })
    const known = { inputTokens: 7, outputTokens: 8 }
    expect(estimateMissing(known, lengths)).toEqual(known)
  })

  it('L65: an estimate is never below the parts that the provider counted', () => {
    const parts = { cacheReadTokens: 90, cacheWriteTokens: 5, reasoningTokens: 40 }
    expect(estimateMissing(parts, { inputLength: 8, outputLength: 8 })).toEqual({
      ...parts,
      inputTokens: 95,
      outputTokens: 40,
      estimated: true,
    })
  })

  it('L65: JSON of calls and results counts in its sent form, whatever its keys are; files do not count', async () => {
    const input = { data: 'four', role: 1, type: true }
    const output = { type: 'json', value: { data: [{ type: 'row' }, 'x'] } } as const
    const callPart = { type: 'tool-call', toolCallId: 'c', toolName: 't', input } as const
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 't', output } as const
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A'.repeat(1_000) } } as const
    const length = requestLength({
      prompt: [
        { role: 'user', content: [{ type: 'text', text: 'seven..' }, file] },
        { role: 'assistant', content: [callPart] },
        { role: 'tool', content: [result] },
      ],
    })
    const json = JSON.stringify(input).length + JSON.stringify(output.value).length
    expect(length).toBe('seven..'.length + json + 2 * 'ct'.length)
  })

  it('L66: a later finish without a number does not erase an earlier one', async () => {
    const { usage } = await resultOf([...text('a'), finishWith(usageOf(10, 5)), finishWith(usageOf(undefined, 6))])
    expect(usage).toEqual({ inputTokens: 10, outputTokens: 6, totalTokens: 16 })
  })

  it('L71: addUsage treats a number as missing only if both sides miss it, and carries estimated', () => {
    const sum = addUsage({ inputTokens: 1, outputTokens: 2, raw: { a: 1 } }, { inputTokens: 3, reasoningTokens: 4, estimated: true })
    expect(sum).toEqual({ inputTokens: 4, outputTokens: 2, reasoningTokens: 4, estimated: true })
    expect(addUsage({}, {})).toEqual({})
  })
})
