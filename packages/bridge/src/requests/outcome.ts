import type { Usage } from '@bowline/llm'
import type { BridgeResult, RequestIds } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import type { Settled } from './run-result.ts'

export function outcomeResult(ids: RequestIds, { status, result }: Settled): BridgeResult {
  const { text, stopReason, structured, usage, cost, pending } = result
  return {
    ok: true,
    status,
    ...ids,
    text,
    stopReason,
    ...(structured !== undefined && { structured }),
    ...(usage !== undefined && { usage }),
    ...(cost !== undefined && { cost }),
    ...(pending !== undefined && { pending }),
  }
}

/**
 * Completes usage for callers and sums. If there is any count, input, output and total are always present: missing counts are 0, a
 * missing total is the sum.
 */
export function withCounts(usage: Usage | undefined): { readonly usage?: Usage } {
  if (!usage || Object.keys(usage).length === 0) return {}
  const { inputTokens = 0, outputTokens = 0 } = usage
  return { usage: { ...usage, inputTokens, outputTokens, totalTokens: usage.totalTokens ?? inputTokens + outputTokens } }
}

/** Returns the result of a timeout. `settled`: whether the agent stopped in time. */
export function timedOut(ids: RequestIds, stage: 'total' | 'inactivity', settled: boolean): BridgeResult {
  const details = { ...ids, stage, sessionValid: settled }
  return { ok: false, error: new BridgeError('TIMEOUT', `Agent ${ids.agentId} took too long`, { details }) }
}

/** Returns the result if the bridge stops and the agent continues without it. */
export function detached(ids: RequestIds): BridgeResult {
  const details = { ...ids, reason: 'shutdown', outcome: 'unknown' as const }
  return { ok: false, error: new BridgeError('TRANSPORT', 'The bridge stopped; the work continues', { retryable: true, details }) }
}

/** Returns the result of a cancelled request, with the text so far. */
export function abortedResult(ids: RequestIds, text = ''): BridgeResult {
  return outcomeResult(ids, { status: 'aborted', result: { text, stopReason: 'cancelled' } })
}
