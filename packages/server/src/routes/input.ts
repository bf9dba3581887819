import type { OnBusy, RunHandle, Session } from '@bowline/sessions'
import type { UserMessageInput } from '@bowline/client'
import { runAheadOf, submitInput } from '../execute/submit-input.ts'
import { checkOnBusy } from '../execute/on-busy.ts'
import { takeFiles } from '../execute/take-files.ts'
import { userMessageOf } from '../execute/user-message.ts'
import type { Services } from '../services.ts'
import { derivedInputId } from '../session-keys.ts'
import { inputReceipt } from '../wire/answers.ts'
import { inputRequest, overlayRequest } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

interface InputOptions {
  readonly id?: string
  readonly maxQueued: number
}

interface InputKind {
  readonly path: string
  readonly summary: string
  /** Value of `onBusy` that the agent must allow to clients. */
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

export function overlayRoute(services: Services): Route {
  const path = '/api/agent/session/{id}/overlay'
  return defineRoute({
    method: 'post',
    path,
    summary: 'Show an input to the model in the next turns. It is stored in no message and starts nothing.',
    scope: 'sessions:write',
    rate: 'work',
    body: overlayRequest,
    answers: [{ status: 204, description: 'The input is durable.' }],
    problems: [
      'option-not-allowed',
      'url-not-allowed',
      'session-missing',
      'session-expired',
      'session-deleted',
      'entry-too-large',
      'id-reused',
      'invalid-input',
      'queue-full',
    ],
    async handle({ request, principal, params, body: { input, id, turns } }) {
      const { session, info } = await ownedSession(services, principal, params.id)
      // The open run sees it at once, like a steered input.
      checkOnBusy(services, info.agent, 'steer')
      const message = await takeFiles(services.download, userMessageOf(input), request.signal)
      await session.overlay(message, {
        ...(id !== undefined && { id: await derivedInputId(principal, path, id) }),
        ...(turns !== undefined && { turns }),
      })
      return { status: 204 }
    },
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
      const given = { message: userMessageOf(message), inputId, abortSignal: request.signal }
      const run = await submitInput(services, principal, session, given, (input) => give(session, input, options))
      const behind = runAheadOf(run, info)
      return { status: 202, body: { runId: run.runId, accepted: run.accepted, ...(behind && { behind }) } }
    },
  })
}
