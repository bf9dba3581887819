import { z } from '@hono/zod-openapi'
import type { Services } from '../services.ts'
import { ticket } from '../wire/answers.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

export function ticketRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/ticket',
    summary: 'Get a ticket with which a reader that sends no headers may open one stream of events, within a minute.',
    scope: 'sessions:read',
    audit: 'ticket',
    body: z.strictObject({}),
    answers: [{ status: 201, description: 'For ?ticket= of the events of this session.', schema: ticket }],
    problems: ['session-missing'],
    async handle({ principal, params }) {
      const { sessionId } = await ownedSession(services, principal, params.id)
      return { status: 201, body: await services.tickets.create(principal, sessionId) }
    },
  })
}
