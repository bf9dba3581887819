import type { SessionFilter, SessionPage } from '../bridge-contract.ts'
import { checkSessionFilter } from '../input/check-input.ts'
import { invalidInput } from '../input/issues.ts'
import { localOwner } from '../owner-limits.ts'
import { sessionView } from '../sessions/session-record.ts'
import type { SessionRecord } from '../sessions/session-record.ts'
import type { Desk } from './desk.ts'

type Place = Pick<SessionRecord, 'createdAt' | 'sessionId'>

/** Newest first. The cursor is the last one shown, so what comes and goes moves nothing. */
export async function listSessions({ sessions }: Desk, filter: SessionFilter): Promise<SessionPage> {
  checkSessionFilter(filter)
  const { owner = localOwner, agentId, status, limit = 50, cursor } = filter
  const after = cursor === undefined ? undefined : placeOf(cursor)
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

function byAge(left: Place, right: Place): number {
  return right.createdAt - left.createdAt || (left.sessionId < right.sessionId ? -1 : left.sessionId > right.sessionId ? 1 : 0)
}

function cursorOf({ createdAt, sessionId }: Place): string {
  return Buffer.from(JSON.stringify([createdAt, sessionId])).toString('base64url')
}

/** Throws `PROTOCOL` for what is no cursor. */
function placeOf(cursor: string): Place {
  try {
    const [createdAt, sessionId] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof createdAt === 'number' && typeof sessionId === 'string') return { createdAt, sessionId }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
  }
  throw invalidInput([{ path: 'cursor', message: 'is none that sessions_list gave' }])
}
