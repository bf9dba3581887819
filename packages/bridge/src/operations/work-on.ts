import type { RuntimeParams } from '@bowline/llm'
import type { CloseReason } from '../agent.ts'
import type { FoundAgent } from '../agent-directory.ts'
import type { BridgeResult } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { takeKnown } from '../requests/answers.ts'
import { abortedResult, detached, outcomeResult, timedOut } from '../requests/outcome.ts'
import { asBridgeError, PromptWork } from '../requests/prompt-work.ts'
import type { WorkEnd } from '../requests/prompt-work.ts'
import { isSessionValid } from '../requests/request-registry.ts'
import type { ActiveRequest } from '../requests/request-registry.ts'
import { withResult, withStatus } from '../requests/request-record.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import { waitingFor } from '../requests/result-collector.ts'
import type { Settled } from '../requests/run-result.ts'
import type { Interruption } from '../requests/watch.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { keyOf } from '../sessions/session-registry.ts'
import type { BridgeContext } from './bridge-context.ts'

export interface Work {
  readonly prompt: string
  readonly runtimeParams: RuntimeParams
}

export interface Opening {
  readonly found: FoundAgent
  readonly releaseSlot: () => void
  readonly open: () => Promise<LiveSession>
}

/** Runs an accepted prompt: from the queue until its outcome is recorded and its session is free. Never rejects. */
export async function workOnPrompt(bridge: BridgeContext, entry: ActiveRequest, live: LiveSession, work: Work): Promise<void> {
  const { core, registry, sessions } = bridge
  const early = await turnComes(bridge, entry)
  const end = early ? endedEarly(entry, live.found, early) : await workIn(bridge, entry, live, work)
  if (end.detached) return leave(bridge, entry, end.result)
  const result = await registry.recordEnd(entry, end.result)
  const { requestId } = entry.request.ids
  await core.attempt('the session was not freed', () =>
    sessions.settle(keyOf(live.context), { requestId, now: core.settings.clock.now(), ...sessionAfter(result, end.settled) }),
  )
  leave(bridge, entry, result)
}

/** Runs an accepted delegation: opens a session, prompts it and closes it. Never rejects. */
export async function workOnDelegation(
  bridge: BridgeContext,
  entry: ActiveRequest,
  { found, releaseSlot, open }: Opening,
  work: Work,
): Promise<void> {
  const { core, registry, sessions } = bridge
  const early = await turnComes(bridge, entry)
  const session = early ?? (await openedInTime(bridge, entry, open))
  // The hook may never return, so its slot is released now. If it does open the session later, that session is closed at once.
  if ('cause' in session) releaseSlot()
  if ('cause' in session || BridgeError.isInstance(session)) {
    const end = BridgeError.isInstance(session)
      ? { result: { ok: false as const, error: session }, detached: false }
      : endedEarly(entry, found, session)
    return leave(bridge, entry, end.detached ? end.result : await registry.recordEnd(entry, end.result))
  }
  await core.attempt('what the agent is was not recorded', () => registry.change(entry, (record) => withDurability(record, session, work)))
  const end = await workIn(bridge, entry, session, work)
  if (end.detached) return leave(bridge, entry, end.result)
  const result = await registry.recordEnd(entry, end.result)
  // No later call names this session, so its slot must be freed even if the store fails.
  await core.attempt('the end of the session was not recorded', () => sessions.end(session, 'closed'))
  await sessions.takeDown(session, closeReason(entry, result), Math.max(0, entry.request.watch.deadlineAt - core.settings.clock.now()))
  leave(bridge, entry, result)
}

/** Whether an agent is durable may be known only once its session is open. */
function withDurability(record: RequestRecord, { context, found }: LiveSession, work: Work): RequestRecord | undefined {
  if (record.durable || !found.agent.durable) return undefined
  return { ...record, durable: true, work: { session: context, ...work } }
}

function leave({ registry }: BridgeContext, entry: ActiveRequest, result: BridgeResult): void {
  entry.place?.release()
  registry.leave(entry, result)
}

/** Waits in the queue. Returns the interruption if one came first. */
async function turnComes({ registry, core }: BridgeContext, entry: ActiveRequest): Promise<Interruption | undefined> {
  const { request, place } = entry
  if (!place || place.taken) {
    request.start()
    return entry.isResumed ? undefined : request.watch.interruption
  }
  request.watch.pause(true)
  const early = await Promise.race([place.entered.then(() => undefined), request.watch.fired])
  request.watch.pause(false)
  request.start()
  if (!early) await core.attempt('the start was not recorded', () => registry.change(entry, (record) => withStatus(record, 'running')))
  return early ?? request.watch.interruption
}

/** Returns the opened session, or the interruption or error that came first. */
async function openedInTime(
  { core, sessions }: BridgeContext,
  entry: ActiveRequest,
  open: () => Promise<LiveSession>,
): Promise<LiveSession | Interruption | BridgeError> {
  const { request } = entry
  const opening = open().catch((error: unknown) => asBridgeError(core, error, request))
  const opened = await Promise.race([opening, request.watch.fired])
  if ('cause' in opened && !BridgeError.isInstance(opened)) {
    // The hook is still running. If it opens the session later, the session must be closed.
    void core.attempt('an abandoned session was not closed', async () => {
      const late = await opening
      if (BridgeError.isInstance(late)) return
      await sessions.end(late, 'closed')
      await sessions.takeDown(late, 'failed')
    })
  }
  return opened
}

async function workIn(bridge: BridgeContext, entry: ActiveRequest, live: LiveSession, { prompt, runtimeParams }: Work): Promise<WorkEnd> {
  const { request } = entry
  const work = new PromptWork(bridge.core, { request, session: live.context, found: live.found, runtimeParams }, (settled) => {
    void bridge.core.attempt('the waiting was not told', () => wait(bridge, entry, settled))
  })
  entry.work = work
  const running = work.run({ prompt })
  live.quiet = running.then(() => undefined)
  const end = await running
  entry.settled = end.settled
  return end
}

/** Handles an agent that waits for input. After a crash, it may ask for input that was already given. */
async function wait(bridge: BridgeContext, entry: ActiveRequest, settled: Settled): Promise<void> {
  const { pending = [] } = settled.result
  const known = takeKnown(entry.unsure, pending)
  if (known.length === 0) return pause(bridge, entry, settled)
  // If the answers start a new prompt, that prompt asks the remaining questions itself.
  const isTaken = await entry.work?.answer(known)
  const open = pending.filter(({ id }) => known.every((answer) => answer.id !== id))
  if (isTaken && open.length > 0) await pause(bridge, entry, waitingFor(open, settled.result.text))
}

/** Pauses the request until its answers arrive. */
export async function pause({ registry, core }: BridgeContext, entry: ActiveRequest, settled: Settled): Promise<void> {
  const { request, place } = entry
  request.watch.pause(true)
  place?.step(true)
  const result = outcomeResult(request.ids, settled)
  await core.attempt('the waiting was not recorded', () => registry.change(entry, (record) => withResult(record, result)))
  request.pause(result)
}

/** Returns the end of a request that was interrupted before its agent was prompted. */
function endedEarly({ request }: ActiveRequest, { agent }: FoundAgent, interruption: Interruption): WorkEnd {
  const { ids } = request
  if (interruption.cause === 'timeout') return { result: timedOut(ids, interruption.stage, true), settled: true, detached: false }
  if (interruption.cause === 'shutdown' && agent.durable) return { result: detached(ids), settled: true, detached: true }
  return { result: abortedResult(ids), settled: true, detached: false }
}

/** Returns whether the session stays valid after the outcome, and its error. */
export function sessionAfter(result: BridgeResult, settled: boolean): { readonly valid: boolean; readonly error?: BridgeError } {
  if (result.ok) return settled ? { valid: true } : { valid: false, error: didNotStop(result) }
  return { valid: isSessionValid(result.error), error: result.error }
}

function didNotStop({ sessionId, agentId, requestId }: Extract<BridgeResult, { ok: true }>): BridgeError {
  const details = { sessionId, agentId, requestId, reason: 'did-not-stop', sessionValid: false }
  return new BridgeError('TIMEOUT', `Agent ${agentId} did not stop in time after it was cancelled`, { retryable: false, details })
}

function closeReason({ request }: ActiveRequest, result: BridgeResult): CloseReason {
  if (request.watch.interruption?.cause === 'shutdown') return 'shutdown'
  return result.ok ? 'closed' : 'failed'
}
