import type { BridgeResult, RequestQuery } from '../bridge-contract.ts'
import { resultOf } from '../requests/request-record.ts'
import { missingRequest } from './desk.ts'
import type { Desk } from './desk.ts'
import { takeUp } from './join.ts'
import { failed } from './refuse.ts'

/** What became of a request, after waiting for news if that is wanted. */
export async function look(desk: Desk, requestId: string, { owner = 'local', waitMs = 0, abortSignal }: RequestQuery): Promise<BridgeResult> {
  const key = { owner, id: requestId }
  const found = desk.book.entry(key) ?? (await takeUp(desk, key))
  if (!found) return failed(missingRequest(requestId))
  if (!('request' in found)) return resultOf(found)
  if (!(await found.request.accepted)) return failed(missingRequest(requestId))
  await found.request.wait(waitMs, abortSignal)
  return found.request.now()
}
