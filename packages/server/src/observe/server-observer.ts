import type { RequestRecord } from '../http/request-record.ts'
import type { StreamSummary } from '../sse/event-stream.ts'

/** Answered request. The body of a stream may still follow. */
export interface RequestReport {
  readonly record: RequestRecord
  /** Pattern of the route. Undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  readonly durationMs: number
  readonly sessionId?: string
  readonly runId?: string
}

/** Closed stream and the request that opened it. */
export interface StreamReport extends StreamSummary {
  readonly opened: RequestReport
}

/** Observer of requests and streams. It cannot affect answers: its errors are logged. */
export interface ServerObserver {
  /** Wraps the work of a request. Must call `answer` once and return its result. */
  around?(record: RequestRecord, answer: () => Promise<Response>): Promise<Response>
  requestEnded?(report: RequestReport): void
  streamOpened?(opened: RequestReport): void
  streamEnded?(report: StreamReport): void
}

/** All observers combined. */
export type ComposedObserver = Required<ServerObserver>
