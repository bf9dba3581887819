import type { Session, SessionInfo } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { sessionIdForm, sessionKey } from '../session-keys.ts'

export interface OwnedSession {
  readonly sessionId: string
  readonly session: Session
  readonly info: SessionInfo
}

/** The session that a path names. An unknown one, an impossible one and one of another tenant are the same. */
export async function ownedSession(services: Services, principal: Principal, sessionId = ''): Promise<OwnedSession> {
  if (!sessionIdForm.test(sessionId)) throw sessionMissing()
  const session = services.runtime.session(sessionKey(principal.tenant, sessionId))
  const info = await session.info()
  if (!info) throw sessionMissing()
  return { sessionId, session, info }
}

function sessionMissing(): ProblemError {
  return new ProblemError('session-missing', 'There is no session of that id.')
}
