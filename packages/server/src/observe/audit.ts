import type { ProblemCode } from '../problems.ts'
import type { Logger } from '../options.ts'
import type { RequestReport, ServerObserver } from './server-observer.ts'

/** Kind of an audited decision. Most belong to a route; refused access and uses of a token can happen on any route. */
export type AuditAction =
  | 'stop'
  | 'approval'
  | 'resolve'
  | 'recover'
  | 'delete'
  | 'fork'
  | 'schedule'
  | 'resend'
  | 'ticket'
  | 'token'
  | 'refusal'

/** One audited decision: caller, action, target and outcome. */
export interface AuditRecord {
  readonly action: AuditAction
  /** Caller. Absent if unknown. */
  readonly principal?: { readonly id: string; readonly tenant: string }
  /** Route and the ids of its path. */
  readonly target: Readonly<Record<string, string>>
  /** `done`, or the code of the refusal. */
  readonly result: 'done' | ProblemCode
  readonly requestId: string
  /** End time of the request in epoch milliseconds. */
  readonly at: number
}

/** Reports one record for each request that decided something. */
export function auditObserver(onAudit: (record: AuditRecord) => void): ServerObserver {
  return {
    requestEnded(report) {
      const action = actionOf(report)
      if (action) onAudit(recordOf(action, report))
    },
  }
}

/** Logs audit records. Uses of a token are left out: the line of the request already holds them. */
export function logAudit(logger: Logger): (record: AuditRecord) => void {
  return (record) => {
    if (record.action !== 'token') logger.info({ ...record }, 'audit')
  }
}

function actionOf({ record, status }: RequestReport): AuditAction | undefined {
  const { route, principal, problem } = record
  const refused = status === 401 || status === 403 || problem?.code === 'auth-unavailable'
  // A caller that was refused has decided nothing.
  const decided = record.decided ?? route?.audit
  if (decided && principal) return decided
  if (refused) return 'refusal'
  return route?.scope && principal ? 'token' : undefined
}

function recordOf(action: AuditAction, { record, route, durationMs, sessionId, runId }: RequestReport): AuditRecord {
  const { principal, problem, params, requestId, startedAt } = record
  const { id: _id, ...named } = params ?? {}
  return {
    action,
    ...(principal && principal.id !== '' && { principal: { id: principal.id, tenant: principal.tenant } }),
    target: {
      ...(route !== undefined && { route }),
      ...named,
      ...(sessionId !== undefined && { sessionId }),
      ...(runId !== undefined && { runId }),
    },
    result: problem?.code ?? 'done',
    requestId,
    at: startedAt + durationMs,
  }
}
