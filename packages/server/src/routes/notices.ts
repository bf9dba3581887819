import type { NoticeView } from '@bowline/client'
import type { NoticeRecord } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { noticeList, noticesQuery, noticeView } from '../wire/notices.ts'
import { ownHandle } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

const all = '/api/agent/session/{id}/notices'

/** Returns the routes of webhook notices of a session, which may have expired. */
export function noticeRoutes(services: Services): readonly Route[] {
  return [listRoute(services), resendRoute(services)]
}

function listRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: all,
    summary: 'List what webhooks were told of a session, are to be told, and could not be told; the newest first.',
    scope: 'sessions:read',
    query: noticesQuery,
    answers: [{ status: 200, description: 'One page. A session that is not there has none.', schema: noticeList }],
    problems: ['session-missing', 'invalid-cursor'],
    async handle({ principal, params, query: { cursor, ...query } }) {
      const { key } = ownHandle(services, principal, params.id)
      const page = await services.runtime.notices({ ...query, key, ...(cursor !== undefined && { page: cursor }) })
      return { status: 200, body: { notices: page.items.map(viewOf), ...(page.next !== undefined && { nextCursor: page.next }) } }
    },
  })
}

function resendRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: `${all}/{noticeId}/resend`,
    summary: 'Send a notice again that was delivered or has failed, under the same id. One that is pending stays as it is.',
    scope: 'admin',
    audit: 'resend',
    answers: [{ status: 200, description: 'The notice as it stands then.', schema: noticeView }],
    problems: ['session-missing', 'unknown-notice'],
    async handle({ principal, params }) {
      const { key } = ownHandle(services, principal, params.id)
      const notice = await services.runtime.resendNotice(key, params.noticeId ?? '')
      if (!notice) throw new ProblemError('unknown-notice', 'The session has no notice with this id.')
      return { status: 200, body: viewOf(notice) }
    },
  })
}

/** Removes the key of the session, which holds the tenant. */
function viewOf({ session: _key, queuedAt: _queued, body: { session: _named, ...body }, ...notice }: NoticeRecord): NoticeView {
  return { ...notice, body } as NoticeView
}
