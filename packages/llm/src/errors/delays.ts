import { durationOf, durationPattern } from './durations.ts'
import type { ErrorFacts } from './shapes.ts'

type Reader = (facts: ErrorFacts, now: number) => number | undefined

/** Readers for the places where providers state a delay, most exact first. */
const readers: readonly Reader[] = [
  ({ headers }) => numberOf(headers['retry-after-ms']),
  ({ headers }) => secondsToMs(numberOf(headers['retry-after'])),
  ({ headers }, now) => untilDate(headers['retry-after'], Date.parse(headers['date'] ?? '') || now),
  ({ details }) => details.map((detail) => durationOf(detail['retryDelay'])).find((ms) => ms !== undefined),
  ({ message }) => durationOf(askedWait.exec(message)?.groups?.['time']),
  ({ headers }) => exhaustedReset(headers),
  ({ headers }, now) => anthropicReset(headers, now),
]

/** Matches "try again in 6m0s", "retry after 1 minute and 20 seconds", "will reset after 18h31m10s". */
const askedWait = new RegExp(`(?:try again|retry|reset)s? (?:in|after) (?<time>${durationPattern})`, 'i')

/** Returns the delay that the provider asks for, in milliseconds, unchanged. */
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

/** A bare number is not a date, although `Date.parse` would read it as a year. */
function untilDate(text: string | undefined, from: number): number | undefined {
  return text === undefined || Number.isFinite(Number(text)) ? undefined : Date.parse(text) - from
}

/** Returns the later reset of the exhausted limits: a retry before it would fail again. */
function exhaustedReset(headers: Readonly<Record<string, string>>): number | undefined {
  const resets = ['requests', 'tokens']
    .filter((what) => numberOf(headers[`x-ratelimit-remaining-${what}`]) === 0)
    .map((what) => durationOf(headers[`x-ratelimit-reset-${what}`]))
    .filter((ms) => ms !== undefined)
  return resets.length > 0 ? Math.max(...resets) : undefined
}

function anthropicReset(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const resets = Object.entries(headers)
    .filter(([name]) => /^anthropic-ratelimit-.*-reset$/.test(name))
    .filter(([name]) => (numberOf(headers[name.replace(/-reset$/, '-remaining')]) ?? 0) === 0)
    .map(([, value]) => Date.parse(value) - now)
    .filter((ms) => ms >= 0)
  return resets.length > 0 ? Math.max(...resets) : undefined
}
