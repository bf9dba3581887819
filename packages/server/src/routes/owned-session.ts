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
 * Returns the session of a path. Throws the same error for a session that is unknown, invalid or of another tenant. A deleted or
 * expired session has its own error.
 */
export async function ownedSession(services: Services, principal: Principal, sessionId = ''): Promise<OwnedSession> {
  const session = ownHandle(services, principal, sessionId)
  return { sessionId, session, info: await presentInfo(session) }
}

/** Same as `ownedSession`, for routes that only read. They accept ids of child sessions too. */
export async function readableSession(services: Services, principal: Principal, sessionId = ''): Promise<ReadableSession> {
  if (!isReadableId(sessionId)) throw sessionMissing()
  const session = services.runtime.reader(sessionKey(principal.tenant, sessionId))
  return { sessionId, session, info: await presentInfo(session) }
}

/** Returns the handle, whether or not the session exists. */
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
  throw new ProblemError('session-expired', 'Its time to live is over. Start another session.')
}

/** Returns the reason why a session is missing: it never existed, or it was deleted. */
export async function absence(session: SessionReader): Promise<unknown> {
  try {
    await session.usage()
    return sessionMissing()
  } catch (error) {
    return hasCode(error, 'session-missing') ? sessionMissing() : error
  }
}

function sessionMissing(): ProblemError {
  return new ProblemError('session-missing', 'There is no session with this id.')
}
