import type { Context as HonoContext } from 'hono'
import { allows, type Principal, type Scope } from '../auth/principal.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import { encodeJson } from '../json.ts'
import type { Limits } from '../limits.ts'
import type { Logger } from '../options.ts'
import { problemBody, ProblemError, statusOf } from '../problems.ts'
import type { RateLimits } from '../rate/rate-limits.ts'
import type { Answer, Route } from '../routes/route.ts'
import { streamHeaders } from '../sse/frames.ts'
import { toProblemError } from '../to-problem-error.ts'
import type { AppEnv } from './app.ts'
import { readJsonBody } from './request-body.ts'
import { validate } from './validate.ts'

export interface Pipeline {
  readonly authenticate: Authenticate
  readonly rateLimits: RateLimits
  readonly limits: Required<Limits>
  readonly isDraining: () => boolean
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
  context.get('record').route = route
  try {
    return await answer(route, context, pipeline)
  } catch (error) {
    // The router takes care of errors only, and libraries throw other things too.
    throw toProblemError(error)
  }
}

/** One request of one route: who asks, may they, is it well-formed; then the route itself. */
async function answer(route: Route, context: Context, pipeline: Pipeline): Promise<Response> {
  const request = context.req.raw
  const record = context.get('record')
  const principal = route.scope ? await authorize(route, route.scope, context, pipeline) : nobody
  if (route.work && pipeline.isDraining()) throw new ProblemError('draining', 'Send it again: another process takes it.')
  const query = route.query ? validate(route.query, context.req.query(), 'invalid-query') : undefined
  const body = route.body ? validate(route.body, await readJsonBody(request, pipeline.limits), 'invalid-body') : undefined
  const { requestId } = record
  return toResponse(await route.handle({ request, requestId, principal, params: context.req.param(), query, body }))
}

/** The one form of every refusal and failure. Failures of ours are logged, without what was said. */
export function refuse(error: unknown, context: Context, logger: Logger): Response {
  const problem = toProblemError(error)
  const record = context.get('record')
  const { requestId } = record
  record.problem = problem
  const status = statusOf(problem.code)
  if (status >= 500 && problem.code !== 'draining') logger.error({ requestId, ...faultOf(problem.cause) }, problem.code)
  const { retryAfterMs } = problem
  return new Response(encodeJson(problemBody(problem, { path: context.req.path, id: requestId })), {
    status,
    headers: {
      ...safetyHeaders,
      'content-type': 'application/problem+json',
      ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / msPerSecond)) }),
      ...problem.headers,
    },
  })
}

/** What a fault was and where, for a log: messages of errors may hold content. */
export function faultOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = (error as { readonly code?: unknown }).code
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return { name: error.name, ...(typeof code === 'string' && { code }), at: frames?.slice(0, 5).map((line) => line.trim()) }
}

/** Who asks, whether that is too often, and whether they may. */
async function authorize(route: Route, scope: Scope, context: Context, { authenticate, rateLimits }: Pipeline): Promise<Principal> {
  const request = context.req.raw
  const record = context.get('record')
  const { address } = record.caller
  await rateLimits.checkAddress(address)
  const principal = await authenticate(request).catch(async (error: unknown) => {
    if (isFailedLogin(error, request)) await rateLimits.countFailure(address)
    throw error
  })
  record.principal = principal
  const headers = await rateLimits.take(route.rate ?? (route.work ? 'work' : 'read'), principal)
  // On every answer from here on, also on refusals.
  for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
  if (!allows(principal, scope)) throw new ProblemError('scope-missing', `The scope ${scope} is needed.`)
  return principal
}

/** Whoever says nothing of who they are has not tried to log in. */
function isFailedLogin(error: unknown, { headers }: Request): boolean {
  const tried = headers.has('authorization') || headers.has('cookie')
  return tried && error instanceof ProblemError && error.code === 'unauthenticated'
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
