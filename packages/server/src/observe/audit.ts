import type { ProblemCode } from '../problems.ts'
import type { Logger } from '../options.ts'
import type { RequestReport, ServerObserver } from './server-observer.ts'

/** Kind of an audited decision. Routes have their own; refusals of access and uses of a token may happen on any route. */
export type AuditAction = 'stop' | 'approval' | 'resolve' | 'recover' | 'delete' | 'fork' | 'schedule' | 'resend' | 'ticket' | 'token' | 'refusal'

/** One audited decision: caller, action, target and outcome. */
export interface AuditRecord {
  readonly action: AuditAction
  /** The caller. Absent for an unknown one. */
  readonly principal?: { readonly id: string; readonly tenant: string }
  /** The route with the ids of its path. */
  readonly target: Readonly<Record<string, string>>
  /** `done`, or the code of the refusal. */
  readonly result: 'done' | ProblemCode
  readonly requestId: string
  /** Epoch milliseconds. */
  readonly at: number
}

/** Gives one record for each request that decided something. */
export function auditObserver(onAudit: (record: AuditRecord) => void): ServerObserver {
  return {
    requestEnded(report) {
      const action = actionOf(report)
      if (action) onAudit(recordOf(action, report))
    },
  }
}

/** The line of a request tells already who used a token, where, and with what result. */
export function logAudit(logger: Logger): (record: AuditRecord) => void {
  return (record) => {
    if (record.action !== 'token') logger.info({ ...record }, 'audit')
  }
}

function actionOf({ record, status }: RequestReport): AuditAction | undefined {
  const { route, principal, problem } = record
  const refused = status === 401 || status === 403 || problem?.code === 'auth-unavailable'
  // Who was not let in has decided nothing.
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
