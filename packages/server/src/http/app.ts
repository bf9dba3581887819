import { Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import type { IdSource } from '@bowline/agent-loop'
import type { Clock, Redaction } from '@bowline/llm'
import { reportOf } from '../observe/report.ts'
import type { ComposedObserver } from '../observe/server-observer.ts'
import type { CorsOptions } from '../options.ts'
import { ProblemError } from '../problems.ts'
import type { Route } from '../routes/route.ts'
import { checkAccess, type AccessRules } from './access.ts'
import { callerOf, type Peer, type TrustedProxies } from './caller.ts'
import { carryOut, refuse, type Pipeline } from './pipeline.ts'
import { requestIdOf } from './request-id.ts'
import type { RequestRecord } from './request-record.ts'

export interface AppOptions {
  readonly routes: readonly Route[]
  readonly basePath: string
  readonly rules: AccessRules
  readonly trustedProxies: TrustedProxies
  readonly cors: CorsOptions | undefined
  readonly pipeline: Pipeline
  readonly clock: Clock
  readonly ids: IdSource
  readonly observer: ComposedObserver
  readonly redaction: Redaction
}

export interface AppEnv {
  readonly Bindings: { readonly peer: Peer | undefined }
  readonly Variables: { readonly record: RequestRecord }
}

export type App = Hono<AppEnv>

const maxPreflightAgeSeconds = 600
const maxUrlLength = 8 * 1024

/** Creates the router with the checks that all routes share. */
export function createApp(options: AppOptions): App {
  const { routes, basePath, rules, trustedProxies, pipeline, clock, ids, observer, redaction } = options
  const app: App = new Hono()
  app.onError((error, context) => refuse(error, context, redaction))
  app.notFound((context) => refuse(noRoute(), context, redaction))
  app.use(async (context, next) => {
    const request = context.req.raw
    const requestId = requestIdOf(request, ids)
    const caller = callerOf(request, context.env.peer, trustedProxies)
    const record: RequestRecord = { requestId, startedAt: clock.now(), caller, request }
    context.set('record', record)
    context.res.headers.set('x-request-id', requestId)
    const response = await observer.around(record, async () => {
      await next()
      return context.res
    })
    observer.requestEnded(reportOf(record, response, clock.now()))
  })
  app.use(async (context, next) => {
    checkLength(context.req.raw)
    checkAccess(context.req.raw, context.get('record').caller, rules)
    await next()
    // A HEAD request is answered by its GET route. Its body is not read.
    if (context.req.method === 'HEAD') await context.res.body?.cancel()
  })
  if (options.cors) app.use(corsFor(options.cors))
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) {
    const pattern = basePath + path.replaceAll(/\{(\w+)\}/g, ':$1')
    for (const route of methods) app.on(route.method.toUpperCase(), pattern, (context) => carryOut(route, context, pipeline))
    const allow = allowedMethods(methods)
    app.options(pattern, (context) => context.body(null, 204, { allow }))
    app.all(pattern, () => {
      throw new ProblemError('method-not-allowed', `This route takes ${allow}.`, { headers: { allow } })
    })
  }
  return app
}

/** Adds CORS headers. A request without an `Origin` does not come from a page and needs none. */
function corsFor({ origins, credentials = false }: CorsOptions): MiddlewareHandler {
  const handle = cors({
    origin: origins.includes('*') ? '*' : [...origins],
    credentials,
    allowMethods: ['GET', 'HEAD', 'POST', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'if-none-match', 'last-event-id', 'x-request-id'],
    exposeHeaders: [
      'etag',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-behind-run-id',
      'x-behind-status',
      'x-request-id',
      'x-run-id',
      'x-session-id',
    ],
    maxAge: maxPreflightAgeSeconds,
  })
  return (context, next) => (context.req.header('origin') === undefined ? next() : handle(context, next))
}

function checkLength({ url }: Request): void {
  if (url.length > maxUrlLength) throw new ProblemError('invalid-query', `The address has more than ${maxUrlLength} characters.`)
}

function noRoute(): ProblemError {
  return new ProblemError('route-not-found', 'See /openapi.json for the routes.')
}

function allowedMethods(routes: readonly Route[]): string {
  const names = routes.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
  return [...names, 'OPTIONS'].join(', ')
}
