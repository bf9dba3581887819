import type { BridgeResult, CancelInput, CancelReceipt } from '../bridge-contract.ts'
import { checkCancelInput } from '../input/check-input.ts'
import { localOwner } from '../owner-limits.ts'
import type { ActiveRequest } from '../requests/request-registry.ts'
import { missingRequest } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { takeUp } from './attach-to-request.ts'

/** Cancels a request by its id, or the running request of a session. Reports a cancel only if the request was really stopped. */
export async function cancel(bridge: BridgeContext, input: CancelInput): Promise<CancelReceipt> {
  checkCancelInput(input)
  const { owner = localOwner } = input
  const requestId = input.requestId ?? (await runningIn(bridge, owner, input.sessionId as string))
  if (requestId === undefined) return { cancelled: false, sessionId: input.sessionId as string, settled: true, reason: 'not-running' }
  const key = { owner, id: requestId }
  const found = bridge.registry.entry(key) ?? (await takeUp(bridge, key))
  if (!found || ('request' in found && !(await found.request.accepted))) throw missingRequest(requestId)
  const sessionId = 'request' in found ? found.request.ids.sessionId : found.sessionId
  if (input.sessionId !== undefined && input.sessionId !== sessionId) throw missingRequest(requestId)
  if (!('request' in found)) return { cancelled: false, sessionId, requestId, settled: true, reason: 'not-running' }
  return stop(found)
}

async function stop(entry: ActiveRequest): Promise<CancelReceipt> {
  const { request } = entry
  const { sessionId, requestId } = request.ids
  if (entry.isElsewhere) return { cancelled: false, sessionId, requestId, settled: false, reason: 'elsewhere' }
  request.watch.interrupt({ cause: 'caller' })
  await request.ended
  const isCancelled = wasAborted(request.now())
  return { cancelled: isCancelled, sessionId, requestId, settled: entry.settled, ...(!isCancelled && { reason: 'not-running' }) }
}

function wasAborted(result: BridgeResult): boolean {
  return result.ok && result.status === 'aborted'
}

/** Returns the running request of a session, also while a delegation is still opening that session. Throws `NOT_FOUND`. */
async function runningIn({ registry, sessions }: BridgeContext, owner: string, sessionId: string): Promise<string | undefined> {
  const here = registry.entries().find(({ request }) => request.owner === owner && request.ids.sessionId === sessionId)
  if (here) return here.request.ids.requestId
  return (await sessions.read({ owner, id: sessionId })).currentRequestId
}
