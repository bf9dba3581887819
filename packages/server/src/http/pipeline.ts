import type { Context as HonoContext } from 'hono'
import type { Clock, Redaction } from '@bowline/llm'
import { allows, type Principal, type Scope } from '../auth/principal.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Tickets } from '../auth/tickets.ts'
import { encodeJson } from '../json.ts'
import type { Limits } from '../limits.ts'
import { reportOf, watchStream } from '../observe/report.ts'
import type { ComposedObserver } from '../observe/server-observer.ts'
import { problemBody, ProblemError, statusOf } from '../problems.ts'
import type { RateLimits } from '../rate/rate-limits.ts'
import type { Answer, Route } from '../routes/route.ts'
import { streamHeaders } from '../sse/frames.ts'
import { tokenExpired } from '../sse/open-streams.ts'
import { toProblemError } from '../to-problem-error.ts'
import type { AppEnv } from './app.ts'
import { readJsonBody } from './request-body.ts'
import { validate } from './validate.ts'

export interface Pipeline {
  readonly authenticator: Authenticator
  readonly tickets: Tickets
  readonly rateLimits: RateLimits
  readonly limits: Required<Limits>
  readonly isDraining: () => boolean
  readonly observer: ComposedObserver
  readonly clock: Clock
}

type Context = HonoContext<AppEnv>

const nobody: Principal = { id: '', tenant: '', scopes: [] }

const msPerSecond = 1000

const safetyHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
}

export async function carryOut(route: Route, context: Context, pipeline: Pipeline): Promise<Response> {
  const record = context.get('record')
  record.route = route
  record.params = context.req.param()
  try {
    return await answer(route, context, pipeline)
  } catch (error) {
    // The router only handles instances of Error, and libraries throw other values too.
    throw toProblemError(error)
  }
}

/** Answers a request of one route: authentication, rights, validation, then the route itself. */
async function answer(route: Route, context: Context, pipeline: Pipeline): Promise<Response> {
  const request = context.req.raw
  const record = context.get('record')
  const { authenticator } = pipeline
  const { generation } = authenticator
  const principal = route.scope ? await authorize(route, route.scope, context, pipeline) : nobody
  if (route.work && pipeline.isDraining()) throw new ProblemError('draining', 'Send it again: another process handles it.')
  const query = route.query ? validate(route.query, context.req.query(), 'invalid-query') : undefined
  const body = route.body ? validate(route.body, await readJsonBody(request, pipeline.limits), 'invalid-body') : undefined
  record.body = body
  const { requestId, params = {} } = record
  const given = await route.handle({ request, requestId, principal, params, query, body })
  // The authentication was replaced during the request. The new stream was not yet among those that were checked.
  const opened = 'stream' in given ? given.stream : 'held' in given ? given.held : undefined
  if (opened && generation !== authenticator.generation && !(await authenticator.stillKnows(principal))) opened.end(tokenExpired)
  if ('audit' in given) record.decided = given.audit
  const response = toResponse(given)
  if ('stream' in given) watchStream(pipeline.observer, given.stream, reportOf(record, response, pipeline.clock.now()))
  return response
}

/**
 * Answers every refusal and failure with a problem body. If the route has a text and the caller does not ask for JSON, the body is
 * that text.
 */
export function refuse(error: unknown, context: Context, redaction: Redaction): Response {
  const problem = toProblemError(error)
  const record = context.get('record')
  const { requestId, route } = record
  record.problem = problem
  const { retryAfterMs } = problem
  const text = jsonForm.test(context.req.header('accept') ?? '') ? undefined : route?.refusalText?.(problem)
  const body =
    text === undefined ? encodeJson(problemBody(problem, { path: context.req.path, id: requestId }, redaction)) : redaction.text(text)
  return new Response(body, {
    status: statusOf(problem.code),
    headers: {
      ...safetyHeaders,
      'content-type': text === undefined ? 'application/problem+json' : 'text/plain; charset=utf-8',
      ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / msPerSecond)) }),
      ...problem.headers,
    },
  })
}

const jsonForm = /\bapplication\/(?:problem\+)?json\b/i

/** Authenticates the caller and checks its rate limits and scope. */
async function authorize(route: Route, scope: Scope | 'any', context: Context, pipeline: Pipeline): Promise<Principal> {
  const { authenticator, tickets, rateLimits } = pipeline
  const request = context.req.raw
  const record = context.get('record')
  const { address } = record.caller
  await rateLimits.checkAddress(address)
  const ticket = route.takesTicket && !request.headers.has('authorization') ? context.req.query('ticket') : undefined
  const login = ticket === undefined ? authenticator.authenticate(request) : tickets.redeem(ticket, context.req.param('id'))
  const principal = await login.catch(async (error: unknown) => {
    if (isUnauthenticated(error) && (ticket !== undefined || hasCredentials(request))) await rateLimits.countFailure(address)
    throw error
  })
  record.principal = principal
  const headers = await rateLimits.take(route.rate ?? (route.work ? 'work' : 'read'), principal)
  // Set on every later answer, including refusals.
  for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
  if (scope !== 'any' && !allows(principal, scope)) throw new ProblemError('scope-missing', `The scope ${scope} is needed.`)
  return principal
}

/** Returns true if the request has credentials. A request without them does not count as a failed login. */
function hasCredentials({ headers }: Request): boolean {
  return headers.has('authorization') || headers.has('cookie')
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'unauthenticated'
}

function toResponse(answer: Answer<unknown>): Response {
  if ('response' in answer) return withSafetyHeaders(answer.response)
  const { status, headers } = answer
  if ('stream' in answer) {
    return new Response(answer.stream.body, { status, headers: { ...safetyHeaders, ...streamHeaders, ...headers } })
  }
  if (!('body' in answer)) return new Response(null, { status, headers: { ...safetyHeaders, ...headers } })
  return new Response(encodeJson(answer.body as object), {
    status,
    headers: { ...safetyHeaders, 'content-type': 'application/json', ...headers },
  })
}

function withSafetyHeaders({ body, status, headers }: Response): Response {
  return new Response(body, { status, headers: { ...safetyHeaders, ...Object.fromEntries(headers) } })
}
