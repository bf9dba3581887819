import type { z } from '@hono/zod-openapi'
import type { Principal, Scope } from '../auth/principal.ts'
import type { AuditAction } from '../observe/audit.ts'
import type { ProblemCode, ProblemError } from '../problems.ts'
import type { Rate } from '../rate/rate-limits.ts'
import type { EventStream } from '../sse/event-stream.ts'
import type { ManagedBody } from '../sse/managed-body.ts'

/** Route as data: inputs, answers and access. The pipeline and the OpenAPI document use it. */
export interface Route<Query = unknown, Body = unknown, Reply = unknown> {
  readonly method: 'get' | 'post' | 'delete'
  /** Path with `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  /** Required scope. Absent: public. `any`: the caller must be known but needs no scope. */
  readonly scope?: Scope | 'any'
  /** True if `?ticket=` replaces the Authorization header. */
  readonly takesTicket?: true
  /** Decision that is audited. */
  readonly audit?: AuditAction
  /** True if the route starts work: a draining server refuses it. */
  readonly work?: true
  /** Rate limit of the route. Default: `work` if it starts work, else `read`. */
  readonly rate?: Rate
  readonly query?: z.ZodType<Query> & z.ZodObject
  readonly body?: z.ZodType<Body>
  readonly headers?: readonly RequestHeader[]
  readonly answers: readonly RouteAnswer<Reply>[]
  /** Problem codes in addition to those of all similar routes. */
  readonly problems?: readonly ProblemCode[]
  /**
   * Returns the text of a refusal for callers that show the body to people and do not ask for JSON. If absent, the body is always a
   * problem.
   */
  readonly refusalText?: (problem: ProblemError) => string
  handle(call: Call<Query, Body>): Promise<Answer<Reply>> | Answer<Reply>
}

export interface RequestHeader {
  readonly name: string
  readonly description: string
}

export interface RouteAnswer<Reply> {
  readonly status: 200 | 201 | 202 | 204 | 304 | 503
  readonly description: string
  /** Absent if there is no body, or if it is not JSON. */
  readonly schema?: z.ZodType<Reply>
  /** Media type of a body that is not JSON. */
  readonly mediaType?: string
}

export interface Call<Query, Body> {
  readonly request: Request
  readonly requestId: string
  readonly principal: Principal
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
}

type Headers = Readonly<Record<string, string>>

export type Answer<Reply> =
  | { readonly status: 200 | 201 | 202 | 503; readonly body: Reply; readonly headers?: Headers }
  | { readonly status: 204 | 304; readonly headers?: Headers }
  | { readonly status: 200; readonly stream: EventStream; readonly headers?: Headers; readonly audit?: AuditAction }
  /** Response that is passed on with the headers of every answer. `held` is its body if it counts as a stream. */
  | { readonly response: Response; readonly held?: ManagedBody }

/** Returns the route and infers the types of its handler from the schemas. */
export function defineRoute<Query, Body, Reply extends object>(route: Route<Query, Body, Reply>): Route {
  return route
}
