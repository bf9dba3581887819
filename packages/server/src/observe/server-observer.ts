import type { RequestRecord } from '../http/request-record.ts'

/** A request that was answered. The body of a stream is still to come. */
export interface RequestReport {
  readonly record: RequestRecord
  /** The pattern of the route; undefined: none took it. */
  readonly route: string | undefined
  readonly status: number
  readonly durationMs: number
  readonly sessionId?: string
  readonly runId?: string
}

/** Looks on. Nothing that it does may change an answer; what it throws is logged. */
export interface ServerObserver {
  /** Opens something around the work of a request. Must call `answer` once and give what it gives. */
  around?(record: RequestRecord, answer: () => Promise<Response>): Promise<Response>
  requestEnded?(report: RequestReport): void
}

/** All who look on, as one. */
export type ComposedObserver = Required<ServerObserver>
