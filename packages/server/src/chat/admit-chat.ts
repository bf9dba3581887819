import { isEnded } from '@bowline/agent-loop/events'
import type { UserMessageInput } from '@bowline/client'
import type { RunHandle, RunInfo, Session } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { submitInput } from '../execute/submit-input.ts'
import { takeFiles } from '../execute/take-files.ts'
import { faulty, ProblemError } from '../problems.ts'
import { absence } from '../routes/owned-session.ts'
import type { Services } from '../services.ts'
import { sessionKey } from '../session-keys.ts'
import { hasCode } from '../to-problem-error.ts'
import { admitAnswers } from './admit-answers.ts'
import { messageInputId } from './chat-input-id.ts'
import { lastMessageOf, type ChatRequest, type UserInput } from './chat-request.ts'
import { busy, runAgain } from './run-again.ts'
import { isKnown } from './version.ts'

/** Turn whose events are streamed. */
export interface ChatTurn {
  readonly session: Session
  readonly runId: string
  /** Position before its first event. */
  readonly cursor: string
  /** Number of the last event that the page already has. */
  readonly knownUntil?: number
  /** True if the request approved or denied calls. */
  readonly hasDecided?: true
}

/** Accepts the request of a page. Uses only its last message, and only the parts that the session does not know yet. */
export async function admitChat(
  services: Services,
  principal: Principal,
  request: ChatRequest,
  abortSignal: AbortSignal,
): Promise<ChatTurn> {
  const { runtime, download, runningRuns } = services
  const session = runtime.session(sessionKey(principal.tenant, request.id))
  const start = (run: () => Promise<ChatTurn>): Promise<ChatTurn> => runningRuns.within(principal.tenant, session.key, run)
  const message = lastMessageOf(request)
  if (request.trigger === 'regenerate-message') {
    const messageId = request.messageId ?? message?.id
    if (messageId === undefined) throw invalid('messageId', 'Set messageId to the id of the message to regenerate.')
    // When a page retries a refused message, its id was never accepted.
    if (request.messageId === undefined && message?.role === 'user' && !(await isKnown(session, message.id))) {
      return admitInput(services, principal, session, message, abortSignal)
    }
    return start(() => runAgain(runtime, session, messageId))
  }
  if (!message) throw invalid('messages', 'A message is needed.')
  if (message.role === 'assistant') return admitAnswers(services, principal, session, message)
  // The page has replaced one of its own messages.
  return request.messageId === message.id
    ? start(() => runAgain(runtime, session, message.id, () => takeFiles(download, message.input, abortSignal)))
    : admitInput(services, principal, session, message, abortSignal)
}

async function admitInput(
  services: Services,
  principal: Principal,
  existing: Session,
  { id, input: message }: UserInput,
  abortSignal: AbortSignal,
): Promise<ChatTurn> {
  const { runtime, defaultAgent } = services
  const isNew = (await existing.info()) === null
  if (isNew) await checkNeverDeleted(existing)
  const session = isNew && defaultAgent !== undefined ? runtime.session(existing.key, { agent: defaultAgent }) : existing
  const inputId = await messageInputId(id)
  const { runId } = await submitInput(services, principal, session, { message, inputId, abortSignal }, (input) =>
    sendBehindStop(session, input, { id: inputId, maxQueued: services.limits.queuedRunsPerSession }),
  )
  return turnOf(session, await runtime.run(runId))
}

/** Sends the input. It waits for the end of a run that is being stopped, or whose turn has ended. Refused if another run is open. */
async function sendBehindStop(
  session: Session,
  input: UserMessageInput,
  options: { readonly id: string; readonly maxQueued: number },
): Promise<RunHandle> {
  try {
    return await session.send(input, { ...options, onBusy: 'reject' })
  } catch (error) {
    if (!hasCode(error, 'busy')) throw error
    const run = (await session.info())?.openRun
    if (run && !run.stopping && !isEnded(run.status)) throw busy(run)
    return session.send(input, { ...options, onBusy: 'queue' })
  }
}

/** Throws if the session was deleted elsewhere: a page that was left open must not create it again. */
async function checkNeverDeleted(session: Session): Promise<void> {
  const reason = await absence(session)
  if (hasCode(reason, 'session-deleted')) throw reason
}

/** Returns the whole turn from its beginning. */
export function turnOf(session: Session, run: RunInfo | null): ChatTurn {
  if (!run) throw new ProblemError('unknown-run', 'The run no longer exists.')
  return { session, runId: run.runId, cursor: run.cursor }
}

function invalid(path: string, message: string): ProblemError {
  return faulty('invalid-body', [{ path, message }])
}
