import type { Principal } from '../auth/principal.ts'
import type { ProblemError } from '../problems.ts'
import type { AuditAction } from '../observe/audit.ts'
import type { Route } from '../routes/route.ts'
import type { Caller } from './caller.ts'

/** What becomes known of a request on its way: for refusals, and for those who look on. */
export interface RequestRecord {
  readonly requestId: string
  readonly startedAt: number
  readonly caller: Caller
  readonly request: Request
  route?: Route
  principal?: Principal
  /** What its path names. */
  params?: Readonly<Record<string, string>>
  /** As its route takes it. */
  body?: unknown
  /** What it decided, when its route does not say so of every request. */
  decided?: AuditAction
  /** What it was refused with. */
  problem?: ProblemError
}
