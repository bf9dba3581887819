import type { BridgeSession, CreateSessionInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import type { FoundAgent } from '../agent-directory.ts'
import { checkCreateInput } from '../input/check-input.ts'
import { keyOfCall } from '../requests/request-book.ts'
import type { BookEntry, RequestCall } from '../requests/request-book.ts'
import { asBridgeError } from '../requests/prompt-work.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { missingSession } from '../sessions/session-errors.ts'
import { sessionView } from '../sessions/session-record.ts'
import { callOf, newRecord } from './call.ts'
import { newContext } from './delegate.ts'
import { checkLineage, lineageOf } from './depth.ts'
import type { Lineage } from './depth.ts'
import { findAgent } from './desk.ts'
import type { Desk } from './desk.ts'
import { joinEarlier } from './join.ts'
import { internalError, refuseEntry, tellRefusal } from './refuse.ts'
import { endWithBridge } from './stop.ts'

/** Opens a session. A repeated call with the same key and input returns the same session. */
export async function createSession(desk: Desk, input: CreateSessionInput): Promise<BridgeSession> {
  const { core } = desk
  try {
    desk.checkRunning()
    checkCreateInput(input, core.settings)
    const lineage = lineageOf(input)
    const sessionId = core.settings.ids.next('bs')
    if (input.idempotencyKey !== undefined) return await createOnce(desk, input, { lineage, sessionId })
    return sessionView((await open(desk, input, { lineage, sessionId })).stored.value)
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

async function open(desk: Desk, input: CreateSessionInput, { lineage, sessionId }: NewPlace): Promise<LiveSession> {
  const { core, sessions } = desk
  const { owner = 'local', metadata } = input
  const { found, conversationId } = await agentFor(desk, input, sessionId)
  checkLineage(lineage, found.agent.id, core.settings)
  const releaseSlot = await sessions.takeSlot(found.executor, owner)
  const context = newContext(core.settings.clock.now(), { sessionId, conversationId, agentId: found.agent.id, owner, metadata, ...lineage })
  const live = await sessions.open({ context, found, releaseSlot }).catch((error: unknown) => {
    throw asBridgeError(core, error, { ids: { sessionId, agentId: found.agent.id }, owner })
  })
  // If the bridge stopped while the hook ran, this call must end the session.
  if (!desk.isRunning()) await endWithBridge(sessions, live)
  desk.checkRunning()
  return live
}

/** Returns the agent of the new session and the conversation that it continues. */
async function agentFor(desk: Desk, input: CreateSessionInput, sessionId: string): Promise<{ found: FoundAgent; conversationId: string }> {
  const { owner = 'local', agentId, resumeSessionId } = input
  if (resumeSessionId === undefined) return { found: findAgent(desk, owner, 'create', agentId), conversationId: sessionId }
  const earlier = await desk.sessions.find({ owner, id: resumeSessionId })
  if (!earlier) throw missingSession(resumeSessionId)
  const found = findAgent(desk, owner, 'create', earlier.agentId)
  const isSame = agentId === undefined || agentId === earlier.agentId
  if (isSame && (found.agent.resumable ?? found.agent.durable)) return { found, conversationId: earlier.conversationId }
  const details = { reason: 'not-resumable', agentId: agentId ?? earlier.agentId, sessionId: resumeSessionId }
  throw new BridgeError('CONFIG', `Agent ${details.agentId} cannot resume this conversation`, { details })
}

async function createOnce(desk: Desk, input: CreateSessionInput, place: NewPlace): Promise<BridgeSession> {
  const { book, core } = desk
  const { agentId, metadata, resumeSessionId, idempotencyKey } = input
  const payload = { agentId, metadata, resumeSessionId }
  const request = { ...(input.owner !== undefined && { owner: input.owner }), ...(idempotencyKey !== undefined && { idempotencyKey }) }
  const call = callOf(core, { kind: 'create', input: request, sessionId: place.sessionId, payload })
  const entry = book.join(call) ?? newEntry(desk, call, input, place)
  const result = await entry.request.run().result()
  if (!result.ok) throw result.error
  return sessionView(await desk.sessions.read({ owner: call.owner, id: entry.request.ids.sessionId }))
}

function newEntry(desk: Desk, call: RequestCall, input: CreateSessionInput, place: NewPlace): BookEntry {
  const entry = desk.book.open(call)
  admit(desk, entry, { call, input, place }).catch((error: unknown) => refuseEntry(desk.core, desk.book, entry, error))
  return entry
}

async function admit(desk: Desk, entry: BookEntry, { call, input, place }: { call: RequestCall; input: CreateSessionInput; place: NewPlace }): Promise<void> {
  const { book, core } = desk
  if (await joinEarlier(desk, entry, call)) return
  const context = newContext(core.settings.clock.now(), { ...entry.request.ids, owner: call.owner, metadata: undefined, ...place.lineage })
  if (!(await book.insert(entry, newRecord(core, entry, { session: context, durable: false, prompt: '', runtimeParams: {} })))) {
    if (await joinEarlier(desk, entry, call)) return
    throw new BridgeError('INTERNAL', 'The record of the idempotency key was deleted', { details: { requestId: keyOfCall(call).id } })
  }
  entry.request.accept()
  try {
    const live = await open(desk, input, place)
    const ids = { ...entry.request.ids, agentId: live.context.agentId }
    book.leave(entry, await book.recordEnd(entry, { ok: true, status: 'completed', ...ids, text: '' }))
  } catch (error) {
    await book.withdraw(entry)
    throw error
  }
}
