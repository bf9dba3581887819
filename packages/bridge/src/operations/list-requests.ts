import type { RequestFilter, RequestPage, RequestSummary } from '../bridge-contract.ts'
import { checkRequestFilter } from '../input/check-input.ts'
import { pageOf } from '../input/list-cursor.ts'
import { localOwner } from '../owner-limits.ts'
import { isEnded, lostRequest, summaryOf } from '../requests/request-record.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { BridgeContext } from './bridge-context.ts'
import { isResumable } from './attach-to-request.ts'

/** Lists requests, newest first. Read-only: a request that a dead bridge left is taken over only when it is queried by id. */
export async function listRequests(bridge: BridgeContext, filter: RequestFilter): Promise<RequestPage> {
  checkRequestFilter(filter)
  const { owner = localOwner, sessionId, status } = filter
  const isLost = lostCheck(bridge)
  const found: RequestSummary[] = []
  for await (const record of bridge.registry.list(owner)) {
    // An idempotent session creation has a record too, but it is not a request.
    if (record.kind === 'create' || (sessionId !== undefined && record.sessionId !== sessionId)) continue
    const current = isEnded(record) || !(await isLost(record)) ? record : await lostOf(bridge, record)
    if (current && (status === undefined || current.status === status)) found.push(summaryOf(current))
  }
  const { page, ...more } = pageOf(found, ({ createdAt, requestId }) => ({ createdAt, id: requestId }), filter)
  return { requests: page, ...more }
}

/** Returns undefined if the record has expired. */
async function lostOf({ registry }: BridgeContext, { owner, requestId }: RequestRecord): Promise<RequestRecord | undefined> {
  // The request may have ended since the page was read.
  const record = (await registry.read({ owner, id: requestId }))?.value
  return record && (lostRequest(record) ?? record)
}

/** Returns a check for requests that no process works on or will resume. Looks up each bridge only once. */
function lostCheck(bridge: BridgeContext): (record: RequestRecord) => Promise<boolean> {
  const { registry, core } = bridge
  const alive = new Map<string, Promise<boolean>>()
  return async (record) => {
    const { owner, requestId, home } = record
    if (registry.entry({ owner, id: requestId })) return false
    const lives = alive.get(home) ?? (home === core.processes.id ? Promise.resolve(false) : core.processes.isAlive(home))
    alive.set(home, lives)
    return !(await lives) && !(await isResumable(bridge, record))
  }
}
