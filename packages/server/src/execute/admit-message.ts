import type { ExecuteRequest, UserMessageInput } from '@bowline/client'
import type { OnBusy, RunHandle, Session, SessionInfo } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { derivedInputId, derivedSessionId, sessionKey } from '../session-keys.ts'
import { logStart } from '../log-start.ts'
import { checkParts } from './check-parts.ts'

export interface Admitted {
  readonly sessionId: string
  readonly run: RunHandle
  /** The position before the run; a run that was there before is read from its first event. */
  readonly cursor?: string
}

type MessageRequest = Omit<ExecuteRequest, 'input'> & { readonly input: UserMessageInput }

const route = 'POST /api/agent/execute'

/** Takes a user message into a session, which comes into being here when the request brings a context. */
export async function admitMessage(
  services: Services,
  principal: Principal,
  request: MessageRequest,
  idempotencyKey: string | undefined,
): Promise<Admitted> {
  const { input, context, options = {} } = request
  if (typeof input.content !== 'string') checkParts(input.content)
  const sessionId = request.sessionId ?? (await newSessionId(services, principal, idempotencyKey))
  const key = sessionKey(principal.tenant, sessionId)
  const existing = services.runtime.session(key)
  const info = await existing.info()
  const inputId = idempotencyKey === undefined ? undefined : await derivedInputId(principal, route, idempotencyKey)
  if (!info && !context) throw contextRequired(request.sessionId)
  if (info && context && !(await wasMadeBy(existing, inputId))) {
    throw new ProblemError('session-exists', 'A context is for new sessions only: leave it out to go on with this one.')
  }
  checkOnBusy(services, info?.agent ?? context?.agent ?? services.defaultAgent, options.onBusy)
  const onBusy = options.onBusy ?? 'reject'
  if (onBusy === 'queue' && info) checkQueue(services, info)
  const session = context ? services.runtime.session(key, creation(services, context)) : existing
  const run = await session.send(input, { onBusy, ...(inputId !== undefined && { id: inputId }) })
  return { sessionId, run, ...(run.accepted === 'queued' && { cursor: info?.cursor ?? logStart }) }
}

async function newSessionId(services: Services, principal: Principal, idempotencyKey: string | undefined): Promise<string> {
  return idempotencyKey === undefined ? services.ids.next('session') : derivedSessionId(principal, idempotencyKey)
}

function creation(services: Services, context: NonNullable<ExecuteRequest['context']>) {
  const agent = context.agent ?? services.defaultAgent
  return { ...(agent !== undefined && { agent }), ...(context.metadata && { metadata: context.metadata }) }
}

/** True when the first input of the session is this one: the request that made the session is here again. */
async function wasMadeBy(session: Session, inputId: string | undefined): Promise<boolean> {
  if (inputId === undefined) return false
  for await (const event of session.events({ live: false })) {
    if (event.type === 'run-queued') return event.inputId === inputId
  }
  return false
}

function contextRequired(sessionId: string | undefined): ProblemError {
  const what = sessionId === undefined ? 'Without a sessionId a session is made' : 'There is no session of that id yet'
  return new ProblemError('context-required', `${what}: send a context; {} is enough.`)
}

function checkOnBusy(services: Services, agent: string | undefined, onBusy: OnBusy | undefined): void {
  const allowed = agent === undefined ? undefined : services.agents[agent]?.onBusy
  if (onBusy !== undefined && allowed && !allowed.includes(onBusy)) {
    throw new ProblemError('option-not-allowed', `The agent does not allow onBusy "${onBusy}".`)
  }
}

function checkQueue({ limits }: Services, { queued }: SessionInfo): void {
  if (queued >= limits.queuedRunsPerSession) {
    throw new ProblemError('queue-full', `At most ${limits.queuedRunsPerSession} inputs may wait in a session.`)
  }
}
