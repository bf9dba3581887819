import type { ModelError } from '@bowline/llm'
import type { RetryVerdict } from './judge-attempt.ts'
import type { Turn } from './turn.ts'

/** Announces the next attempt and stores the announcement: its wait goes on after a crash. */
export async function beginRetry(turn: Turn, { cause, delayMs, error, fallback }: RetryVerdict): Promise<void> {
  const { maxRetries } = turn.agent.retry
  const before = turn.retry ?? { count: 0, model: 0 }
  turn.retry = fallback ? { count: 0, model: fallback.place } : { ...before, count: before.count + (cause === 'error' ? 1 : 0) }
  if (fallback) turn.useModel(fallback.model)
  turn.attempt++
  turn.notBefore = turn.clock.now() + delayMs
  turn.waitedMs += delayMs
  const fields = {
    ...{ step: turn.step, attempt: turn.attempt, maxAttempts: maxRetries + 1, delayMs, notBefore: turn.notBefore, cause },
    ...(fallback && { model: fallback.model.name }),
    error,
  }
  turn.retryOpen = true
  turn.record({ type: 'retry-start', ...fields })
  turn.writeRun('running')
  await turn.commit()
  if (turn.hooks.has('onRetryStart')) await turn.hooks.onRetryStart(fields)
}

/** Says how the attempt that was announced has ended; nothing when none was. */
export async function endRetry(turn: Turn, success: boolean, error?: ModelError): Promise<void> {
  if (!turn.retryOpen) return
  turn.retryOpen = false
  turn.notBefore = undefined
  const fields = { step: turn.step, attempt: turn.attempt, success, ...(error && { error }) }
  turn.record({ type: 'retry-end', ...fields })
  if (success) turn.retry = undefined
  if (!turn.hooks.has('onRetryEnd')) return
  await turn.commit()
  await turn.hooks.onRetryEnd(fields)
}
