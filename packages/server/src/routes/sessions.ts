import { z } from '@hono/zod-openapi'
import type { Session } from '@bowline/sessions'
import type { Services } from '../services.ts'
import { isReadableId, keyPrefix, sessionKey } from '../session-keys.ts'
import { hasCode } from '../to-problem-error.ts'
import { sessionList, sessionView, status } from '../wire/answers.ts'
import { optional } from '../wire/optional.ts'
import { messagesQuery } from '../wire/session-requests.ts'
import { ownHandle, readableSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'
import { summaryOf, viewOf } from './session-view.ts'

const defaultSessions = 50
const maxSessions = 200

const listQuery = z.strictObject({
  agent: optional(z.string().min(1).max(256)),
  status: optional(status),
  expired: optional(z.enum(['true', 'false'])),
  parent: optional(z.string().refine(isReadableId, 'This is not a session id.')),
  limit: z.coerce.number().int().min(1).max(maxSessions).default(defaultSessions),
  cursor: optional(z.string().min(1).max(1024)),
})

export function readSessionRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/session/{id}',
    summary: 'Read a session: its messages, newest page first, and what it waits for.',
    scope: 'sessions:read',
    rate: 'control',
    query: messagesQuery,
    headers: [{ name: 'If-None-Match', description: 'The ETag of an earlier answer.' }],
    answers: [
      { status: 200, description: 'The session as it stands; the ETag is its cursor.', schema: sessionView },
      { status: 304, description: 'Nothing happened since.' },
    ],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-entry'],
    async handle({ request, principal, params, query }) {
      const readable = await readableSession(services, principal, params.id)
      const etag = etagOf(readable.info.cursor)
      if (namesTag(request.headers.get('if-none-match'), etag)) return { status: 304, headers: { etag } }
      const view = await viewOf(services, principal, readable, query)
      return { status: 200, body: view, headers: { etag: etagOf(view.cursor) } }
    },
  })
}

export function listSessionsRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/sessions',
    summary: 'List the sessions of the tenant, newest update first: those that are no child, or the children of one.',
    scope: 'sessions:read',
    query: listQuery,
    answers: [{ status: 200, description: 'One page of sessions, without messages.', schema: sessionList }],
    problems: ['invalid-cursor'],
    async handle({ principal, query: { cursor, parent, status: word, expired, ...query } }) {
      const { tenant } = principal
      const page = await services.runtime.sessions({
        ...query,
        ...(word && { status: [word] }),
        ...(expired && { expired: expired === 'true' }),
        keyPrefix: keyPrefix(tenant),
        parent: parent === undefined ? null : sessionKey(tenant, parent),
        ...(cursor !== undefined && { page: cursor }),
      })
      const sessions = page.items.map((info) => summaryOf(info, principal))
      return { status: 200, body: { sessions, ...(page.next !== undefined && { nextCursor: page.next }) } }
    },
  })
}

export function deleteSessionRoute(services: Services): Route {
  return defineRoute({
    method: 'delete',
    path: '/api/agent/session/{id}',
    summary: 'Delete a session with all that it holds, its children too. An open run is stopped first.',
    scope: 'sessions:delete',
    audit: 'delete',
    answers: [{ status: 204, description: 'There is no such session any more.' }],
    problems: ['session-missing'],
    async handle({ principal, params }) {
      const session = ownHandle(services, principal, params.id)
      await stopAll(session)
      await session.delete()
      // A new session with the same id starts its plan from the beginning.
      await services.orchestration?.removeState(session.key)
      return { status: 204 }
    },
  })
}

/** Stops all runs, so that running calls can settle. */
async function stopAll(session: Session): Promise<void> {
  try {
    await session.stop({ scope: 'all' })
  } catch (error) {
    // Another request deletes it at the same time.
    if (!hasCode(error, 'session-deleted')) throw error
  }
}

function etagOf(cursor: string): string {
  return `"${cursor}"`
}

function namesTag(header: string | null, etag: string): boolean {
  return header?.split(',').some((tag) => [etag, '*'].includes(tag.trim().replace(/^W\//, ''))) ?? false
}
