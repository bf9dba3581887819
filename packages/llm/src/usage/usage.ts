import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { isFields, isRecord } from '../arguments.ts'
import { checkInput } from '../check.ts'
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

/**
 * Returns the sum of two usages. A count is absent only if both lack it. The sum is `estimated` if one of them is. `raw` is
 * omitted. Throws `LlmError` `invalid-input` for a value that is not a usage.
 */
export function addUsage(a: Usage, b: Usage): Usage {
  checkUsage('a', a)
  checkUsage('b', b)
  const sum: Counts = {}
  for (const name of countNames) {
    if (a[name] !== undefined || b[name] !== undefined) sum[name] = (a[name] ?? 0) + (b[name] ?? 0)
  }
  return a.estimated || b.estimated ? { ...sum, estimated: true } : sum
}

/** Throws `LlmError` for a value that is not a usage. */
export function checkUsage(path: string, usage: unknown): void {
  checkInput.checkRequired(path, usage, 'an object', isFields)
  const counts = usage as Partial<Record<string, unknown>>
  for (const name of countNames) if (counts[name] !== undefined) checkInput.checkWhole(`${path}.${name}`, counts[name], 0)
  checkInput.checkBoolean(`${path}.estimated`, counts['estimated'])
}

/** Returns the reported usage without estimates: a count that the provider did not send is absent. */
export function reportedUsage(reported: LanguageModelV4Usage): Usage {
  const { inputTokens: input, outputTokens: output, raw } = reported
  return definedOnly({
    inputTokens: tokenCount(input?.total),
    noCacheTokens: tokenCount(input?.noCache),
    cacheReadTokens: tokenCount(input?.cacheRead),
    cacheWriteTokens: tokenCount(input?.cacheWrite),
    outputTokens: tokenCount(output?.total),
    textTokens: tokenCount(output?.text),
    reasoningTokens: tokenCount(output?.reasoning),
    raw: isRecord(raw) ? (toJsonValue(raw) as JSONObject) : undefined,
  })
}

/** Adds counts that follow exactly from the given ones. Contradicting counts add nothing. */
export function completeUsage(usage: Usage): Usage {
  const { inputTokens: input, cacheReadTokens: read, cacheWriteTokens: write, outputTokens: output } = usage
  const noCache = input !== undefined && read !== undefined && write !== undefined ? input - read - write : undefined
  const total = input !== undefined && output !== undefined ? input + output : undefined
  return { ...definedOnly({ noCacheTokens: tokenCount(noCache), totalTokens: total }), ...usage }
}

/** Estimates missing counts from text lengths. An estimate is never smaller than the sum of its reported parts. */
export function estimateMissing(usage: Usage, estimate: { inputLength: number; outputLength: number }): Usage {
  if (usage.inputTokens !== undefined && usage.outputTokens !== undefined) return usage
  const { noCacheTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, textTokens = 0, reasoningTokens = 0 } = usage
  return {
    inputTokens: Math.max(tokensOfLength(estimate.inputLength), noCacheTokens + cacheReadTokens + cacheWriteTokens),
    outputTokens: Math.max(tokensOfLength(estimate.outputLength), textTokens + reasoningTokens),
    ...usage,
    estimated: true,
  }
}

/** Returns the usage of a call that no provider accepted. */
export function noUsage(): Usage {
  return { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
}

function tokensOfLength(length: number): number {
  return Math.ceil(length / 4)
}

/** Returns the value if it is a valid token count (a whole number, 0 or more), else `undefined`. */
export function tokenCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}
