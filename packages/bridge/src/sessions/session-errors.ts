import type { JSONValue } from '@bowline/llm'
import type { PendingInput } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { namesOf } from '../missing-agent.ts'
import type { SessionRecord } from './session-record.ts'

/** Returns the same error for sessions that never existed, have ended, or belong to another owner. */
export function missingSession(sessionId: string): BridgeError {
  return new BridgeError('NOT_FOUND', 'Session not found', { details: { sessionId, reason: 'no-session', sessionValid: false } })
}

export function overSession({ sessionId, agentId, end }: SessionRecord): BridgeError {
  const details = { sessionId, agentId, sessionValid: false, ...(end !== undefined && { reason: end }) }
  switch (end) {
    case 'expired':
      return new BridgeError('EXPIRED', 'Session not found: it has expired, create a new one', { details })
    case 'shutdown':
      return new BridgeError('EXPIRED', 'Session not found: its bridge stopped, create a new one', { details })
    case 'closed':
    case undefined:
      return missingSession(sessionId)
    default: {
      const unknown: never = end
      return unknown
    }
  }
}

export function busySession({ sessionId, agentId, currentRequestId }: SessionRecord): BridgeError {
  const details = { sessionId, agentId, sessionValid: true, ...(currentRequestId !== undefined && { requestId: currentRequestId }) }
  return new BridgeError('BUSY', 'The session has a running request', { details })
}

/** Returns the error for a session whose request waits for answers. Not retryable, because waiting alone does not help. */
export function awaitingSession({ sessionId, agentId, currentRequestId }: SessionRecord, pending: readonly PendingInput[]): BridgeError {
  const asked = pending.map(({ id, kind, toolName }) => `${kind === 'approval' ? 'the approval' : 'the result'} ${id} of ${toolName}`)
  const details = {
    sessionId,
    agentId,
    reason: 'awaiting-input',
    sessionValid: true,
    pending: pending.map(asJson),
    ...(currentRequestId !== undefined && { requestId: currentRequestId }),
  }
  return new BridgeError('BUSY', `The session has a request that waits for ${namesOf(asked)}`, { retryable: false, details })
}

function asJson({ id, kind, toolName, input, agent }: PendingInput): JSONValue {
  return { id, kind, toolName, input, ...(agent && { agent: [...agent] }) }
}

export function failedSession({ sessionId, agentId }: SessionRecord): BridgeError {
  const details = { sessionId, agentId, reason: 'session-failed', sessionValid: false }
  return new BridgeError('UPSTREAM', 'The session has failed: close it and create a new one', { details })
}

export function elsewhere({ sessionId, agentId }: Pick<SessionRecord, 'sessionId' | 'agentId'>): BridgeError {
  const details = { sessionId, agentId, reason: 'elsewhere', outcome: 'none' as const, sessionValid: true }
  return new BridgeError('TRANSPORT', 'Another process serves the session', { retryable: false, details })
}
