import type { SessionFilter, SessionPage } from '../bridge-contract.ts'
import { checkSessionFilter } from '../input/check-input.ts'
import { cursorOf, readCursor } from '../input/session-cursor.ts'
import { localOwner } from '../owner-limits.ts'
import { sessionView } from '../sessions/session-record.ts'
import type { SessionRecord } from '../sessions/session-record.ts'
import type { SessionPlace } from '../input/session-cursor.ts'
import type { Desk } from './desk.ts'

/** Newest first. The cursor is the last one shown, so what comes and goes moves nothing. */
export async function listSessions({ sessions }: Desk, filter: SessionFilter): Promise<SessionPage> {
  checkSessionFilter(filter)
  const { owner = localOwner, agentId, status, limit = 50, cursor } = filter
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const found: SessionRecord[] = []
  for await (const record of sessions.list(owner)) {
    const isWanted = (agentId === undefined || record.agentId === agentId) && (status === undefined || record.status === status)
    if (isWanted && (!after || byAge(record, after) > 0)) found.push(record)
  }
  found.sort(byAge)
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { sessions: page.map(sessionView), ...(last && found.length > limit && { nextCursor: cursorOf(last) }) }
}

function byAge(left: SessionPlace, right: SessionPlace): number {
  return right.createdAt - left.createdAt || Number(left.sessionId > right.sessionId) - Number(left.sessionId < right.sessionId)
}
