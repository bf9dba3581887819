import { durationOf, durationPattern } from './durations.ts'
import type { ErrorFacts } from './shapes.ts'

type Reader = (facts: ErrorFacts, now: number) => number | undefined

/** The places where providers say how long to wait, the most exact first. */
const readers: readonly Reader[] = [
  ({ headers }) => numberOf(headers['retry-after-ms']),
  ({ headers }) => secondsToMs(numberOf(headers['retry-after'])),
  ({ headers }, now) => untilDate(headers['retry-after'], Date.parse(headers['date'] ?? '') || now),
  ({ details }) => details.map((detail) => durationOf(detail['retryDelay'])).find((ms) => ms !== undefined),
  ({ message }) => durationOf(askedWait.exec(message)?.groups?.['time']),
  ({ headers }) => exhaustedReset(headers),
  ({ headers }, now) => anthropicReset(headers, now),
]

/** As in "try again in 6m0s", "retry after 1 minute and 20 seconds", "will reset after 18h31m10s". */
const askedWait = new RegExp(`(?:try again|retry|reset)s? (?:in|after) (?<time>${durationPattern})`, 'i')

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

/** A bare number is no date, although it could be read as a year. */
function untilDate(text: string | undefined, from: number): number | undefined {
  return text === undefined || Number.isFinite(Number(text)) ? undefined : Date.parse(text) - from
}

/** The later one of those that are used up: before it, the next try would fail again. */
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
