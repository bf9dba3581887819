import type { Principal } from '../auth/principal.ts'
import type { ProblemError } from '../problems.ts'
import type { AuditAction } from '../observe/audit.ts'
import type { Route } from '../routes/route.ts'
import type { Caller } from './caller.ts'

/** Facts about a request, collected while it is handled. Refusals and observers use them. */
export interface RequestRecord {
  readonly requestId: string
  readonly startedAt: number
  readonly caller: Caller
  readonly request: Request
  route?: Route
  principal?: Principal
  /** Parameters of its path. */
  params?: Readonly<Record<string, string>>
  /** Body that its route received. */
  body?: unknown
  /** Audited decision, if only some requests of the route decide something. */
  decided?: AuditAction
  /** Problem with which it was refused. */
  problem?: ProblemError
}
