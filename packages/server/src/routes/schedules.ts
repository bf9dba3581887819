import type { ScheduleView } from '@bowline/client'
import type { ScheduleInfo } from '@bowline/sessions'
import { checkOnBusy } from '../execute/on-busy.ts'
import { takeFiles } from '../execute/take-files.ts'
import { userMessageOf } from '../execute/user-message.ts'
import type { Services } from '../services.ts'
import { scheduleList, scheduleRequest, scheduleView } from '../wire/schedules.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

const all = '/api/agent/session/{id}/schedules'
const one = `${all}/{scheduleId}`
const absences = ['session-missing', 'session-expired', 'session-deleted'] as const

/** Returns the routes of schedules, which send inputs at the times of a rule. */
export function scheduleRoutes(services: Services): readonly Route[] {
  return [
    createRoute(services),
    listRoute(services),
    deleteRoute(services),
    changeRoute(services, 'pause'),
    changeRoute(services, 'resume'),
  ]
}

function createRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: all,
    summary: 'Send an input at the times of a rule, once per time, until the schedule is deleted.',
    scope: 'sessions:write',
    audit: 'schedule',
    work: true,
    body: scheduleRequest,
    answers: [
      { status: 201, description: 'The schedule. The same request under its id gives the one that is there.', schema: scheduleView },
    ],
    problems: [...absences, 'option-not-allowed', 'url-not-allowed', 'entry-too-large', 'id-reused', 'invalid-input'],
    async handle({ request, principal, params, body: { input, ...options } }) {
      const { session, info } = await ownedSession(services, principal, params.id)
      checkOnBusy(services, info.agent, 'queue')
      const schedule = await session.schedule({
        ...options,
        input: await takeFiles(services.download, userMessageOf(input), request.signal),
      })
      return { status: 201, body: viewOf(schedule) }
    },
  })
}

function listRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: all,
    summary: 'List the schedules of a session, in the order of their ids.',
    scope: 'sessions:read',
    answers: [{ status: 200, description: 'All of them: at most 100.', schema: scheduleList }],
    problems: absences,
    async handle({ principal, params }) {
      const { session } = await ownedSession(services, principal, params.id)
      return { status: 200, body: { schedules: (await session.schedules.list()).map(viewOf) } }
    },
  })
}

function deleteRoute(services: Services): Route {
  return defineRoute({
    method: 'delete',
    path: one,
    summary: 'Delete a schedule. Runs that it has started go on.',
    scope: 'sessions:write',
    audit: 'schedule',
    answers: [{ status: 204, description: 'There is no such schedule any more.' }],
    problems: absences,
    async handle({ principal, params }) {
      const { session } = await ownedSession(services, principal, params.id)
      await session.schedules.delete(params.scheduleId ?? '')
      return { status: 204 }
    },
  })
}

function changeRoute(services: Services, act: 'pause' | 'resume'): Route {
  return defineRoute({
    method: 'post',
    path: `${one}/${act}`,
    summary: act === 'pause' ? 'Send nothing until the schedule is resumed.' : 'Go on with the next time after now.',
    scope: 'sessions:write',
    answers: [{ status: 200, description: 'The schedule as it stands then.', schema: scheduleView }],
    problems: [...absences, 'unknown-schedule'],
    async handle({ principal, params }) {
      const { session } = await ownedSession(services, principal, params.id)
      return { status: 200, body: viewOf(await session.schedules[act](params.scheduleId ?? '')) }
    },
  })
}

/** Removes the key of the session, which holds the tenant, and fields that a client cannot set. */
function viewOf({ session: _key, runtimeParams: _params, ...schedule }: ScheduleInfo): ScheduleView {
  return schedule
}
