import { describeValue } from '@bowline/llm/arguments'

/** Limits of requests, callers and streams. Every field has a default. */
export interface Limits {
  /** Maximum bytes of a body. Default 1 MiB. */
  readonly bodyBytes?: number
  /** Maximum bytes of the request line and all headers. Default 16 KiB. */
  readonly headerBytes?: number
  /** Timeout for the headers of a request, in ms. Default 10,000. */
  readonly headersTimeoutMs?: number
  /** Timeout for a whole request, headers and body, in ms. Default 30,000. */
  readonly bodyTimeoutMs?: number
  /** Maximum nesting of JSON. Default 64. */
  readonly jsonDepth?: number
  /** Maximum number of keys in one body. Default 10,000. */
  readonly jsonKeys?: number
  /** Maximum requests of one principal per minute. Default 600. */
  readonly requestsPerMinute?: number
  /** Maximum requests of one principal that start work, per minute. Default 60. */
  readonly workPerMinute?: number
  /** Maximum failed logins from one address per minute. Default 20. */
  readonly authFailuresPerMinute?: number
  /** Maximum concurrent runs of one tenant. Default 20. */
  readonly runsPerTenant?: number
  /** Maximum open streams of this process. Default 5,000. */
  readonly streams?: number
  /** Maximum open streams of one principal. Default 100. */
  readonly streamsPerPrincipal?: number
  /** Maximum open streams of one session. Default 50. */
  readonly streamsPerSession?: number
  /** Maximum bytes buffered for one slow reader. Default 256 KiB. */
  readonly streamBufferBytes?: number
  /** Time in ms after which a reader that takes no available data is disconnected. Default 10,000. */
  readonly slowReaderMs?: number
  /** Maximum age of a stream in ms. Its reader must then reconnect. Default one hour. */
  readonly streamMaxAgeMs?: number
  /** Maximum queued runs of one session. Default 10. */
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

/** Returns all faults of the limits. `Infinity` means no limit. */
export function limitFaults(limits: Limits = {}): readonly string[] {
  const bad = Object.entries(limits).filter(([, value]) => value !== undefined && !isLimit(value))
  return bad.map(([name, value]) => `limits.${name} must be a whole number of 0 or more, or Infinity; received ${describeValue(value)}`)
}

function isLimit(value: unknown): boolean {
  return value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0)
}
