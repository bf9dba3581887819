import type { Session, SessionInfo, SessionReader } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { isReadableId, sessionIdForm, sessionKey } from '../session-keys.ts'
import { hasCode } from '../to-problem-error.ts'

export interface ReadableSession {
  readonly sessionId: string
  readonly session: SessionReader
  readonly info: SessionInfo
}

export interface OwnedSession extends ReadableSession {
  readonly session: Session
}

/**
 * The session that a path names. An unknown one, an impossible one and one of another tenant are the same; one that was
 * there once is not.
 */
export async function ownedSession(services: Services, principal: Principal, sessionId = ''): Promise<OwnedSession> {
  const session = ownHandle(services, principal, sessionId)
  return { sessionId, session, info: await presentInfo(session) }
}

/** As `ownedSession`, for routes that look only: they take the id of a child too. */
export async function readableSession(services: Services, principal: Principal, sessionId = ''): Promise<ReadableSession> {
  if (!isReadableId(sessionId)) throw sessionMissing()
  const session = services.runtime.reader(sessionKey(principal.tenant, sessionId))
  return { sessionId, session, info: await presentInfo(session) }
}

/** The handle, whether or not there is a session. */
export function ownHandle({ runtime }: Services, { tenant }: Principal, sessionId = ''): Session {
  if (!sessionIdForm.test(sessionId)) throw sessionMissing()
  return runtime.session(sessionKey(tenant, sessionId))
}

async function presentInfo(session: SessionReader): Promise<SessionInfo> {
  const info = await session.info()
  if (!info) throw await absence(session)
  return checkAlive(info)
}

export function checkAlive(info: SessionInfo): SessionInfo {
  if (info.expiredAt === undefined) return info
  throw new ProblemError('session-expired', 'Its time is over: begin a new session.')
}

/** Why there is no session: there never was one, or it was deleted. */
export async function absence(session: SessionReader): Promise<unknown> {
  try {
    await session.usage()
    return sessionMissing()
  } catch (error) {
    return hasCode(error, 'session-missing') ? sessionMissing() : error
  }
}

function sessionMissing(): ProblemError {
  return new ProblemError('session-missing', 'There is no session of that id.')
}
