import type { Answer } from '../agent.ts'
import type { BridgeRun, PromptInput } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { checkAnswers } from '../requests/answers.ts'
import type { CheckedAnswers } from '../requests/answers.ts'
import { Attempt } from '../requests/attempt.ts'
import type { ActiveRequest } from '../requests/request-registry.ts'
import { idsOf, resultOf } from '../requests/request-record.ts'
import { waitingFor } from '../requests/result-collector.ts'
import { elsewhere } from '../sessions/session-errors.ts'
import { missingRequest } from './bridge-context.ts'
import type { BridgeContext } from './bridge-context.ts'
import { takeUp } from './attach-to-request.ts'
import { internalError, refusedRun, tellRefusal } from './refuse.ts'
import { pause } from './work-on.ts'

/** Passes answers to a waiting request. Never refused for load, because the request has already been admitted. */
export function answer(bridge: BridgeContext, input: PromptInput, answers: readonly Answer[]): BridgeRun {
  const { owner = 'local', sessionId } = input
  const here = bridge.registry.entries().find(({ request }) => request.owner === owner && request.ids.sessionId === sessionId)
  const ids = { sessionId, requestId: input.requestId ?? here?.request.ids.requestId ?? '' }
  const passing = pass(bridge, input, answers).catch((error: unknown) => {
    const refusal = BridgeError.isInstance(error) ? error : internalError(bridge.core, error)
    tellRefusal(bridge.core, 'answer', refusal)
    return refusedRun(ids, refusal)
  })
  return runOf(passing, ids)
}

async function pass(bridge: BridgeContext, input: PromptInput, answers: readonly Answer[]): Promise<BridgeRun> {
  const { owner = 'local', sessionId } = input
  const requestId = input.requestId ?? (await waitingIn(bridge, owner, sessionId))
  const key = { owner, id: requestId }
  const found = bridge.registry.entry(key) ?? (await takeUp(bridge, key))
  if (!found || ('request' in found && !(await found.request.accepted))) throw missingRequest(requestId)
  const record = 'request' in found ? found.stored?.value : found
  if (record?.sessionId !== sessionId) throw missingRequest(requestId)
  if ('request' in found) {
    // After a restart, the agent is prompted again and repeats its open questions.
    if (found.isResumed && !found.work) await found.request.run().result()
    return found.isResumed && !found.work ? found.request.run() : passOn(bridge, found, { answers, abortSignal: input.abortSignal })
  }
  checkAnswers(record, answers)
  const attempt = new Attempt()
  attempt.settle(resultOf(record))
  return { ...idsOf(record), accepted: async () => true, result: () => attempt.result, [Symbol.asyncIterator]: () => attempt.open() }
}

interface GivenAnswers {
  readonly answers: readonly Answer[]
  readonly abortSignal: AbortSignal | undefined
}

/** Records the answers and passes them to the agent. If that fails, all questions are open again. */
async function passOn(bridge: BridgeContext, entry: ActiveRequest, { answers, abortSignal }: GivenAnswers): Promise<BridgeRun> {
  const { registry } = bridge
  const { request } = entry
  if (entry.isElsewhere) throw elsewhere(request.ids)
  let checked: CheckedAnswers | undefined
  let text = ''
  const changed = await registry.change(entry, (record) => {
    checked = checkAnswers(record, answers)
    if (checked.fresh.length === 0) return undefined
    const { outcome, ...rest } = record
    text = outcome?.text ?? ''
    return { ...rest, status: 'running', answered: checked.answered, asked: checked.remaining }
  })
  if (abortSignal) request.watch.follow(abortSignal)
  if (!checked || !changed) return request.run()
  request.goOn()
  request.watch.pause(false)
  entry.place?.step(false)
  const run = request.run()
  const { pending, remaining } = checked
  const isTaken = await entry.work?.answer(checked.fresh).catch(async (error: unknown) => {
    await pause(bridge, entry, waitingFor(pending, text))
    throw error
  })
  if (isTaken && remaining.length > 0) await pause(bridge, entry, waitingFor(remaining, ''))
  return run
}

/** Returns the running request of a session, or the last one. Throws `NOT_FOUND`. */
async function waitingIn({ registry, sessions }: BridgeContext, owner: string, sessionId: string): Promise<string> {
  const here = registry.entries().find(({ request }) => request.owner === owner && request.ids.sessionId === sessionId)
  if (here) return here.request.ids.requestId
  const { currentRequestId, lastRequestId } = await sessions.read({ owner, id: sessionId })
  const requestId = currentRequestId ?? lastRequestId
  if (requestId !== undefined) return requestId
  throw new BridgeError('NOT_FOUND', 'No request of this session waits for answers', { details: { sessionId } })
}

/** Returns a run that forwards to the promised one. */
function runOf(promise: Promise<BridgeRun>, ids: { readonly requestId: string; readonly sessionId: string }): BridgeRun {
  let found: Pick<BridgeRun, 'requestId' | 'sessionId'> = ids
  const run = promise.then((known) => (found = known) && known)
  return {
    get requestId() {
      return found.requestId
    },
    get sessionId() {
      return found.sessionId
    },
    accepted: async () => (await run).accepted(),
    result: async () => (await run).result(),
    async *[Symbol.asyncIterator]() {
      yield* await run
    },
  }
}
