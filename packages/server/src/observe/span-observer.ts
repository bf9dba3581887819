import type { Attributes, Context, Span, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Redaction } from '@bowline/llm'
import type { RequestRecord } from '../http/request-record.ts'
import { requestSpanKey, tracing, within } from './open-telemetry.ts'
import { reportOf } from './report.ts'
import type { ServerObserver } from './server-observer.ts'

const server: SpanKind.SERVER = 1
const failed: SpanStatusCode.ERROR = 2
const knownMethods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Tracing = NonNullable<ReturnType<typeof tracing>>

/** Records one server span per request, in the trace that the request names. Without an SDK it does nothing. */
export function spanObserver(redaction: Redaction, now: () => number): ServerObserver {
  return {
    around(record, answer) {
      const found = tracing()
      if (!found) return answer()
      return within((run) => inSpan(found, record, redaction, (span) => describe(span, found, record, now, run)), answer)
    },
  }
}

function inSpan<T>(
  { trace, context, propagation }: Tracing,
  record: RequestRecord,
  redaction: Redaction,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const tracer = trace.getTracer('@bowline/server')
  const options = { kind: server, attributes: ofRequest(record, redaction) }
  const active = context?.active()
  if (!active) return tracer.startActiveSpan(methodOf(record), options, work)
  const { headers } = record.request
  const get = (_carrier: unknown, name: string): string | undefined => headers.get(name) ?? undefined
  const parent = propagation?.extract(active, headers, { get, keys: () => [...headers.keys()] }) ?? active
  return tracer.startActiveSpan(methodOf(record), options, parent, work)
}

/** Sets the name and the attributes when they are known. Headers of the answer name the trace. */
async function describe(
  span: Span,
  { context, propagation }: Tracing,
  record: RequestRecord,
  now: () => number,
  run: () => Promise<Response>,
): Promise<Response> {
  try {
    const own: Context | undefined = context?.active().setValue(requestSpanKey, span.spanContext())
    const response = await (own && context ? context.with(own, run) : run())
    const { route, status, sessionId, runId } = reportOf(record, response, now())
    if (route !== undefined) span.updateName(`${methodOf(record)} ${route}`)
    span.setAttributes({
      'http.response.status_code': status,
      ...(route !== undefined && { 'http.route': route }),
      ...(sessionId !== undefined && { 'bowline.session_id': sessionId }),
      ...(runId !== undefined && { 'bowline.run_id': runId }),
      ...(record.problem && { 'error.type': record.problem.code }),
    })
    if (status >= 500) span.setStatus({ code: failed })
    if (own) propagation?.inject(own, response.headers, { set: (headers: Headers, name, value) => headers.set(name, value) })
    return response
  } finally {
    span.end()
  }
}

function ofRequest(record: RequestRecord, redaction: Redaction): Attributes {
  const { caller, request, requestId } = record
  const { pathname, protocol } = new URL(request.url)
  return {
    'http.request.method': knownMethods.includes(request.method) ? request.method : '_OTHER',
    'url.path': redaction.text(pathname),
    'url.scheme': protocol.slice(0, -1),
    'server.address': caller.host,
    ...(caller.address !== undefined && { 'client.address': caller.address }),
    'bowline.request_id': requestId,
  }
}

function methodOf({ request }: RequestRecord): string {
  return knownMethods.includes(request.method) ? request.method : 'HTTP'
}
