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

/** Returns the current result of a request, after waiting for a change if requested. */
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

/** Another bridge may have recorded the end of the request, or received the answers that it waits for. */
async function toldElsewhere({ book, core }: Desk, key: Owned, entry: BookEntry, result: Extract<BridgeResult, { ok: true }>): Promise<BridgeResult> {
  if (isWaiting(result)) {
    const record = (await book.read(key))?.value
    return record ? resultOf(record) : result
  }
  if (!entry.isElsewhere && entry.stored?.value.durable !== true) return result
  try {
    const record = (await book.read(key))?.value
    return record && isEnded(record) ? resultOf(record) : result
  } catch (error) {
    // An unavailable store must not make a running request look failed.
    core.settings.logger.warn({ ...entry.request.ids, cause: error }, 'the record of a request could not be read')
    return result
  }
}
