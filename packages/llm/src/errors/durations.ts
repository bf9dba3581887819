const units: readonly (readonly [spelling: RegExp, ms: number])[] = [
  [/^(?:ms|msecs?|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1_000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
]

const unit = units.map(([spelling]) => spelling.source.slice(1, -1)).join('|')
const amount = String.raw`\d+(?:\.\d+)?\s?(?:${unit})(?![a-z])`

/** Source of a pattern for all durations that `durationOf` reads. */
export const durationPattern = `${amount}(?:[\\s,]*(?:and )?${amount})*`

/** Parses durations such as `34.07s`, `6m0s`, `800ms`, `18h31m10s`, `1 minute and 20 seconds`. Returns milliseconds. */
export function durationOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !wholeDuration.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)]
  return Math.round(parts.reduce((ms, [, count, word]) => ms + Number(count) * msOf(word ?? ''), 0))
}

const wholeDuration = new RegExp(`^\\s*${durationPattern}\\s*$`, 'i')

function msOf(word: string): number {
  return units.find(([spelling]) => spelling.test(word))?.[1] ?? Number.NaN
}
