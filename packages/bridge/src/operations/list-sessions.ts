import type { SessionFilter, SessionPage } from '../bridge-contract.ts'
import { checkSessionFilter } from '../input/check-input.ts'
import { pageOf } from '../input/list-cursor.ts'
import { localOwner } from '../owner-limits.ts'
import { sessionView } from '../sessions/session-record.ts'
import type { SessionRecord } from '../sessions/session-record.ts'
import type { BridgeContext } from './bridge-context.ts'

/** Lists sessions, newest first. */
export async function listSessions({ sessions }: BridgeContext, filter: SessionFilter): Promise<SessionPage> {
  checkSessionFilter(filter)
  const { owner = localOwner, agentId, status } = filter
  const found: SessionRecord[] = []
  for await (const record of sessions.list(owner)) {
    if ((agentId === undefined || record.agentId === agentId) && (status === undefined || record.status === status)) found.push(record)
  }
  const { page, ...more } = pageOf(found, ({ createdAt, sessionId }) => ({ createdAt, id: sessionId }), filter)
  return { sessions: page.map(sessionView), ...more }
}
