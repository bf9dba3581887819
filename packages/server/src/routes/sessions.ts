import { z } from '@hono/zod-openapi'
import type { SessionSummary, SessionView } from '@bowline/client'
import type { SessionInfo } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import type { Services } from '../services.ts'
import { keyPrefix, sessionIdOf } from '../session-keys.ts'
import { sessionList, sessionView } from '../wire/answers.ts'
import { ownedSession, type OwnedSession } from './owned-session.ts'
import { optional } from '../wire/optional.ts'
import { defineRoute, type Route } from './route.ts'

const defaultMessages = 200
const maxMessages = 500
const defaultSessions = 50
const maxSessions = 200
const maxLooks = 5

const readQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxMessages).default(defaultMessages),
  before: optional(z.string().min(1).max(256)),
})

const listQuery = z.strictObject({
  agent: optional(z.string().min(1).max(256)),
  status: optional(z.enum(['active', 'busy', 'idle', 'failed', 'expired'])),
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
    query: readQuery,
    headers: [{ name: 'If-None-Match', description: 'The ETag of an earlier answer.' }],
    answers: [
      { status: 200, description: 'The session as it stands; the ETag is its cursor.', schema: sessionView },
      { status: 304, description: 'Nothing happened since.' },
    ],
    problems: ['session-missing', 'unknown-entry'],
    async handle({ request, principal, params, query }) {
      const owned = await ownedSession(services, principal, params.id)
      if (namesTag(request.headers.get('if-none-match'), etagOf(owned.info.cursor))) {
        return { status: 304, headers: { etag: etagOf(owned.info.cursor) } }
      }
      const view = await viewOf(owned, query)
      return { status: 200, body: view, headers: { etag: etagOf(view.cursor) } }
    },
  })
}

export function listSessionsRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/sessions',
    summary: 'List the sessions of the tenant, newest update first.',
    scope: 'sessions:read',
    query: listQuery,
    answers: [{ status: 200, description: 'One page of sessions, without messages.', schema: sessionList }],
    problems: ['invalid-cursor'],
    async handle({ principal, query: { cursor, ...query } }) {
      const page = await services.runtime.sessions({
        ...query,
        keyPrefix: keyPrefix(principal.tenant),
        ...(cursor !== undefined && { page: cursor }),
      })
      const sessions = page.items.map((info) => summaryOf(info, principal))
      return { status: 200, body: { sessions, ...(page.next !== undefined && { nextCursor: page.next }) } }
    },
  })
}

/** Session and messages are two reads: they are one view when nothing happened between them. */
async function viewOf(
  { session, sessionId, info: found }: OwnedSession,
  page: { readonly limit: number; readonly before?: string },
): Promise<SessionView> {
  let info = found
  for (let look = 1; ; look++) {
    const { items, next, cursor } = await session.messages(page)
    if (cursor === info.cursor || look === maxLooks) {
      const { openRun, agent, status, usage, metadata, createdAt, activeAt } = info
      return {
        sessionId,
        agent,
        status,
        messages: items,
        hasMore: next !== undefined,
        pendingToolCalls: openRun?.pendingToolCalls ?? [],
        pendingApprovals: openRun?.pendingApprovals ?? [],
        ...(openRun && { run: { runId: openRun.runId, status: openRun.status, attempts: openRun.attempts } }),
        usage,
        cursor,
        createdAt,
        updatedAt: activeAt,
        metadata,
      }
    }
    info = (await session.info()) ?? info
  }
}

function summaryOf(info: SessionInfo, principal: Principal): SessionSummary {
  const { key, agent, status, createdAt, activeAt, metadata } = info
  return { sessionId: sessionIdOf(principal.tenant, key), agent, status, createdAt, updatedAt: activeAt, metadata }
}

function etagOf(cursor: string): string {
  return `"${cursor}"`
}

function namesTag(header: string | null, etag: string): boolean {
  return header?.split(',').some((tag) => [etag, '*'].includes(tag.trim().replace(/^W\//, ''))) ?? false
}
