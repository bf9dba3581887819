import type { RequestFilter, RequestPage, RequestSummary } from '../bridge-contract.ts'
import { checkRequestFilter } from '../input/check-input.ts'
import { pageOf } from '../input/list-cursor.ts'
import { localOwner } from '../owner-limits.ts'
import { isEnded, lostRequest, summaryOf } from '../requests/request-record.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { Desk } from './desk.ts'
import { isResumable } from './join.ts'

/** Newest first. Only looks: what a bridge that is gone has left is taken up by whoever asks for it by its id. */
export async function listRequests(desk: Desk, filter: RequestFilter): Promise<RequestPage> {
  checkRequestFilter(filter)
  const { owner = localOwner, sessionId, status } = filter
  const isLost = lostCheck(desk)
  const found: RequestSummary[] = []
  for await (const record of desk.book.list(owner)) {
    // A session that is created once has a record too, which is none of a request.
    if (record.kind === 'create' || (sessionId !== undefined && record.sessionId !== sessionId)) continue
    const current = isEnded(record) || !(await isLost(record)) ? record : await lostOf(desk, record)
    if (current && (status === undefined || current.status === status)) found.push(summaryOf(current))
  }
  const { page, ...more } = pageOf(found, ({ createdAt, requestId }) => ({ createdAt, id: requestId }), filter)
  return { requests: page, ...more }
}

/** Undefined if it is kept no longer. */
async function lostOf({ book }: Desk, { owner, requestId }: RequestRecord): Promise<RequestRecord | undefined> {
  // It may have ended since its page was read.
  const record = (await book.read({ owner, id: requestId }))?.value
  return record && (lostRequest(record) ?? record)
}

/** Whether nobody works on a request and nobody will. Each bridge is looked for once. */
function lostCheck(desk: Desk): (record: RequestRecord) => Promise<boolean> {
  const { book, core } = desk
  const alive = new Map<string, Promise<boolean>>()
  return async (record) => {
    const { owner, requestId, home } = record
    if (book.entry({ owner, id: requestId })) return false
    const lives = alive.get(home) ?? (home === core.processes.id ? Promise.resolve(false) : core.processes.isAlive(home))
    alive.set(home, lives)
    return !(await lives) && !(await isResumable(desk, record))
  }
}
