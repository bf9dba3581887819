import type { JSONObject } from '@bowline/llm'
import type { SessionContext } from '../agent.ts'
import type { BridgeRun, DelegateInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { checkDelegateInput } from '../input/check-input.ts'
import type { ActiveRequest, RequestCall } from '../requests/request-registry.ts'
import { callOf, limitSilence, newRecord } from './call.ts'
import { checkLineage, lineageOf } from './depth.ts'
import type { Lineage } from './depth.ts'
import { findAgent } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { attachToEarlier } from './attach-to-request.ts'
import { refuseEntry, refusedRun, tellRefusal, textIn } from './refuse.ts'
import { workOnDelegation } from './work-on.ts'

/** Creates a session, prompts it and closes it, as one request. */
export function delegate(bridge: BridgeContext, input: DelegateInput): BridgeRun {
  const { core, registry } = bridge
  const sessionId = core.settings.ids.next('bs')
  try {
    bridge.checkRunning()
    checkDelegateInput(input, core.settings)
    const { prompt, agentId, metadata, runtimeParams } = input
    const call = callOf(core, { kind: 'delegate', input, sessionId, payload: { prompt, agentId, metadata, runtimeParams } })
    const joined = registry.attach(call)
    if (joined) return joined.request.run()
    const lineage = lineageOf(input)
    const entry = registry.open(call)
    admit(bridge, entry, { call, input, lineage }).catch((error: unknown) => refuseEntry(core, registry, entry, error))
    return entry.request.run()
  } catch (error) {
    if (!BridgeError.isInstance(error)) throw error
    tellRefusal(core, 'delegate', error)
    return refusedRun({ requestId: textIn(input, 'requestId') ?? core.settings.ids.next('req'), sessionId }, error)
  }
}

interface Admission {
  readonly call: RequestCall
  readonly input: DelegateInput
  readonly lineage: Lineage
}

/** Runs all checks that can refuse the call before changing anything. Inserting the record accepts the request. */
async function admit(bridge: BridgeContext, entry: ActiveRequest, { call, input, lineage }: Admission): Promise<void> {
  const { core, registry, admission, sessions } = bridge
  if (call.isRepeatable && (await attachToEarlier(bridge, entry, call))) return
  const found = findAgent(bridge, call.owner, 'delegate', input.agentId)
  checkLineage(lineage, found.agent.id, core.settings)
  entry.place = admission.reserve(call.owner)
  const releaseSlot = await sessions.takeSlot(found.executor, call.owner)
  entry.request.become({ ...entry.request.ids, agentId: found.agent.id })
  limitSilence(core, entry, found)
  const context = newContext(core.settings.clock.now(), { owner: call.owner, ...entry.request.ids, ...lineage, metadata: input.metadata })
  const work = { prompt: input.prompt, runtimeParams: structuredClone(input.runtimeParams ?? {}) }
  const record = newRecord(core, entry, { session: context, durable: found.agent.durable, ...work })
  const inserted = await registry.insert(entry, record).catch((error: unknown) => {
    releaseSlot()
    throw error
  })
  if (!inserted) {
    releaseSlot()
    entry.place.release()
    return void (await attachToEarlier(bridge, entry, call))
  }
  entry.request.accept()
  const open = () => sessions.open({ context, found, releaseSlot, requestId: record.requestId })
  await workOnDelegation(bridge, entry, { found, releaseSlot, open }, work)
}

export interface ContextParts extends Lineage {
  readonly sessionId: string
  readonly conversationId?: string
  readonly agentId: string
  readonly owner: string
  readonly metadata: JSONObject | undefined
}

export function newContext(createdAt: number, parts: ContextParts): SessionContext {
  const { sessionId, conversationId = sessionId, agentId, owner, metadata = {}, depth, path } = parts
  return { sessionId, conversationId, agentId, owner, metadata: structuredClone(metadata), createdAt, depth, path: [...path] }
}
