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
 * Usage as callers and sums expect it: input, output and total where there is any count. A count that nobody reported is 0,
 * and a total that nobody reported is the sum of the two.
 */
export function withCounts(usage: Usage | undefined): { readonly usage?: Usage } {
  if (!usage || Object.keys(usage).length === 0) return {}
  const { inputTokens = 0, outputTokens = 0 } = usage
  return { usage: { ...usage, inputTokens, outputTokens, totalTokens: usage.totalTokens ?? inputTokens + outputTokens } }
}

/** What the caller gets when the time was over. `settled`: the agent stopped when it was told. */
export function timedOut(ids: RequestIds, stage: 'total' | 'inactivity', settled: boolean): BridgeResult {
  const details = { ...ids, stage, sessionValid: settled }
  return { ok: false, error: new BridgeError('TIMEOUT', `Agent ${ids.agentId} took too long`, { details }) }
}

/** What the caller gets when the bridge stops and the agent goes on without it. */
export function detached(ids: RequestIds): BridgeResult {
  const details = { ...ids, reason: 'shutdown', outcome: 'unknown' as const }
  return { ok: false, error: new BridgeError('TRANSPORT', 'The bridge stopped; the work goes on', { retryable: true, details }) }
}

/** What the caller gets when the agent did nothing, or nothing more than this text. */
export function abortedResult(ids: RequestIds, text = ''): BridgeResult {
  return outcomeResult(ids, { status: 'aborted', result: { text, stopReason: 'cancelled' } })
}
