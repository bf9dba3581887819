import { describeValue } from '@bowline/llm/arguments'

/** Limits per caller. Every field has a default. */
export interface Limits {
  /** Default 1 MiB. */
  readonly bodyBytes?: number
  /** All headers of a request with its address. Default 16 KiB. */
  readonly headerBytes?: number
  /** Time for the headers of a request. Default 10,000. */
  readonly headersTimeoutMs?: number
  /** Time for a whole request, headers and body. Default 30,000. */
  readonly bodyTimeoutMs?: number
  /** Default 64. */
  readonly jsonDepth?: number
  /** Keys in one body. Default 10,000. */
  readonly jsonKeys?: number
  /** Requests of one principal per minute. Default 600. */
  readonly requestsPerMinute?: number
  /** Requests of one principal that start work. Default 60. */
  readonly workPerMinute?: number
  /** Failed logins from one address. Default 20. */
  readonly authFailuresPerMinute?: number
  /** Runs of one tenant that are executed at once. Default 20. */
  readonly runsPerTenant?: number
  /** Open streams of this process. Default 5,000. */
  readonly streams?: number
  /** Default 100. */
  readonly streamsPerPrincipal?: number
  /** Default 50. */
  readonly streamsPerSession?: number
  /** Bytes buffered for one slow reader. Default 256 KiB. */
  readonly streamBufferBytes?: number
  /** How long a reader may take nothing while there is something to take. Default 10,000. */
  readonly slowReaderMs?: number
  /** After which a reader has to come back. Default one hour. */
  readonly streamMaxAgeMs?: number
  /** Default 10. */
  readonly queuedRunsPerSession?: number
}

/** Limits that the socket enforces, before a request is parsed and after its response. */
export type SocketLimits = Pick<Limits, 'headerBytes' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'slowReaderMs'>

const kibibyte = 1024
const secondMs = 1000
const hourMs = 3600 * secondMs

export const defaultLimits: Required<Limits> = {
  bodyBytes: kibibyte * kibibyte,
  headerBytes: 16 * kibibyte,
  headersTimeoutMs: 10 * secondMs,
  bodyTimeoutMs: 30 * secondMs,
  jsonDepth: 64,
  jsonKeys: 10_000,
  requestsPerMinute: 600,
  workPerMinute: 60,
  authFailuresPerMinute: 20,
  runsPerTenant: 20,
  streams: 5000,
  streamsPerPrincipal: 100,
  streamsPerSession: 50,
  streamBufferBytes: 256 * kibibyte,
  slowReaderMs: 10 * secondMs,
  streamMaxAgeMs: hourMs,
  queuedRunsPerSession: 10,
}

/** Everything that is wrong with them. `Infinity` is no limit. */
export function limitFaults(limits: Limits = {}): readonly string[] {
  const bad = Object.entries(limits).filter(([, value]) => value !== undefined && !isLimit(value))
  return bad.map(([name, value]) => `limits.${name} must be a whole number of 0 or more, or Infinity; received ${describeValue(value)}`)
}

function isLimit(value: unknown): boolean {
  return value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0)
}
