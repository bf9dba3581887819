import type { BridgeResult, RequestQuery } from '../bridge-contract.ts'
import { callChecks } from '../arguments.ts'
import { checkRequestQuery } from '../input/check-input.ts'
import { localOwner } from '../owner-limits.ts'
import type { Owned } from '../records/record-table.ts'
import type { ActiveRequest } from '../requests/request-registry.ts'
import { isEnded, isWaiting, resultOf } from '../requests/request-record.ts'
import { missingRequest } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { takeUp } from './attach-to-request.ts'
import { failed } from './refuse.ts'

/** Returns the current result of a request, after waiting for a change if requested. */
export async function getRequest(bridge: BridgeContext, requestId: string, options: RequestQuery): Promise<BridgeResult> {
  callChecks.checkName('request.requestId', requestId)
  checkRequestQuery('request.options', options)
  const { owner = localOwner, waitMs = 0, abortSignal } = options
  const key = { owner, id: requestId }
  const found = bridge.registry.entry(key) ?? (await takeUp(bridge, key))
  if (!found) return failed(missingRequest(requestId))
  if (!('request' in found)) return resultOf(found)
  if (!(await found.request.accepted)) return failed(missingRequest(requestId))
  await found.request.wait(waitMs, abortSignal)
  const result = found.request.now()
  if (!result.ok) return { ...result, agentId: found.request.ids.agentId }
  return isEnded(result) ? result : toldElsewhere(bridge, key, found, result)
}

/** Another bridge may have recorded the end of the request, or received the answers that it waits for. */
async function toldElsewhere(
  { registry, core }: BridgeContext,
  key: Owned,
  entry: ActiveRequest,
  result: Extract<BridgeResult, { ok: true }>,
): Promise<BridgeResult> {
  if (isWaiting(result)) {
    const record = (await registry.read(key))?.value
    return record ? resultOf(record) : result
  }
  if (!entry.isElsewhere && entry.stored?.value.durable !== true) return result
  try {
    const record = (await registry.read(key))?.value
    return record && isEnded(record) ? resultOf(record) : result
  } catch (error) {
    // An unavailable store must not make a running request look failed.
    core.settings.logger.warn({ ...entry.request.ids, cause: error }, 'the record of a request could not be read')
    return result
  }
}
