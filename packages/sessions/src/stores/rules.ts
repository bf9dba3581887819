import { addUsage } from '@bowline/llm'
import type { ClaimRequest, NewRun, NewSession, PartialEvent, RunPatch, SessionPatch } from '../store/contract.ts'
import { holdingStatuses, runMoves, terminalStatuses } from '../store/records.ts'
import type { RunRecord, RunStatus, SessionRecord, SessionStatus, StoredEvent } from '../store/records.ts'
import { refuseUnless } from './refused.ts'

/** A run without its input, which never changes. */
export type RunState = Omit<RunRecord, 'input'>

export function isOpen(status: RunStatus): boolean {
  return !(terminalStatuses as readonly RunStatus[]).includes(status)
}

export function isHolding(status: RunStatus): boolean {
  return (holdingStatuses as readonly RunStatus[]).includes(status)
}

export function newSession(key: string, session: NewSession): SessionRecord {
  const { at, ...given } = session
  return {
    ...given,
    key,
    status: 'active',
    version: 0,
    firstSeq: 1,
    nextSeq: 1,
    nextRun: 1,
    leaf: null,
    turns: 0,
    usage: {},
    createdAt: at,
    activeAt: at,
  }
}

export function patchSession(session: SessionRecord, patch: SessionPatch): SessionRecord {
  const usage = patch.usage ? addUsage(session.usage, patch.usage) : session.usage
  return { ...session, ...patch, usage }
}

/** The session after its runs changed. */
export function sessionStatus(openRuns: readonly RunStatus[]): SessionStatus {
  if (openRuns.includes('needs-recovery')) return 'failed'
  return openRuns.length > 0 ? 'busy' : 'idle'
}

export function newRun(session: SessionRecord, run: NewRun): RunRecord {
  const { at, ...given } = run
  return {
    ...given,
    session: session.key,
    n: session.nextRun,
    firstSeq: session.nextSeq,
    status: 'queued',
    epoch: 0,
    attempts: 0,
    totalAttempts: 0,
    step: 0,
    pendingToolCalls: [],
    pendingApprovals: [],
    usage: {},
    createdAt: at,
  }
}

/** The run after a patch. Refuses a move that the table of moves does not have. What was removed is undefined. */
export function patchRun<R extends RunState>(run: R, patch: RunPatch, now: number): R {
  const { status = run.status, reason, openMessageId, turnState, rest, error, endedAt } = patch
  if (patch.status) refuseUnless(runMoves[run.status].includes(status), 'conflict')
  const next = {
    ...run,
    ...patch,
    reason: patched(run.reason, reason),
    openMessageId: patched(run.openMessageId, openMessageId),
    turnState: patched(run.turnState, turnState),
    rest: patched(run.rest, rest),
    error: patched(run.error, error),
    endedAt: patch.status && !isOpen(status) ? (endedAt ?? now) : run.endedAt,
  }
  return patch.status && status !== 'running' ? { ...next, owner: undefined, leaseUntil: undefined } : next
}

function patched<T>(before: T | undefined, given: T | null | undefined): T | undefined {
  return given === undefined ? before : (given ?? undefined)
}

/** The run after a claim. A running one was lost by its owner, and that counts. */
export function claimRun<R extends RunState>(run: R, request: ClaimRequest, now: number): R {
  const lost = run.status === 'running' ? 1 : 0
  return {
    ...run,
    status: 'running',
    epoch: run.epoch + 1,
    owner: request.owner,
    leaseUntil: now + request.leaseMs,
    attempts: run.attempts + lost,
    totalAttempts: run.totalAttempts + lost,
  }
}

/** The event as readers get it: with its number and with what its reference stands for. */
export function wholeEvent(event: PartialEvent, seq: number, filledIn: FilledIn): StoredEvent {
  return { ...event, ...filledIn, seq } as unknown as StoredEvent
}

export type FilledIn = { readonly message?: unknown } | { readonly input?: unknown }
