import type { JSONValue, Usage } from '@bowline/llm'
import type { PendingInput, StopReason } from './agent.ts'
import { BridgeError } from './errors.ts'
import type { OutcomeStatus, Settled } from './run-result.ts'
import type { Interruption } from './watch.ts'

export interface RequestIds {
  readonly sessionId: string
  readonly agentId: string
  readonly requestId: string
}

/** The answer to a delegation that did not fail. */
export interface BridgeOutcome extends RequestIds {
  readonly status: OutcomeStatus
  readonly text: string
  readonly stopReason: StopReason
  readonly structured?: JSONValue
  readonly usage?: Usage
  readonly pending?: readonly PendingInput[]
}

export type BridgeResult = ({ readonly ok: true } & BridgeOutcome) | { readonly ok: false; readonly error: BridgeError }

export function outcomeResult(ids: RequestIds, { status, result }: Settled): BridgeResult {
  const { text, stopReason, structured, usage, pending } = result
  return {
    ok: true,
    status,
    ...ids,
    text,
    stopReason,
    ...(structured !== undefined && { structured }),
    ...(usage !== undefined && { usage }),
    ...(pending !== undefined && { pending }),
  }
}

/** What the caller gets when nobody waits for the agent any more. `detached`: the agent goes on without the bridge. */
export function interruptedResult(ids: RequestIds, interruption: Interruption, detached: boolean): BridgeResult {
  if (interruption.cause === 'timeout') {
    const details = { ...ids, stage: interruption.stage }
    return { ok: false, error: new BridgeError('TIMEOUT', `Agent ${ids.agentId} took too long`, { details }) }
  }
  if (detached) {
    const details = { ...ids, reason: 'shutdown', outcome: 'unknown' as const }
    return { ok: false, error: new BridgeError('TRANSPORT', 'The bridge stopped; the work goes on', { retryable: true, details }) }
  }
  return outcomeResult(ids, { status: 'aborted', result: { text: '', stopReason: 'cancelled' } })
}
