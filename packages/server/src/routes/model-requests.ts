import type { RequestRecorder } from '@bowline/sessions/requests'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { requestList, requestsQuery, requestView } from '../wire/model-requests.ts'
import { readableSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

const all = '/api/agent/session/{id}/requests'

/**
 * Returns the routes of recorded requests. They have their own scope: prompts may hold content that readers of a conversation may
 * not see.
 */
export function modelRequestRoutes(services: Services, recorder: Pick<RequestRecorder, 'list' | 'get'>): readonly Route[] {
  return [listRoute(services, recorder), readRoute(services, recorder)]
}

function listRoute(services: Services, recorder: Pick<RequestRecorder, 'list'>): Route {
  return defineRoute({
    method: 'get',
    path: all,
    summary: 'List the calls of models in a session, as far as they were recorded; the newest first, without content.',
    scope: 'requests:read',
    query: requestsQuery,
    answers: [{ status: 200, description: 'One page.', schema: requestList }],
    problems: ['session-missing', 'session-deleted', 'session-expired', 'invalid-cursor'],
    async handle({ principal, params, query: { cursor, limit } }) {
      const { session } = await readableSession(services, principal, params.id)
      const page = await recorder.list(session.key, { limit, ...(cursor !== undefined && { page: cursor }) })
      return { status: 200, body: { requests: page.items, ...(page.next !== undefined && { nextCursor: page.next }) } }
    },
  })
}

function readRoute(services: Services, recorder: Pick<RequestRecorder, 'get'>): Route {
  return defineRoute({
    method: 'get',
    path: `${all}/{requestId}`,
    summary: 'What a model was sent in one call: the prompt after all repairs, the tools and the settings.',
    scope: 'requests:read',
    answers: [{ status: 200, description: 'The request.', schema: requestView }],
    problems: ['session-missing', 'session-deleted', 'session-expired', 'unknown-request'],
    async handle({ principal, params }) {
      const { session } = await readableSession(services, principal, params.id)
      const request = await recorder.get(session.key, params.requestId ?? '')
      if (!request)
        throw new ProblemError('unknown-request', 'The session has no recorded request with this id: it was not recorded, or was removed.')
      return { status: 200, body: request }
    },
  })
}
