import type { BridgeResult, RequestQuery } from '../bridge-contract.ts'
import { callChecks } from '../arguments.ts'
import { checkRequestQuery } from '../input/check-input.ts'
import { localOwner } from '../owner-limits.ts'
import type { Owned } from '../records/record-table.ts'
import type { BookEntry } from '../requests/request-book.ts'
import { isEnded, isWaiting, resultOf } from '../requests/request-record.ts'
import { missingRequest } from './desk.ts'
import type { Desk } from './desk.ts'
import { takeUp } from './join.ts'
import { failed } from './refuse.ts'

/** What became of a request, after waiting for news if that is wanted. */
export async function look(desk: Desk, requestId: string, options: RequestQuery): Promise<BridgeResult> {
  callChecks.checkName('request.requestId', requestId)
  checkRequestQuery('request.options', options)
  const { owner = localOwner, waitMs = 0, abortSignal } = options
  const key = { owner, id: requestId }
  const found = desk.book.entry(key) ?? (await takeUp(desk, key))
  if (!found) return failed(missingRequest(requestId))
  if (!('request' in found)) return resultOf(found)
  if (!(await found.request.accepted)) return failed(missingRequest(requestId))
  await found.request.wait(waitMs, abortSignal)
  const result = found.request.now()
  if (!result.ok) return { ...result, agentId: found.request.ids.agentId }
  return isEnded(result) ? result : toldElsewhere(desk, key, found, result)
}

/** Another bridge may have recorded the end of the request, or may have got the answers that it waits for. */
async function toldElsewhere({ book }: Desk, key: Owned, entry: BookEntry, result: Extract<BridgeResult, { ok: true }>): Promise<BridgeResult> {
  const isShared = isWaiting(result) || entry.isElsewhere || entry.stored?.value.durable === true
  const record = isShared ? (await book.read(key))?.value : undefined
  return record && (isWaiting(result) || isEnded(record)) ? resultOf(record) : result
}
