import type { RequestRecord } from '../http/request-record.ts'
import type { StreamSummary } from '../sse/event-stream.ts'

/** An answered request. The body of a stream may still follow. */
export interface RequestReport {
  readonly record: RequestRecord
  /** The pattern of the route; undefined: none took it. */
  readonly route: string | undefined
  readonly status: number
  readonly durationMs: number
  readonly sessionId?: string
  readonly runId?: string
}

/** A closed stream with the request that opened it. */
export interface StreamReport extends StreamSummary {
  readonly opened: RequestReport
}

/** Observer of requests and streams. It must not affect answers: its errors are logged. */
export interface ServerObserver {
  /** Wraps the work of a request. Must call `answer` once and return its result. */
  around?(record: RequestRecord, answer: () => Promise<Response>): Promise<Response>
  requestEnded?(report: RequestReport): void
  streamOpened?(opened: RequestReport): void
  streamEnded?(report: StreamReport): void
}

/** All who look on, as one. */
export type ComposedObserver = Required<ServerObserver>
