import type { ErrorFacts } from './shapes.ts'

type Reader = (facts: ErrorFacts, now: number) => number | undefined

/** The places where providers say how long to wait, the most exact first. */
const readers: readonly Reader[] = [
  ({ headers }) => numberOf(headers['retry-after-ms']),
  ({ headers }) => secondsToMs(numberOf(headers['retry-after'])),
  ({ headers }, now) => untilDate(headers['retry-after'], Date.parse(headers['date'] ?? '') || now),
  ({ details }) => details.map((detail) => durationOf(detail['retryDelay'])).find((ms) => ms !== undefined),
  ({ message }) =>
    durationOf(
      /(?:try again|retry|reset)s?\s+(?:in|after)\s+(?<time>[\d.]+\s?(?:[a-z]+[\d.]*)*)/i.exec(message)?.groups?.[
        'time'
      ],
    ),
  ({ headers }) => exhaustedReset(headers),
  ({ headers }, now) => anthropicReset(headers, now),
]

/** How long the provider asks to wait, in milliseconds. Nothing is added to it and nothing cut from it. */
export function retryDelayMs(facts: ErrorFacts, now: number): number | undefined {
  for (const read of readers) {
    const ms = read(facts, now)
    if (ms !== undefined && Number.isFinite(ms) && ms >= 0) return ms
  }
  return undefined
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === '' ? undefined : Number(text)
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000)
}

function untilDate(text: string | undefined, from: number): number | undefined {
  return text === undefined || numberIs(text) ? undefined : Date.parse(text) - from
}

function numberIs(text: string): boolean {
  return Number.isFinite(Number(text))
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
}

/** Durations such as `34.07s`, `6m0s`, `800ms`, `18h31m10s`, `20 seconds`. */
function durationOf(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|seconds?|minutes?|hours|[smhd])(?![a-z])/gi)]
  if (parts.length === 0) return undefined
  const sum = parts.reduce(
    (ms, [, amount, unit]) => ms + Number(amount) * (unitMs[unit?.toLowerCase() ?? ''] ?? Number.NaN),
    0,
  )
  return Math.round(sum)
}

function exhaustedReset(headers: Readonly<Record<string, string>>): number | undefined {
  const resets = ['requests', 'tokens']
    .filter((what) => headers[`x-ratelimit-remaining-${what}`] === '0')
    .map((what) => durationOf(headers[`x-ratelimit-reset-${what}`]))
    .filter((ms) => ms !== undefined)
  return resets.length > 0 ? Math.max(...resets) : undefined
}

function anthropicReset(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const resets = Object.entries(headers)
    .filter(([name]) => /^anthropic-ratelimit-.*-reset$/.test(name))
    .filter(([name]) => (headers[name.replace(/-reset$/, '-remaining')] ?? '0') === '0')
    .map(([, value]) => Date.parse(value) - now)
    .filter((ms) => ms >= 0)
  return resets.length > 0 ? Math.max(...resets) : undefined
}
