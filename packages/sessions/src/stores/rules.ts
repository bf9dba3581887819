import { addUsage } from '@bowline/llm'
import type { ClaimRequest, NewEvent, NewRun, NewSession, RunPatch, SessionPatch } from '../store/contract.ts'
import { holdingStatuses, runMoves, terminalStatuses } from '../store/records.ts'
import type { RunRecord, RunStatus, SessionRecord, SessionStatus, StoredEvent } from '../store/records.ts'
import { refuseUnless } from './refused.ts'

/** How a store knows that a running run has lost its owner: its lease is over, or it is not the owner that asks. */
export type LossRule = 'lease' | 'owner'

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
    usage: {},
    createdAt: at,
  }
}

/** The run after a patch. Refuses a move that the table of moves does not have. */
export function patchRun(run: RunRecord, patch: RunPatch, now: number): RunRecord {
  const { reason, openMessageId, error, endedAt, ...given } = patch
  const nullable = { reason, openMessageId, error }
  const removed = Object.entries(nullable).filter(([, value]) => value === null)
  const replaced = Object.entries(nullable).filter(([, value]) => value !== null && value !== undefined)
  const next = without({ ...run, ...given, ...Object.fromEntries(replaced) }, removed.map(([name]) => name))
  if (!patch.status) return next
  refuseUnless(runMoves[run.status].includes(patch.status), 'conflict')
  if (patch.status === 'running') return next
  const left = without(next, ['owner', 'leaseUntil'])
  return isOpen(patch.status) ? left : { ...left, endedAt: endedAt ?? now }
}

function without(run: RunRecord, names: readonly string[]): RunRecord {
  return Object.fromEntries(Object.entries(run).filter(([name]) => !names.includes(name))) as unknown as RunRecord
}

/** The run after a claim. A running one was lost by its owner, and that counts. */
export function claimRun(run: RunRecord, request: ClaimRequest, now: number): RunRecord {
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

export function isClaimable(run: RunRecord, owner: string, now: number, loss: LossRule): boolean {
  if (run.status === 'queued') return true
  if (run.status !== 'running') return false
  return loss === 'owner' ? run.owner !== owner : run.leaseUntil === undefined || run.leaseUntil <= now
}

/** The event as readers get it: with its number and with what its reference stands for. */
export function wholeEvent(stored: NewEvent, seq: number, referred: unknown): StoredEvent {
  const { event, refers } = stored
  const filledIn = refers && ('runInput' in refers ? { input: referred } : { message: referred })
  return { ...event, ...filledIn, seq } as unknown as StoredEvent
}
