import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { definedOnly, toJsonValue } from '../json.ts'
import type { JSONObject, Usage } from '../messages.ts'

type Counts = { -readonly [K in keyof Omit<Usage, 'estimated' | 'raw'>]: number }

const countNames = [
  'inputTokens',
  'noCacheTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'textTokens',
  'reasoningTokens',
  'totalTokens',
] as const satisfies readonly (keyof Counts)[]

/** The sum of two usages. A number is missing only when both sides miss it; the sum is estimated when a side is. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Counts = {}
  for (const name of countNames) {
    if (a[name] !== undefined || b[name] !== undefined) sum[name] = (a[name] ?? 0) + (b[name] ?? 0)
  }
  return a.estimated || b.estimated ? { ...sum, estimated: true } : sum
}

/** What a provider reported, without guesses: a number that it did not send is absent. */
export function reportedUsage(reported: LanguageModelV4Usage): Usage {
  const { inputTokens: input, outputTokens: output, raw } = reported
  return definedOnly({
    inputTokens: count(input?.total),
    noCacheTokens: count(input?.noCache),
    cacheReadTokens: count(input?.cacheRead),
    cacheWriteTokens: count(input?.cacheWrite),
    outputTokens: count(output?.total),
    textTokens: count(output?.text),
    reasoningTokens: count(output?.reasoning),
    raw: raw && (toJsonValue(raw) as JSONObject),
  })
}

/** Fills what follows exactly from the numbers that are there. */
export function completeUsage(usage: Usage): Usage {
  const { inputTokens: input, cacheReadTokens: read, cacheWriteTokens: write, outputTokens: output } = usage
  const noCache = input !== undefined && read !== undefined && write !== undefined ? input - read - write : undefined
  const total = input !== undefined && output !== undefined ? input + output : undefined
  return { ...definedOnly({ noCacheTokens: noCache, totalTokens: total }), ...usage }
}

/** Puts figures made from text lengths where the provider gave none. */
export function estimateMissing(usage: Usage, estimate: { inputLength: number; outputLength: number }): Usage {
  if (usage.inputTokens !== undefined && usage.outputTokens !== undefined) return usage
  return {
    inputTokens: tokensOfLength(estimate.inputLength),
    outputTokens: tokensOfLength(estimate.outputLength),
    ...usage,
    estimated: true,
  }
}

/** The usage of a call that no provider accepted. */
export function noUsage(): Usage {
  return { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
}

function tokensOfLength(length: number): number {
  return Math.ceil(length / 4)
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
