import type { Services } from '../services.ts'
import { approvalReceipt } from '../wire/answers.ts'
import { approvalAnswer } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

export function approvalRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/approvals/{approvalId}',
    summary: 'Decide whether a call may run: as it was asked, with other input, or not at all.',
    scope: 'approvals',
    audit: 'approval',
    work: true,
    rate: 'control',
    body: approvalAnswer,
    answers: [{ status: 200, description: 'The decision is durable.', schema: approvalReceipt }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-approval', 'approval-conflict', 'invalid-input'],
    async handle({ principal, params: { id, approvalId = '' }, body: { decision, ...given } }) {
      const { session } = await ownedSession(services, principal, id)
      const options = { ...given, by: principal.id }
      const { run: _, ...receipt } = await (decision === 'approve'
        ? session.approve(approvalId, options)
        : session.deny(approvalId, options))
      return { status: 200, body: receipt }
    },
  })
}
