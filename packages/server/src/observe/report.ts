import type { RequestRecord } from '../http/request-record.ts'
import type { EventStream } from '../sse/event-stream.ts'
import type { RequestReport, ComposedObserver } from './server-observer.ts'

/** Form of a session id from a caller, including child sessions. Other texts are not logged. */
const idForm = /^[A-Za-z0-9][A-Za-z0-9_.:~-]{0,511}$/

/** Returns the facts of a request that are known with its answer. */
export function reportOf(record: RequestRecord, answer: Pick<Response, 'status' | 'headers'>, now: number): RequestReport {
  const { route, params, body } = record
  const sessionId = answer.headers.get('x-session-id') ?? params?.id ?? sessionIdIn(body)
  const runId = answer.headers.get('x-run-id') ?? params?.runId
  return {
    record,
    route: route?.path,
    status: answer.status,
    durationMs: now - record.startedAt,
    ...(sessionId !== undefined && idForm.test(sessionId) && { sessionId }),
    ...(runId !== undefined && idForm.test(runId) && { runId }),
  }
}

/** Reports a stream when it opens and when it closes. */
export function watchStream(observer: ComposedObserver, stream: EventStream, opened: RequestReport): void {
  observer.streamOpened(opened)
  void stream.closed.then((summary) => observer.streamEnded({ opened, ...summary }))
}

function sessionIdIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('sessionId' in body)) return undefined
  return typeof body.sessionId === 'string' ? body.sessionId : undefined
}
