import type { SessionContext } from '../agent.ts'
import type { BridgeSession, SessionStatus } from '../bridge-contract.ts'
import { errorBody } from '../error-body.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeError, BridgeErrorBody } from '../errors.ts'
import type { ExecutorLimits } from '../executors/executor.ts'
import { busySession, failedSession, overSession } from './session-errors.ts'

/** Reason of the end of a session. */
export type SessionEnd = 'closed' | 'expired' | 'shutdown'

/** A session as stored. Its record is kept for a while after its end, so that later calls get the reason. */
export interface SessionRecord extends SessionContext {
  readonly status: SessionStatus | 'over'
  readonly lastActivityAt: number
  /** Time of its creation, or of the end of its last prompt. */
  readonly idleSince: number
  readonly ttlMs: number
  readonly idleMs: number
  readonly durable: boolean
  /** Id of the bridge that holds it. */
  readonly home: string
  readonly currentRequestId?: string
  /** Request of the last prompt, also after it has ended. */
  readonly lastRequestId?: string
  readonly lastError?: BridgeErrorBody
  readonly end?: SessionEnd
}

export interface NewSession {
  readonly context: SessionContext
  readonly limits: ExecutorLimits
  readonly durable: boolean
  readonly home: string
  readonly now: number
  /** Request for which it is opened and which runs in it from the start. */
  readonly requestId: string | undefined
}

export function newSessionRecord({ context, limits, durable, home, now, requestId }: NewSession): SessionRecord {
  const { sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path } = context
  return {
    sessionId,
    conversationId,
    agentId,
    owner,
    metadata,
    createdAt,
    depth,
    path,
    durable,
    home,
    // The idle time starts now; time spent in the create hook is not activity of the session.
    lastActivityAt: createdAt,
    idleSince: now,
    ttlMs: limits.ttlMs ?? 0,
    idleMs: limits.idleMs ?? 0,
    ...(requestId === undefined ? { status: 'active' } : { status: 'busy', currentRequestId: requestId, lastRequestId: requestId }),
  }
}

export function contextOf({ sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path }: SessionRecord): SessionContext {
  return { sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path }
}

/** Returns the session as callers see it. Throws the error of an ended session. */
export function sessionView(record: SessionRecord): BridgeSession {
  const { sessionId, agentId, createdAt, lastActivityAt, currentRequestId, lastError, metadata } = record
  const expiresAt = expiryOf(record)
  return {
    sessionId,
    agentId,
    status: statusOf(record),
    createdAt,
    lastActivityAt,
    ...(Number.isFinite(expiresAt) && { expiresAt }),
    ...(currentRequestId !== undefined && { currentRequestId }),
    ...(lastError && { lastError }),
    metadata,
  }
}

function statusOf(record: SessionRecord): SessionStatus {
  if (record.status === 'over') throw overSession(record)
  return record.status
}

/** Returns the time after which it has expired; Infinity without limits. A busy session is never idle. */
export function expiryOf({ status, createdAt, idleSince, ttlMs, idleMs }: SessionRecord): number {
  const ofAge = ttlMs > 0 ? createdAt + ttlMs : Number.POSITIVE_INFINITY
  const ofIdleness = idleMs > 0 && status !== 'busy' ? idleSince + idleMs : Number.POSITIVE_INFINITY
  return Math.min(ofAge, ofIdleness)
}

/** Returns whether it has expired. A busy session stays until its outcome is recorded. */
export function isExpired(record: SessionRecord, now: number): boolean {
  return record.status !== 'over' && record.status !== 'busy' && now > expiryOf(record)
}

/** Returns the record with this prompt running. Throws if the session does not accept it. */
export function withPrompt(record: SessionRecord, requestId: string, now: number): SessionRecord {
  switch (record.status) {
    case 'active':
    case 'idle': {
      const { lastError: _none, ...rest } = record
      return { ...rest, status: 'busy', currentRequestId: requestId, lastRequestId: requestId, lastActivityAt: now }
    }
    case 'busy':
      throw busySession(record)
    case 'failed':
      throw failedSession(record)
    case 'over':
      throw overSession(record)
    default: {
      const unknown: never = record.status
      return unknown
    }
  }
}

export interface PromptEnd {
  readonly requestId: string
  readonly now: number
  /** Error of a failed prompt. */
  readonly error?: BridgeError
  /** Whether the session accepts another prompt. */
  readonly valid: boolean
}

/** Returns the record after its prompt has ended, or undefined if that prompt is no longer the running one. */
export function withoutPrompt(
  record: SessionRecord,
  { requestId, now, error, valid }: PromptEnd,
  redaction: BridgeRedaction,
): SessionRecord | undefined {
  if (record.status !== 'busy' || record.currentRequestId !== requestId) return undefined
  const { currentRequestId: _over, ...rest } = record
  const lastError = error && { lastError: errorBody(error, redaction) }
  return { ...rest, status: valid ? 'idle' : 'failed', ...lastError, lastActivityAt: now, idleSince: now }
}

/** Returns the record of a failed session. Undefined if it has ended, or if its prompt will report the failure. */
export function asFailed(
  record: SessionRecord,
  { error, now }: Pick<PromptEnd, 'now'> & { readonly error: BridgeError },
  redaction: BridgeRedaction,
): SessionRecord | undefined {
  if (record.status !== 'active' && record.status !== 'idle') return undefined
  return { ...record, status: 'failed', lastError: errorBody(error, redaction), lastActivityAt: now }
}

/** Returns the ended record, or undefined if it had already ended. */
export function asOver(record: SessionRecord, end: SessionEnd, now: number): SessionRecord | undefined {
  if (record.status === 'over') return undefined
  const { currentRequestId: _none, ...rest } = record
  return { ...rest, status: 'over', end, lastActivityAt: now }
}
