import type { JSONObject } from '@bowline/llm'
import type { SessionContext } from '../agent.ts'
import type { BridgeRun, DelegateInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { checkDelegateInput } from '../input/check-input.ts'
import type { BookEntry, RequestCall } from '../requests/request-book.ts'
import { callOf, limitSilence, newRecord } from './call.ts'
import { checkLineage, lineageOf } from './depth.ts'
import type { Lineage } from './depth.ts'
import { findAgent } from './desk.ts'
import type { Desk } from './desk.ts'
import { joinEarlier } from './join.ts'
import { refuseEntry, refusedRun, tellRefusal, textIn } from './refuse.ts'
import { workOnDelegation } from './work-on.ts'

/** Creates a session, prompts it and closes it, as one request. */
export function delegate(desk: Desk, input: DelegateInput): BridgeRun {
  const { core, book } = desk
  const sessionId = core.settings.ids.next('bs')
  try {
    desk.checkRunning()
    checkDelegateInput(input, core.settings)
    const { prompt, agentId, metadata, runtimeParams } = input
    const call = callOf(core, { kind: 'delegate', input, sessionId, payload: { prompt, agentId, metadata, runtimeParams } })
    const joined = book.join(call)
    if (joined) return joined.request.run()
    const lineage = lineageOf(input)
    const entry = book.open(call)
    admit(desk, entry, { call, input, lineage }).catch((error: unknown) => refuseEntry(core, book, entry, error))
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
async function admit(desk: Desk, entry: BookEntry, { call, input, lineage }: Admission): Promise<void> {
  const { core, book, admission, sessions } = desk
  if (call.isRepeatable && (await joinEarlier(desk, entry, call))) return
  const found = findAgent(desk, call.owner, 'delegate', input.agentId)
  checkLineage(lineage, found.agent.id, core.settings)
  entry.place = admission.reserve(call.owner)
  const releaseSlot = await sessions.takeSlot(found.executor, call.owner)
  entry.request.become({ ...entry.request.ids, agentId: found.agent.id })
  limitSilence(core, entry, found)
  const context = newContext(core.settings.clock.now(), { owner: call.owner, ...entry.request.ids, ...lineage, metadata: input.metadata })
  const work = { prompt: input.prompt, runtimeParams: structuredClone(input.runtimeParams ?? {}) }
  const record = newRecord(core, entry, { session: context, durable: found.agent.durable, ...work })
  const inserted = await book.insert(entry, record).catch((error: unknown) => {
    releaseSlot()
    throw error
  })
  if (!inserted) {
    releaseSlot()
    entry.place.release()
    return void (await joinEarlier(desk, entry, call))
  }
  entry.request.accept()
  const open = () => sessions.open({ context, found, releaseSlot, requestId: record.requestId })
  await workOnDelegation(desk, entry, { found, releaseSlot, open }, work)
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
