import type { ExecuteRequest, RunAhead, UserMessageInput } from '@bowline/client'
import type { RunInfo, Session } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { ProblemError } from '../problems.ts'
import { absence, checkAlive } from '../routes/owned-session.ts'
import type { Services } from '../services.ts'
import { derivedInputId, derivedSessionId, sessionKey } from '../session-keys.ts'
import { hasCode } from '../to-problem-error.ts'
import { checkOutputSchema } from './client-tools.ts'
import { runAheadOf, submitInput, type GivenTo } from './submit-input.ts'
import { agentOf, newSession } from './new-session.ts'
import { checkOnBusy } from './on-busy.ts'
import { runParamsOf } from './run-params.ts'

export interface Admitted {
  readonly sessionId: string
  readonly run: GivenTo
  /** Position before the run. If absent, the run is read from its first event. */
  readonly cursor?: string
  readonly behind?: RunAhead
}

type MessageRequest = Omit<ExecuteRequest, 'input'> & { readonly input: UserMessageInput }

const route = 'POST /api/agent/execute'

/** Sends a user message to a session. Creates the session if the request has a context. */
export async function admitMessage(
  services: Services,
  principal: Principal,
  request: MessageRequest,
  idempotencyKey: string | undefined,
  abortSignal: AbortSignal,
): Promise<Admitted> {
  const { options = {} } = request
  const sessionId = request.sessionId ?? (await newSessionId(services, principal, idempotencyKey))
  const inputId = idempotencyKey === undefined ? undefined : await derivedInputId(principal, route, idempotencyKey)
  const place = await placeOf(services, sessionKey(principal.tenant, sessionId), request, inputId)
  const { onBusy = 'reject' } = options
  if (options.onBusy) checkOnBusy(services, place.agent, onBusy)
  const access = services.agents[place.agent] ?? {}
  const runtimeParams = runParamsOf(access, options, place.isNew)
  await checkOutputSchema(access, options.output)
  const sendOptions = {
    onBusy,
    maxQueued: services.limits.queuedRunsPerSession,
    ...(inputId !== undefined && { id: inputId }),
    ...(runtimeParams && { runtimeParams }),
    ...(options.output && { output: options.output }),
  }
  const given = { message: request.input, inputId, abortSignal }
  const run = await submitInput(services, principal, place.session, given, (input) => place.session.send(input, sendOptions))
  const behind = runAheadOf(run, place)
  return {
    sessionId,
    run,
    ...(behind && { behind }),
    ...(run.accepted === 'queued' && place.cursor !== undefined && { cursor: place.cursor }),
  }
}

/** Session that gets the input. */
interface Place {
  readonly session: Session
  readonly agent: string
  /** True if this request creates the session, or if it is a retry of the request that created it. */
  readonly isNew: boolean
  readonly cursor?: string
  readonly openRun?: RunInfo
}

async function placeOf(services: Services, key: string, request: MessageRequest, inputId: string | undefined): Promise<Place> {
  const { context } = request
  const existing = services.runtime.session(key)
  const info = await existing.info()
  if (!info) {
    if (!context) throw await contextRequired(existing, request.sessionId)
    const agent = agentOf(services, context.agent)
    return { session: services.runtime.session(key, await newSession(services, agent, context)), agent: agent.name ?? '', isNew: true }
  }
  const { agent, cursor, openRun } = checkAlive(info)
  if (!context) return { session: existing, agent, cursor, isNew: false, ...(openRun && { openRun }) }
  if (await wasMadeBy(existing, inputId)) return { session: existing, agent, cursor, isNew: true }
  throw new ProblemError('session-exists', 'A context is for new sessions only: leave it out to go on with this one.')
}

async function newSessionId(services: Services, principal: Principal, idempotencyKey: string | undefined): Promise<string> {
  return idempotencyKey === undefined ? services.ids.next('session') : derivedSessionId(principal, idempotencyKey)
}

/** Returns true if this input is the first one of the session: the request is then a retry. */
async function wasMadeBy(session: Session, inputId: string | undefined): Promise<boolean> {
  if (inputId === undefined) return false
  for await (const event of session.events({ live: false })) {
    if (event.type === 'run-queued') return event.inputId === inputId
  }
  return false
}

/** Returns the refusal of a request without context. A deleted session is not silently created again. */
async function contextRequired(session: Session, sessionId: string | undefined): Promise<unknown> {
  const reason = await absence(session)
  if (hasCode(reason, 'session-deleted')) return reason
  const what = sessionId === undefined ? 'Without a sessionId a session is made' : 'There is no session with this id yet'
  return new ProblemError('context-required', `${what}: send a context; {} is enough.`)
}
