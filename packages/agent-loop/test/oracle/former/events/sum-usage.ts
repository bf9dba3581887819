import type { Usage } from '@bowline/llm'

const counts = [
  'inputTokens',
  'noCacheTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'textTokens',
  'reasoningTokens',
  'totalTokens',
] as const

/** Like `addUsage` of `@bowline/llm`, which this entry must not load: a number is missing only when both lack it. */
export function sumUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  for (const count of counts) {
    const left = a[count]
    const right = b[count]
    if (left !== undefined || right !== undefined) sum[count] = (left ?? 0) + (right ?? 0)
  }
  if (a.estimated || b.estimated) sum.estimated = true
  return sum
}
