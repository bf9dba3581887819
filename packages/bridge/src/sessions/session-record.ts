import type { SessionContext } from '../agent.ts'
import type { BridgeSession, SessionStatus } from '../bridge-contract.ts'
import { errorBody } from '../error-body.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeError, BridgeErrorBody } from '../errors.ts'
import type { ExecutorLimits } from '../executors/executor.ts'
import { busySession, failedSession, overSession } from './session-errors.ts'

/** Why a session is no more. */
export type SessionEnd = 'closed' | 'expired' | 'shutdown'

/** A session as it is stored. Once it is over it stays a while, so that calls can be told so. */
export interface SessionRecord extends SessionContext {
  readonly status: SessionStatus | 'over'
  readonly lastActivityAt: number
  /** Creation, or the last end of a prompt. */
  readonly idleSince: number
  readonly ttlMs: number
  readonly idleMs: number
  readonly durable: boolean
  /** The bridge that holds it. */
  readonly home: string
  readonly currentRequestId?: string
  /** The request of the last prompt, also when it has ended. */
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
  /** Opened for this request, which runs in it from the start. */
  readonly requestId: string | undefined
}

export function newSessionRecord({ context, limits, durable, home, now, requestId }: NewSession): SessionRecord {
  const { sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path } = context
  return {
    ...{ sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path, durable, home },
    // A hook may have taken its time: that was no activity of the session.
    ...{ lastActivityAt: createdAt, idleSince: now, ttlMs: limits.ttlMs ?? 0, idleMs: limits.idleMs ?? 0 },
    ...(requestId === undefined ? { status: 'active' } : { status: 'busy', currentRequestId: requestId, lastRequestId: requestId }),
  }
}

export function contextOf({ sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path }: SessionRecord): SessionContext {
  return { sessionId, conversationId, agentId, owner, metadata, createdAt, depth, path }
}

/** What callers see. Throws what a call on this session answers with once it is over. */
export function sessionView(record: SessionRecord): BridgeSession {
  const { sessionId, agentId, createdAt, lastActivityAt, currentRequestId, lastError, metadata } = record
  const expiresAt = expiryOf(record)
  return {
    ...{ sessionId, agentId, status: statusOf(record), createdAt, lastActivityAt },
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

/** The last moment at which it is there; Infinity without limits. A busy session is never idle. */
export function expiryOf({ status, createdAt, idleSince, ttlMs, idleMs }: SessionRecord): number {
  const ofAge = ttlMs > 0 ? createdAt + ttlMs : Number.POSITIVE_INFINITY
  const ofIdleness = idleMs > 0 && status !== 'busy' ? idleSince + idleMs : Number.POSITIVE_INFINITY
  return Math.min(ofAge, ofIdleness)
}

/** A busy session stays until its outcome is recorded. */
export function isExpired(record: SessionRecord, now: number): boolean {
  return record.status !== 'over' && record.status !== 'busy' && now > expiryOf(record)
}

/** The session takes this prompt. Throws when it cannot. */
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
  /** Of a prompt that failed. */
  readonly error?: BridgeError
  /** Whether the session takes another prompt. */
  readonly valid: boolean
}

/** The prompt is over. Undefined: it is not this session's prompt any more. */
export function withoutPrompt(record: SessionRecord, { requestId, now, error, valid }: PromptEnd, redaction: BridgeRedaction): SessionRecord | undefined {
  if (record.status !== 'busy' || record.currentRequestId !== requestId) return undefined
  const { currentRequestId: _over, ...rest } = record
  const lastError = error && { lastError: errorBody(error, redaction) }
  return { ...rest, status: valid ? 'idle' : 'failed', ...lastError, lastActivityAt: now, idleSince: now }
}

/** It can no longer be prompted. Undefined: it is over, or its prompt will say so. */
export function asFailed(record: SessionRecord, { error, now }: Pick<PromptEnd, 'now'> & { readonly error: BridgeError }, redaction: BridgeRedaction): SessionRecord | undefined {
  if (record.status !== 'active' && record.status !== 'idle') return undefined
  return { ...record, status: 'failed', lastError: errorBody(error, redaction), lastActivityAt: now }
}

/** Undefined: it was over before. */
export function asOver(record: SessionRecord, end: SessionEnd, now: number): SessionRecord | undefined {
  if (record.status === 'over') return undefined
  const { currentRequestId: _none, ...rest } = record
  return { ...rest, status: 'over', end, lastActivityAt: now }
}

