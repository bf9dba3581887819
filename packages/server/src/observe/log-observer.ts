import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'
import type { RequestReport, ServerObserver } from './server-observer.ts'

/** Content of the request log. */
export interface LogOptions {
  /** Logs the bodies of requests too. Default false: no content is logged. */
  readonly content?: boolean
}

/** Logs one line per request at its end, and one per stream when it closes. Both hold ids, never content. */
export function logObserver(logger: Logger, { content = false }: LogOptions = {}): ServerObserver {
  return {
    requestEnded(report) {
      const { record, status, durationMs } = report
      const { problem, body } = record
      const fields = {
        ...idsOf(report),
        method: record.request.method,
        status,
        durationMs,
        ...(problem && { code: problem.code }),
        ...(content && body !== undefined && { content: body }),
      }
      // A route that reports "not ready" has not failed.
      if (status < 500 || !problem || problem.code === 'draining') logger.info(fields, 'request')
      else logger.error({ ...fields, ...(problem.cause !== undefined && { fault: faultOf(problem.cause) }) }, 'request')
    },
    streamEnded({ opened, endReason, frames, bytes, durationMs }) {
      const level = endReason === 'error' ? 'warn' : 'info'
      logger[level]({ ...idsOf(opened), endReason, frames, bytes, durationMs }, 'stream')
    },
  }
}

function idsOf({ record, route, sessionId, runId }: RequestReport): Readonly<Record<string, unknown>> {
  const { requestId, principal } = record
  return {
    requestId,
    ...(route !== undefined && { route }),
    ...(principal && principal.id !== '' && { tenant: principal.tenant, principal: principal.id }),
    ...(sessionId !== undefined && { sessionId }),
    ...(runId !== undefined && { runId }),
  }
}
