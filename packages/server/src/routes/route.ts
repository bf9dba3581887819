import type { z } from '@hono/zod-openapi'
import type { Principal, Scope } from '../auth/principal.ts'
import type { AuditAction } from '../observe/audit.ts'
import type { ProblemCode, ProblemError } from '../problems.ts'
import type { Rate } from '../rate/rate-limits.ts'
import type { EventStream } from '../sse/event-stream.ts'
import type { HeldBody } from '../sse/held-body.ts'

/** A route as data: what it takes, what it answers, who may call it. The pipeline and the OpenAPI document read it. */
export interface Route<Query = unknown, Body = unknown, Reply = unknown> {
  readonly method: 'get' | 'post' | 'delete'
  /** With `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  /** Absent: public. `any`: the caller must be known, and needs no scope. */
  readonly scope?: Scope | 'any'
  /** Without an Authorization header a ticket in `?ticket=` is as good. */
  readonly takesTicket?: true
  /** What it decides. */
  readonly audit?: AuditAction
  /** It starts work, so a server that goes away refuses it. */
  readonly work?: true
  /** What it is counted as. Default: `work` if it is that, else `read`. */
  readonly rate?: Rate
  readonly query?: z.ZodType<Query> & z.ZodObject
  readonly body?: z.ZodType<Body>
  readonly headers?: readonly RequestHeader[]
  readonly answers: readonly RouteAnswer<Reply>[]
  /** What it refuses with besides what every route like it does. */
  readonly problems?: readonly ProblemCode[]
  /** The text of a refusal, for callers that show the body to people and do not ask for JSON. Absent: problems only. */
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
  /** Absent: no body, or one that is no JSON. */
  readonly schema?: z.ZodType<Reply>
  /** The media type of a body that is no JSON. */
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
  /** A body of another form. It gets the headers that every answer has. `held`: its body, where that is one of the streams. */
  | { readonly response: Response; readonly held?: HeldBody }

/** Lets the schemas of a route say what its handler gets. */
export function defineRoute<Query, Body, Reply extends object>(route: Route<Query, Body, Reply>): Route {
  return route
}
