import { z } from '@hono/zod-openapi'
import type { Session } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { sessionKey } from '../session-keys.ts'
import { hasCode } from '../to-problem-error.ts'
import { branchList, compactionResult, labelList, sessionView } from '../wire/answers.ts'
import { optional } from '../wire/optional.ts'
import { compactRequest, forkRequest, labelRequest, switchRequest } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'
import { viewOf } from './session-view.ts'

const defaultBranches = 50
const maxBranches = 200

const branchQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxBranches).default(defaultBranches),
  cursor: optional(z.string().min(1).max(1024)),
})

const labelQuery = z.strictObject({ leaf: optional(z.string().min(1).max(256)) })

export function forkRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/fork',
    summary: 'Make a session of its own with a copy of the path to an entry.',
    scope: 'sessions:write',
    audit: 'fork',
    work: true,
    body: forkRequest,
    answers: [{ status: 201, description: 'The copy, complete.', schema: sessionView }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-entry', 'busy', 'session-exists', 'invalid-input'],
    async handle({ principal, params, body: { entryId, newSessionId } }) {
      const { session } = await ownedSession(services, principal, params.id)
      const sessionId = newSessionId ?? services.ids.next('session')
      const key = sessionKey(principal.tenant, sessionId)
      // Otherwise an open run of the existing session would be reported as one of the copied session.
      if (await services.runtime.session(key).info()) throw sessionExists()
      await forkTo(session, { key, ...(entryId !== undefined && { entryId }) })
      const made = await ownedSession(services, principal, sessionId)
      return { status: 201, body: await viewOf(services, principal, made) }
    },
  })
}

async function forkTo(session: Session, options: { readonly key: string; readonly entryId?: string }): Promise<void> {
  try {
    await session.fork(options)
  } catch (error) {
    throw hasCode(error, 'conflict') ? sessionExists() : error
  }
}

export function switchRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/switch',
    summary: 'Go on at another entry; nothing is deleted. With `summarize` a summary of what is left stands behind the target.',
    scope: 'sessions:write',
    work: true,
    body: switchRequest,
    answers: [{ status: 200, description: 'The session as it stands then.', schema: sessionView }],
    problems: [
      'session-missing',
      'session-expired',
      'session-deleted',
      'unknown-entry',
      'unknown-agent',
      'busy',
      'invalid-input',
      'summary-failed',
      'too-many-runs',
    ],
    async handle({ principal, params, body: { entryId, ...options } }) {
      const owned = await ownedSession(services, principal, params.id)
      const { session } = owned
      const go = async () => session.switchTo(entryId, options)
      const info = await (options.summarize ? services.runningRuns.within(principal.tenant, session.key, go) : go())
      return { status: 200, body: await viewOf(services, principal, { ...owned, info }) }
    },
  })
}

export function branchesRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/session/{id}/branches',
    summary: 'List the ends of all paths, in the order in which they came into being.',
    scope: 'sessions:read',
    query: branchQuery,
    answers: [{ status: 200, description: 'One page of branches.', schema: branchList }],
    problems: ['invalid-cursor', 'session-missing', 'session-expired', 'session-deleted'],
    async handle({ principal, params, query: { limit, cursor } }) {
      const { session } = await ownedSession(services, principal, params.id)
      const { items: branches, next } = await session.branches({ limit, ...(cursor !== undefined && { page: cursor }) })
      return { status: 200, body: { branches, ...(next !== undefined && { nextCursor: next }) } }
    },
  })
}

export function labelRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/labels',
    summary: 'Name an entry of the active path; null takes the name away.',
    scope: 'sessions:write',
    body: labelRequest,
    answers: [{ status: 204, description: 'The name is stored.' }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-entry', 'busy', 'invalid-input'],
    async handle({ principal, params, body: { entryId, text } }) {
      const { session } = await ownedSession(services, principal, params.id)
      await session.label(entryId, text)
      return { status: 204 }
    },
  })
}

export function labelsRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/session/{id}/labels',
    summary: 'List the names on the active path, or on the one to `leaf`, in the order in which they were given.',
    scope: 'sessions:read',
    query: labelQuery,
    answers: [{ status: 200, description: 'All names.', schema: labelList }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-entry'],
    async handle({ principal, params, query }) {
      const { session } = await ownedSession(services, principal, params.id)
      return { status: 200, body: { labels: await session.labels(query) } }
    },
  })
}

export function compactRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/compact',
    summary: 'Have the older part of the active path summarised for the model; all of it stays readable.',
    scope: 'sessions:write',
    work: true,
    body: compactRequest,
    answers: [{ status: 200, description: 'What came of it.', schema: compactionResult }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-agent', 'busy', 'too-many-runs'],
    async handle({ principal, params, body }) {
      const { session } = await ownedSession(services, principal, params.id)
      const compact = async () => session.compact(body)
      return { status: 200, body: await services.runningRuns.within(principal.tenant, session.key, compact) }
    },
  })
}

function sessionExists(): ProblemError {
  return new ProblemError('session-exists', 'A session with this id already exists. Choose another id.')
}
