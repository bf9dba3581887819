import type { OnBusy, RunHandle, Session } from '@bowline/sessions'
import type { UserMessageInput } from '@bowline/client'
import { giveInput } from '../execute/give-input.ts'
import { checkOnBusy } from '../execute/on-busy.ts'
import type { Services } from '../services.ts'
import { derivedInputId } from '../session-keys.ts'
import { inputReceipt } from '../wire/answers.ts'
import { inputRequest } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

interface InputOptions {
  readonly id?: string
  readonly maxQueued: number
}

interface InputKind {
  readonly path: string
  readonly summary: string
  /** What the agent must allow a client to ask for. */
  readonly onBusy: OnBusy
  readonly give: (session: Session, input: UserMessageInput, options: InputOptions) => Promise<RunHandle>
}

export function steerRoute(services: Services): Route {
  return inputRoute(services, {
    path: '/api/agent/session/{id}/steer',
    summary: 'Give an input to the open run, for its next model call; without one it starts a run.',
    onBusy: 'steer',
    give: (session, input, options) => session.steer(input, options),
  })
}

export function followUpRoute(services: Services): Route {
  return inputRoute(services, {
    path: '/api/agent/session/{id}/follow-up',
    summary: 'Give an input for a run right behind the open one, before those that wait.',
    onBusy: 'queue',
    give: (session, input, options) => session.followUp(input, options),
  })
}

function inputRoute(services: Services, { path, summary, onBusy, give }: InputKind): Route {
  return defineRoute({
    method: 'post',
    path,
    summary,
    scope: 'sessions:write',
    work: true,
    body: inputRequest,
    answers: [{ status: 202, description: 'The input is durable.', schema: inputReceipt }],
    problems: [
      'option-not-allowed',
      'url-not-allowed',
      'session-missing',
      'session-expired',
      'session-deleted',
      'entry-too-large',
      'id-reused',
      'invalid-input',
      'too-many-runs',
      'queue-full',
    ],
    async handle({ request, principal, params, body: { input: message, id } }) {
      const { session, info } = await ownedSession(services, principal, params.id)
      checkOnBusy(services, info.agent, onBusy)
      const inputId = id === undefined ? undefined : await derivedInputId(principal, path, id)
      const options = {
        maxQueued: services.limits.queuedRunsPerSession,
        ...(inputId !== undefined && { id: inputId }),
      }
      const given = { message, inputId, abortSignal: request.signal }
      const { runId, accepted } = await giveInput(services, principal, session, given, (input) => give(session, input, options))
      return { status: 202, body: { runId, accepted } }
    },
  })
}
