import type { BridgeResult, RequestQuery } from '../bridge-contract.ts'
import { callChecks } from '../arguments.ts'
import { checkRequestQuery } from '../input/check-input.ts'
import { localOwner } from '../owner-limits.ts'
import type { Owned } from '../records/record-table.ts'
import { isWaiting, resultOf } from '../requests/request-record.ts'
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
  return isWaiting(result) ? toldElsewhere(desk, key, result) : result
}

/** Another bridge may have been given the answers, and this one does not hear of it. */
async function toldElsewhere({ book }: Desk, key: Owned, result: BridgeResult): Promise<BridgeResult> {
  const record = (await book.read(key))?.value
  return record ? resultOf(record) : result
}
