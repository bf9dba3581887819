import type { CloseInput, CloseReceipt } from '../bridge-contract.ts'
import { checkCloseInput } from '../input/check-input.ts'
import { localOwner } from '../owner-limits.ts'
import type { Owned } from '../records/record-table.ts'
import { keyOf } from '../sessions/session-registry.ts'
import type { BridgeContext } from './bridge-context.ts'
import { takeUp } from './attach-to-request.ts'

/** Closes a session after stopping its running request. */
export async function close(bridge: BridgeContext, input: CloseInput): Promise<CloseReceipt> {
  checkCloseInput(input)
  const { owner = localOwner, sessionId, reason } = input
  const { core, registry, sessions } = bridge
  const record = await sessions.find({ owner, id: sessionId })
  if (!record || record.status === 'over') return { closed: true, sessionId, existed: false }
  const live = await sessions.held({ owner, id: sessionId })
  const running = live.stored.value.currentRequestId
  if (running !== undefined && !registry.entry({ owner, id: running })) await endLeftBehind(bridge, { owner, id: running })
  const existed = await sessions.end(live, 'closed')
  // A prompt may have been accepted in the meantime.
  const { lastRequestId } = live.stored.value
  if (existed) core.settings.logger.debug({ sessionId, owner, ...(reason !== undefined && { reason }) }, 'session closed')
  if (lastRequestId !== undefined) registry.entry({ owner, id: lastRequestId })?.request.watch.interrupt({ cause: 'closing' })
  await sessions.takeDown(live, 'closed')
  return { closed: true, sessionId: keyOf(live.context).id, existed }
}

/**
 * Stops a request that an earlier bridge left running in the session. Taking it over resumes it in this session, so the session
 * must stay open until it has ended.
 */
async function endLeftBehind(bridge: BridgeContext, key: Owned): Promise<void> {
  const left = await takeUp(bridge, key)
  if (!left || !('request' in left)) return
  left.request.watch.interrupt({ cause: 'closing' })
  await left.request.ended
}
