import type { BridgeSession, CreateSessionInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import type { FoundAgent } from '../agent-directory.ts'
import { checkCreateInput } from '../input/check-input.ts'
import { keyOfCall } from '../requests/request-registry.ts'
import type { ActiveRequest, RequestCall } from '../requests/request-registry.ts'
import { asBridgeError } from '../requests/prompt-work.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { missingSession } from '../sessions/session-errors.ts'
import { sessionView } from '../sessions/session-record.ts'
import { callOf, newRecord } from './call.ts'
import { newContext } from './delegate.ts'
import { checkLineage, lineageOf } from './depth.ts'
import type { Lineage } from './depth.ts'
import { findAgent } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { attachToEarlier } from './attach-to-request.ts'
import { internalError, refuseEntry, tellRefusal } from './refuse.ts'
import { endWithBridge } from './stop.ts'

/** Opens a session. A repeated call with the same key and input returns the same session. */
export async function createSession(bridge: BridgeContext, input: CreateSessionInput): Promise<BridgeSession> {
  const { core } = bridge
  try {
    bridge.checkRunning()
    checkCreateInput(input, core.settings)
    const lineage = lineageOf(input)
    const sessionId = core.settings.ids.next('bs')
    if (input.idempotencyKey !== undefined) return await createOnce(bridge, input, { lineage, sessionId })
    return sessionView((await open(bridge, input, { lineage, sessionId })).stored.value)
  } catch (error) {
    const refusal = BridgeError.isInstance(error) ? error : internalError(core, error)
    tellRefusal(core, 'create', refusal)
    throw refusal
  }
}

interface NewPlace {
  readonly lineage: Lineage
  readonly sessionId: string
}

async function open(bridge: BridgeContext, input: CreateSessionInput, { lineage, sessionId }: NewPlace): Promise<LiveSession> {
  const { core, sessions } = bridge
  const { owner = 'local', metadata } = input
  const { found, conversationId } = await agentFor(bridge, input, sessionId)
  checkLineage(lineage, found.agent.id, core.settings)
  const releaseSlot = await sessions.takeSlot(found.executor, owner)
  const context = newContext(core.settings.clock.now(), { sessionId, conversationId, agentId: found.agent.id, owner, metadata, ...lineage })
  const live = await sessions.open({ context, found, releaseSlot }).catch((error: unknown) => {
    throw asBridgeError(core, error, { ids: { sessionId, agentId: found.agent.id }, owner })
  })
  // If the bridge stopped while the hook ran, this call must end the session.
  if (!bridge.isRunning()) await endWithBridge(bridge, live)
  bridge.checkRunning()
  return live
}

/** Returns the agent of the new session and the conversation that it continues. */
async function agentFor(
  bridge: BridgeContext,
  input: CreateSessionInput,
  sessionId: string,
): Promise<{ found: FoundAgent; conversationId: string }> {
  const { owner = 'local', agentId, resumeSessionId } = input
  if (resumeSessionId === undefined) return { found: findAgent(bridge, owner, 'create', agentId), conversationId: sessionId }
  const earlier = await bridge.sessions.find({ owner, id: resumeSessionId })
  if (!earlier) throw missingSession(resumeSessionId)
  const found = findAgent(bridge, owner, 'create', earlier.agentId)
  const isSame = agentId === undefined || agentId === earlier.agentId
  if (isSame && (found.agent.resumable ?? found.agent.durable)) return { found, conversationId: earlier.conversationId }
  const details = { reason: 'not-resumable', agentId: agentId ?? earlier.agentId, sessionId: resumeSessionId }
  throw new BridgeError('CONFIG', `Agent ${details.agentId} cannot resume this conversation`, { details })
}

async function createOnce(bridge: BridgeContext, input: CreateSessionInput, place: NewPlace): Promise<BridgeSession> {
  const { registry, core } = bridge
  const { agentId, metadata, resumeSessionId, idempotencyKey } = input
  const payload = { agentId, metadata, resumeSessionId }
  const request = { ...(input.owner !== undefined && { owner: input.owner }), ...(idempotencyKey !== undefined && { idempotencyKey }) }
  const call = callOf(core, { kind: 'create', input: request, sessionId: place.sessionId, payload })
  const entry = registry.attach(call) ?? newEntry(bridge, call, input, place)
  const result = await entry.request.run().result()
  if (!result.ok) throw result.error
  return sessionView(await bridge.sessions.read({ owner: call.owner, id: entry.request.ids.sessionId }))
}

function newEntry(bridge: BridgeContext, call: RequestCall, input: CreateSessionInput, place: NewPlace): ActiveRequest {
  const entry = bridge.registry.open(call)
  admit(bridge, entry, { call, input, place }).catch((error: unknown) => refuseEntry(bridge.core, bridge.registry, entry, error))
  return entry
}

async function admit(
  bridge: BridgeContext,
  entry: ActiveRequest,
  { call, input, place }: { call: RequestCall; input: CreateSessionInput; place: NewPlace },
): Promise<void> {
  const { registry, core } = bridge
  if (await attachToEarlier(bridge, entry, call)) return
  const context = newContext(core.settings.clock.now(), { ...entry.request.ids, owner: call.owner, metadata: undefined, ...place.lineage })
  if (!(await registry.insert(entry, newRecord(core, entry, { session: context, durable: false, prompt: '', runtimeParams: {} })))) {
    if (await attachToEarlier(bridge, entry, call)) return
    throw new BridgeError('INTERNAL', 'The record of the idempotency key was deleted', { details: { requestId: keyOfCall(call).id } })
  }
  entry.request.accept()
  try {
    const live = await open(bridge, input, place)
    const ids = { ...entry.request.ids, agentId: live.context.agentId }
    registry.leave(entry, await registry.recordEnd(entry, { ok: true, status: 'completed', ...ids, text: '' }))
  } catch (error) {
    await registry.withdraw(entry)
    throw error
  }
}
