import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { statusOf, type ProblemCode } from '../problems.ts'
import type { Route } from '../routes/route.ts'
import { problem } from '../wire/answers.ts'

type RouteConfig = Parameters<typeof createRoute>[0]
type Responses = RouteConfig['responses']

const everywhere: readonly ProblemCode[] = ['invalid-query', 'host-not-allowed', 'origin-not-allowed', 'internal']
const withCaller: readonly ProblemCode[] = ['unauthenticated', 'rate-limited', 'auth-unavailable']
const withStore: readonly ProblemCode[] = ['store-unavailable', 'store-full', 'store-corrupt']
const withBody: readonly ProblemCode[] = ['invalid-body', 'body-too-large', 'unsupported-media-type']

/** Returns all problem codes of a route. */
function problemsOf(route: Route): readonly ProblemCode[] {
  return [
    ...everywhere,
    ...(route.scope ? [...withCaller, ...withStore] : []),
    ...(route.scope && route.scope !== 'any' ? (['scope-missing'] as const) : []),
    ...(route.work ? (['draining'] as const) : []),
    ...(route.body ? withBody : []),
    ...(route.problems ?? []),
  ]
}

/** Returns the OpenAPI document, made from the schemas that validate. */
export function describeRoutes(routes: readonly Route[], basePath: string): object {
  const app = new OpenAPIHono()
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' })
  for (const route of routes) app.openAPIRegistry.registerPath(createRoute(configOf(route, basePath)))
  return app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: 'Bowline', version: '1' } })
}

function configOf(route: Route, basePath: string): RouteConfig {
  const { method, path, summary, scope, query, body, headers } = route
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  return {
    method,
    path: basePath + path,
    summary,
    operationId: `${method} ${path}`,
    ...(scope && {
      security: [{ bearer: [] }],
      description: scope === 'any' ? 'Needs credentials, and no scope.' : `Needs the scope \`${scope}\`.`,
    }),
    request: {
      ...(names.length > 0 && { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
      ...(query && { query }),
      ...(headers && {
        headers: headers.map(({ name, description }) =>
          z
            .string()
            .optional()
            .openapi({ param: { name, in: 'header' }, description }),
        ),
      }),
      ...(body && { body: { required: true, content: { 'application/json': { schema: body } } } }),
    },
    responses: { ...answersOf(route), ...refusalsOf(route) },
  }
}

function answersOf({ answers }: Route): Responses {
  const responses: Responses = {}
  for (const { status, description, schema, mediaType } of answers) {
    responses[status] = {
      description,
      ...(schema && { content: { 'application/json': { schema } } }),
      ...(mediaType !== undefined && { content: { [mediaType]: { schema: z.string() } } }),
    }
  }
  return responses
}

function refusalsOf(route: Route): Responses {
  const codes = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(route)) codes.set(statusOf(code), [...(codes.get(statusOf(code)) ?? []), code])
  const answered = new Set<number>(route.answers.map((answer) => answer.status))
  const refusals = [...codes].filter(([status]) => !answered.has(status))
  return Object.fromEntries(
    refusals.map(([status, each]) => [
      status,
      {
        description: each.join(', '),
        content: { 'application/problem+json': { schema: problem }, ...(route.refusalText && { 'text/plain': { schema: z.string() } }) },
      },
    ]),
  )
}
