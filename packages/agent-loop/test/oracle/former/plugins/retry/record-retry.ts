import type { ModelError } from '@bowline/llm'
import type { RetryEndEvent, RetryStartEvent } from '../../events/types.ts'
import type { Turn } from '../../kernel/turn.ts'
import type { RetryVerdict } from './judge-attempt.ts'

type RetryStart = Omit<RetryStartEvent, 'type' | 'at' | 'runId' | 'turn' | 'seq'>
type RetryEnd = Omit<RetryEndEvent, 'type' | 'at' | 'runId' | 'turn' | 'seq'>

/** Announces the next attempt and stores the announcement: its wait goes on after a crash. */
export async function beginRetry(turn: Turn, { cause, delayMs, error, fallback }: RetryVerdict): Promise<RetryStart> {
  const { count, model, failures = [] } = turn.retry ?? { count: 0, model: 0 }
  turn.retry = fallback
    ? { count: 0, model: fallback.place, open: true, failures: [...failures, error] }
    : { count: count + (cause === 'error' ? 1 : 0), model, open: true, ...(failures.length > 0 && { failures }) }
  if (fallback) turn.useModel(fallback.model)
  turn.attempt++
  turn.notBefore = turn.clock.now() + delayMs
  turn.waitedMs += delayMs
  const start = {
    ...{ step: turn.step, attempt: turn.attempt, maxAttempts: maxAttemptsOf(turn), delayMs, notBefore: turn.notBefore, cause },
    ...(fallback && { model: fallback.model.name }),
    error,
  }
  turn.log.record({ type: 'retry-start', ...start })
  turn.log.writeRun('running')
  await turn.log.commit()
  return start
}

/** The attempt behind which the present model has no retry left. */
function maxAttemptsOf({ agent, attempt, retry }: Turn): number {
  return attempt + Math.max(0, agent.retry.maxRetries - (retry?.count ?? 0))
}

/** Drafts how the attempt that was announced has ended. Undefined: none was. */
export function endRetry(turn: Turn, success: boolean, error?: ModelError): RetryEnd | undefined {
  if (!turn.retry?.open) return undefined
  const { open: _open, ...retry } = turn.retry
  turn.retry = success ? undefined : retry
  turn.notBefore = undefined
  const end = { step: turn.step, attempt: turn.attempt, success, ...(error && { error }) }
  turn.log.record({ type: 'retry-end', ...end })
  turn.log.writeRun('running')
  return end
}

export async function tellRetryStart(turn: Turn, start: RetryStart): Promise<void> {
  if (turn.hooks.has('onRetryStart')) await turn.hooks.onRetryStart(start)
}

/** Once the end is stored. */
export async function tellRetryEnd(turn: Turn, end: RetryEnd | undefined): Promise<void> {
  if (!end || !turn.hooks.has('onRetryEnd')) return
  await turn.log.commit()
  await turn.hooks.onRetryEnd(end)
}
