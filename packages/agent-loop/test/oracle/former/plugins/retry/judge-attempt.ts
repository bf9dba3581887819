import type { AssistantMessage, ModelError } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { yesOrNo } from '../../base/yes-or-no.ts'
import { mayCompactForOverflow } from '../../kernel/compaction-phase.ts'
import type { ModelTarget } from '../../kernel/model-target.ts'
import type { StepPlan } from '../../kernel/step-plan.ts'
import type { Turn } from '../../kernel/turn.ts'
import { mayFallBack, retryDelayMs } from './retry.ts'
import { mayWithdrawTurn } from './rewind.ts'

export interface RetryVerdict {
  readonly kind: 'retry'
  readonly cause: 'error' | 'overflow' | 'fallback'
  readonly delayMs: number
  readonly error: ModelError
  /** Of a fallback: its place in the plan, and the model. */
  readonly fallback?: { readonly place: number; readonly model: ModelTarget }
}

export type Verdict =
  | { readonly kind: 'accept' }
  | RetryVerdict
  /** The turn has failed for good and is to leave nothing behind. */
  | { readonly kind: 'withdraw'; readonly error: ModelError }

/** What becomes of an attempt: one order of decisions for every error. */
export function judgeAttempt(turn: Turn, plan: StepPlan, { stopReason, error }: AssistantMessage): Verdict {
  if (stopReason !== 'error' || !error || turn.stop.requested) return { kind: 'accept' }
  if (error.kind === 'context-overflow' && mayCompactForOverflow(turn)) return { kind: 'retry', cause: 'overflow', delayMs: 0, error }
  const delayMs = delayOfRetry(turn, error)
  if (delayMs !== undefined) return { kind: 'retry', cause: 'error', delayMs, error }
  const fallback = nextModel(turn, plan, error)
  if (fallback) return { kind: 'retry', cause: 'fallback', delayMs: 0, error, fallback }
  return mayWithdrawTurn(turn) ? { kind: 'withdraw', error } : { kind: 'accept' }
}

/** Undefined: the same model must not be asked again. */
function delayOfRetry(turn: Turn, error: ModelError): number | undefined {
  const policy = turn.agent.retry
  const retries = turn.retry?.count ?? 0
  if (retries >= policy.maxRetries || !isRetryable(turn, error)) return undefined
  if ((error.retryAfterMs ?? 0) > policy.maxServerDelayMs) return undefined
  const delayMs = retryDelayMs(policy, retries + 1, error, turn.run.random)
  return turn.waitedMs + delayMs > policy.maxTotalDelayMs ? undefined : delayMs
}

/** What the agent says of an error, or the error itself. */
function isRetryable(turn: Turn, error: ModelError): boolean {
  if (error.kind === 'aborted') return false
  try {
    return yesOrNo('retry.isRetryable', turn.agent.retry.isRetryable?.(error)) ?? error.retryable
  } catch (thrown) {
    turn.log.record({ type: 'error', source: 'extension', name: 'retry.isRetryable', message: messageOf(thrown), fatal: false })
    return error.retryable
  }
}

function nextModel(turn: Turn, plan: StepPlan, error: ModelError): RetryVerdict['fallback'] {
  const place = (turn.retry?.model ?? 0) + 1
  const model = plan.models[place]
  return model && mayFallBack(error, isRetryable(turn, error)) ? { place, model } : undefined
}
