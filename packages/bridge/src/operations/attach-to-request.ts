import { BridgeError } from '../errors.ts'
import type { Owned, Stored } from '../records/record-table.ts'
import { detached } from '../requests/outcome.ts'
import { checkSamePayload, keyOfCall } from '../requests/request-registry.ts'
import type { ActiveRequest, RequestCall } from '../requests/request-registry.ts'
import { idsOf, isEnded, isWaiting, lostRequest, resultOf } from '../requests/request-record.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { keyOf } from '../sessions/session-registry.ts'
import { limitSilence } from './call.ts'
import type { BridgeContext } from './bridge-context.ts'
import { refuseEntry } from './refuse.ts'
import { sessionAfter, workOnDelegation, workOnPrompt } from './work-on.ts'

const lookAgainMs = 500

/** Joins the earlier call with this id, if there was one. Throws `PROTOCOL` if its payload differs. */
export async function attachToEarlier(bridge: BridgeContext, entry: ActiveRequest, call: RequestCall): Promise<boolean> {
  const stored = await bridge.registry.read(keyOfCall(call))
  if (!stored) return false
  checkSamePayload(call, stored.value)
  await attachToRequest(bridge, entry, stored)
  return true
}

/** Returns a request that this process does not work on yet, and takes it over if it is still open. Undefined if it does not exist. */
export async function takeUp(bridge: BridgeContext, key: Owned): Promise<ActiveRequest | RequestRecord | undefined> {
  const stored = await bridge.registry.read(key)
  const record = stored?.value
  if (!record) return undefined
  if (isEnded(record)) {
    await freeSession(bridge, record)
    return record
  }
  const here = bridge.registry.entry(key)
  if (here) return here
  // A stopping bridge must not take over requests again; the next bridge will.
  if (!bridge.isRunning()) return record
  const { owner, kind, payloadHash, deadlineAt } = record
  const call = { owner, kind, payloadHash, ids: idsOf(record), deadlineAt, isRepeatable: true, abortSignal: undefined }
  const entry = bridge.registry.open(call)
  await attachToRequest(bridge, entry, stored).catch((error: unknown) => refuseEntry(bridge.core, bridge.registry, entry, error))
  return entry
}

/**
 * Makes the entry reflect the record: its end, resumed work, or waiting for the process that works on it. Resolves once that is
 * decided, not when the request ends.
 */
async function attachToRequest(bridge: BridgeContext, entry: ActiveRequest, stored: Stored<RequestRecord>): Promise<void> {
  const { registry, core } = bridge
  const { value: record } = stored
  const goesOn = (work: Promise<void>): void => void work.catch((error: unknown) => refuseEntry(core, registry, entry, error))
  entry.stored = stored
  entry.request.become(idsOf(record))
  const goesOnHere = await isResumable(bridge, record)
  // If the record names this process, no process works on the request any more.
  entry.isElsewhere = !goesOnHere && record.home !== core.processes.id && (await core.processes.isAlive(record.home))
  entry.request.accept()
  if (isEnded(record)) return registry.leave(entry, resultOf(record))
  if (goesOnHere) return goesOn(resume(bridge, entry, record))
  if (entry.isElsewhere) return goesOn(follow(bridge, entry))
  await registry.change(entry, lostRequest)
  registry.leave(entry, resultOf(entry.stored.value))
}

/** Returns whether another process may resume the request. */
export async function isResumable(bridge: BridgeContext, record: RequestRecord): Promise<boolean> {
  return record.durable && record.kind !== 'create' && !(await isSessionOver(bridge, record))
}

/**
 * Returns whether the session of a prompt was closed. In that case the closing bridge records the end of the prompt, or it died
 * before it could.
 */
async function isSessionOver({ sessions }: BridgeContext, { kind, owner, sessionId }: RequestRecord): Promise<boolean> {
  if (kind !== 'prompt') return false
  const session = await sessions.find({ owner, id: sessionId })
  return session === undefined || session.status === 'over'
}

/** Sends the prompt to the durable agent again. Under the same id, it joins its own run. */
async function resume(bridge: BridgeContext, entry: ActiveRequest, record: RequestRecord): Promise<void> {
  const { work } = record
  entry.isResumed = true
  entry.place = bridge.admission.hold(record.owner)
  for (const [id, answer] of Object.entries(record.answered ?? {})) entry.unsure.set(id, answer)
  entry.request.start()
  if (!work) throw new BridgeError('INTERNAL', 'The record of the request is incomplete: its input is missing')
  const found = bridge.directory.findEarlier(record.agentId, record.owner)
  limitSilence(bridge.core, entry, found)
  const home = bridge.core.processes.id
  await bridge.registry.change(entry, (current) => (isEnded(current) ? undefined : { ...current, home, status: 'running' }))
  const key = keyOf(work.session)
  if (record.kind === 'prompt') return workOnPrompt(bridge, entry, await bridge.sessions.held(key), work)
  const releaseSlot = (): void => {}
  await workOnDelegation(bridge, entry, { found, releaseSlot, open: () => reopened(bridge, record, work.session) }, work)
}

/** Returns the session of a delegation: the existing one, or a new one if the bridge ended before opening it. */
async function reopened(
  { sessions, directory }: BridgeContext,
  { requestId }: RequestRecord,
  context: NonNullable<RequestRecord['work']>['session'],
): Promise<LiveSession> {
  const earlier = await sessions.find(keyOf(context))
  if (earlier && earlier.status !== 'over') return sessions.held(keyOf(context))
  const found = directory.findEarlier(context.agentId, context.owner)
  return sessions.open({ context, found, releaseSlot: sessions.slots.hold(found.executor, context.owner), requestId })
}

/** Waits for a request of another process by polling its record. */
async function follow(bridge: BridgeContext, entry: ActiveRequest): Promise<void> {
  const { registry, core } = bridge
  const { clock } = core.settings
  const { watch, ids, owner } = entry.request
  entry.request.start()
  watch.pause(true)
  while (!watch.interruption) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancelTimer = clock.setTimer(clock.now() + lookAgainMs, resolve)
    await Promise.race([promise, watch.fired]).finally(cancelTimer)
    const stored = await registry.read({ owner, id: ids.requestId })
    if (!stored) break
    const { value: record } = stored
    if (isWaiting(record)) entry.request.pause(resultOf(record))
    else entry.request.goOn()
    if (isEnded(record) || !(await core.processes.isAlive(record.home))) return attachToRequest(bridge, entry, stored)
  }
  registry.leave(entry, detached(ids))
}

/** Frees a session that is still busy with a request that has ended. */
async function freeSession({ sessions, core }: BridgeContext, record: RequestRecord): Promise<void> {
  if (record.kind !== 'prompt') return
  const { requestId, owner, sessionId } = record
  await sessions.settle({ owner, id: sessionId }, { requestId, now: core.settings.clock.now(), ...sessionAfter(resultOf(record), true) })
}
