import type { PendingInput } from '../agent.ts'
import type { BridgeRun, PromptInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { checkPromptInput } from '../input/check-input.ts'
import type { Owned } from '../records/record-table.ts'
import type { ActiveRequest, RequestCall } from '../requests/request-registry.ts'
import { isWaiting } from '../requests/request-record.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { awaitingSession, busySession } from '../sessions/session-errors.ts'
import { keyOf } from '../sessions/session-registry.ts'
import { withPrompt } from '../sessions/session-record.ts'
import { answer } from './answer.ts'
import { callOf, limitSilence, newRecord } from './call.ts'
import { findAgent, missingRequest } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { attachToEarlier, takeUp } from './attach-to-request.ts'
import { refuseEntry, refusedRun, tellRefusal, textIn } from './refuse.ts'
import { workOnPrompt } from './work-on.ts'

/** Sends a prompt to an open session, or answers to its waiting request. */
export function prompt(bridge: BridgeContext, input: PromptInput): BridgeRun {
  const { core, registry } = bridge
  try {
    bridge.checkRunning()
    checkPromptInput(input, core.settings)
    if (input.answers !== undefined) return answer(bridge, input, input.answers)
    const { sessionId, runtimeParams } = input
    const call = callOf(core, { kind: 'prompt', input, sessionId, payload: { prompt: input.prompt, sessionId, runtimeParams } })
    const joined = registry.attach(call)
    if (joined) return joined.request.run()
    const entry = registry.open(call)
    admit(bridge, entry, call, input).catch((error: unknown) => refuseEntry(core, registry, entry, error))
    return entry.request.run()
  } catch (error) {
    if (!BridgeError.isInstance(error)) throw error
    tellRefusal(core, 'prompt', error)
    return refusedRun(
      { requestId: textIn(input, 'requestId') ?? core.settings.ids.next('req'), sessionId: textIn(input, 'sessionId') ?? '' },
      error,
    )
  }
}

/** Runs all checks that can refuse the call before changing anything. The session's compare-and-set accepts the prompt. */
async function admit(bridge: BridgeContext, entry: ActiveRequest, call: RequestCall, input: PromptInput): Promise<void> {
  const { core, registry, admission, sessions } = bridge
  if (call.isRepeatable && (await attachToEarlier(bridge, entry, call))) return
  const live = await sessions.held({ owner: call.owner, id: input.sessionId })
  findAgent(bridge, call.owner, 'prompt', live.context.agentId)
  await checkFree(bridge, live)
  entry.request.become({ ...entry.request.ids, agentId: live.context.agentId })
  entry.place = admission.reserve(call.owner)
  limitSilence(core, entry, live.found)
  const { prompt: text = '', runtimeParams = {} } = input
  const record = newRecord(core, entry, { session: live.context, durable: live.found.agent.durable, prompt: text, runtimeParams })
  if (!(await registry.insert(entry, record))) {
    entry.place.release()
    if (await attachToEarlier(bridge, entry, call)) return
    throw missingRequest(record.requestId)
  }
  await sessions.take(live, record.requestId).catch(async (error: unknown) => {
    await registry.withdraw(entry)
    throw error
  })
  entry.request.accept()
  await workOnPrompt(bridge, entry, live, { prompt: text, runtimeParams: structuredClone(runtimeParams) })
}

/** Throws if the session accepts no prompt. If a request of a dead bridge left the session busy, takes that request over first. */
async function checkFree(bridge: BridgeContext, live: LiveSession): Promise<void> {
  const { currentRequestId: requestId, owner } = live.stored.value
  if (requestId !== undefined && !bridge.registry.entry({ owner, id: requestId })) {
    const left = await takeUp(bridge, { owner, id: requestId })
    // The prompt was refused because the store failed, although the store had accepted it.
    if (!left) await bridge.sessions.settle(keyOf(live.context), { requestId, now: bridge.core.settings.clock.now(), valid: true })
  }
  const record = live.stored.value
  if (record.status === 'busy') {
    const pending = await pendingIn(bridge, { owner, id: record.currentRequestId ?? '' })
    throw pending.length > 0 ? awaitingSession(record, pending) : busySession(record)
  }
  withPrompt(record, '', 0)
}

/** Returns the open questions of a request, in this process or another. */
async function pendingIn({ registry }: BridgeContext, key: Owned): Promise<readonly PendingInput[]> {
  const entry = registry.entry(key)
  const record = entry && !entry.isElsewhere ? entry.stored?.value : (await registry.read(key))?.value
  return record && isWaiting(record) ? (record.outcome?.pending ?? record.asked ?? []) : []
}
