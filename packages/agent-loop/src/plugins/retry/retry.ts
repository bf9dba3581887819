import type { AssistantMessage, Clock, ModelError } from '@bowline/llm'
import { definedFields } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import { checkFunction, checkKeys, checkNumber, checkOneOf, checkWhole } from '../../base/checks.ts'
import { yesOrNo } from '../../base/fields.ts'
import type { RetryRow } from '../../contract/journal.ts'
import type { RetryPolicy } from '../../contract/options.ts'
import { failed } from '../../kernel/ask.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { AnswerVerdict, RetryEnd, RetryStart, StepPlan } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { messagesToRewind, messagesToWithdraw, raiseBarrier, watchBarrier } from './rewind.ts'

type RetryVerdict = Extract<AnswerVerdict, { kind: 'retry' }>

const stateOf = turnState(({ open, run, step }) => ({
  /** Retry state of the step that `step` names. */
  row: open?.retry,
  step,
  /** Total wait of all retries of the turn. */
  waitedMs: open?.waitedMs ?? 0,
  // If the clock was set back meanwhile, the retry waits no longer than was announced.
  notBefore: open?.notBefore === undefined ? undefined : Math.min(open.notBefore, run.clock.now() + (open.waitedMs ?? 0)),
}))

/** Returns the retry state of the current step. */
function rowOf(turn: Turn): RetryRow | undefined {
  const state = stateOf(turn)
  if (state.step !== turn.step) {
    state.step = turn.step
    state.row = undefined
  }
  return state.row
}

/** Retries failed model calls, with the same model or the next one. May withdraw everything of a turn that fails. */
export function retryPlugin(policy: RetryPolicy): Plugin {
  return {
    name: 'retry',
    hooks: {
      open(turn) {
        stateOf(turn)
        watchBarrier(turn)
      },
      plan(turn, plan) {
        const place = turn.stepState === 'ended' ? 0 : (rowOf(turn)?.model ?? 0)
        plan.model = plan.models[place] ?? plan.models[0]
      },
      beforeAttempt: (turn) => (stateOf(turn).notBefore === undefined ? undefined : waitForRetry(turn)),
      answer: (turn, { plan, answer }) => judge(turn, policy, plan, answer.message),
      nextAttempt: (turn, verdict) => announce(turn, policy, verdict),
      attemptEnd: (turn, { success, error }) => (rowOf(turn)?.open ? endRetry(turn, success, error) : undefined),
      results: raiseBarrier,
      failing(turn, failure) {
        const [first, ...others] = rowOf(turn)?.failures ?? []
        if (first && failure.error) failure.error = { ...first, details: [...others, failure.error as ModelError] }
      },
      withdrawable: messagesToWithdraw,
      row(turn, row) {
        const retry = rowOf(turn)
        const { notBefore, waitedMs } = stateOf(turn)
        if (notBefore !== undefined) row.notBefore = notBefore
        if (waitedMs > 0) row.waitedMs = waitedMs
        if (retry) row.retry = retry
      },
    },
  }
}

/** Waits for the rest of the announced delay. A run that is being stopped makes no call. */
async function waitForRetry(turn: Turn): Promise<undefined> {
  const state = stateOf(turn)
  if (state.notBefore !== undefined) await waitUntil(turn.clock, state.notBefore, turn.stop.signal)
  if (!turn.stop.leaving) state.notBefore = undefined
  return undefined
}

/** Decides about a failed attempt: the order of decisions is the same for every error. */
function judge(turn: Turn, policy: RetryPolicy, plan: StepPlan, { stopReason, error }: AssistantMessage): AnswerVerdict | undefined {
  if (stopReason !== 'error' || !error || turn.stop.requested) return undefined
  const delayMs = delayOfRetry(turn, policy, error)
  const withdraw = policy.rewind === 'turn' ? messagesToRewind : () => []
  if (delayMs !== undefined) return { kind: 'retry', cause: 'error', delayMs, error, withdraw: withdraw(turn) }
  const fallback = nextModel(turn, policy, plan, error)
  if (fallback) return { kind: 'retry', cause: 'fallback', delayMs: 0, error, withdraw: withdraw(turn), fallback }
  const all = messagesToWithdraw(turn)
  return all && { kind: 'fail', error, withdraw: all, outcome: failed(turn, error) }
}

/** Returns undefined if the same model must not be asked again. */
function delayOfRetry(turn: Turn, policy: RetryPolicy, error: ModelError): number | undefined {
  const retries = rowOf(turn)?.count ?? 0
  if (retries >= policy.maxRetries || !isRetryable(turn, policy, error)) return undefined
  if ((error.retryAfterMs ?? 0) > policy.maxServerDelayMs) return undefined
  const delayMs = retryDelayMs(policy, retries + 1, error, turn.run.random)
  return stateOf(turn).waitedMs + delayMs > policy.maxTotalDelayMs ? undefined : delayMs
}

/** Returns the decision of the agent's `isRetryable` about an error, or else that of the error itself. */
function isRetryable(turn: Turn, policy: RetryPolicy, error: ModelError): boolean {
  if (error.kind === 'aborted') return false
  try {
    return yesOrNo('retry.isRetryable', policy.isRetryable?.(error)) ?? error.retryable
  } catch (thrown) {
    turn.log.record({ type: 'error', source: 'extension', name: 'retry.isRetryable', message: messageOf(thrown), fatal: false })
    return error.retryable
  }
}

function nextModel(turn: Turn, policy: RetryPolicy, plan: StepPlan, error: ModelError): RetryVerdict['fallback'] {
  const place = (rowOf(turn)?.model ?? 0) + 1
  const model = plan.models[place]
  return model && mayFallBack(error, isRetryable(turn, policy, error)) ? { place, model } : undefined
}

/** Announces the next attempt and stores the announcement, so that its wait continues after a crash. */
async function announce(turn: Turn, policy: RetryPolicy, { cause, delayMs, error, fallback }: RetryVerdict): Promise<RetryStart> {
  const state = stateOf(turn)
  const { count, model, failures = [] } = rowOf(turn) ?? { count: 0, model: 0 }
  state.row = fallback
    ? { count: 0, model: fallback.place, open: true, failures: [...failures, error] }
    : { count: count + (cause === 'error' ? 1 : 0), model, open: true, ...(failures.length > 0 && { failures }) }
  if (fallback) turn.useModel(fallback.model)
  turn.attempt++
  state.notBefore = turn.clock.now() + delayMs
  state.waitedMs += delayMs
  // The attempt after which the current model has no retry left.
  const maxAttempts = turn.attempt + Math.max(0, policy.maxRetries - state.row.count)
  const start = {
    step: turn.step,
    attempt: turn.attempt,
    maxAttempts,
    delayMs,
    notBefore: state.notBefore,
    cause,
    ...(fallback && { model: fallback.model.name }),
    error,
  }
  turn.log.record({ type: 'retry-start', ...start })
  turn.log.writeRun('running')
  await turn.commit()
  return start
}

/** Drafts the end of the announced attempt. */
function endRetry(turn: Turn, success: boolean, error: ModelError | undefined): RetryEnd {
  const state = stateOf(turn)
  const { open: _open, ...row } = state.row ?? { count: 0, model: 0 }
  state.row = success ? undefined : row
  state.notBefore = undefined
  const end = { step: turn.step, attempt: turn.attempt, success, ...(error && { error }) }
  turn.log.record({ type: 'retry-end', ...end })
  turn.log.writeRun('running')
  return end
}

const defaultRetry: RetryPolicy = {
  maxRetries: 3,
  baseDelayMs: 2_000,
  maxDelayMs: 30_000,
  jitter: 0.25,
  maxServerDelayMs: 60_000,
  maxTotalDelayMs: 180_000,
  rewind: 'attempt',
}

/** Reads the option. Throws `invalid-config`. */
export function retryPolicyOf(given: Partial<RetryPolicy> | false = {}): RetryPolicy {
  if (given === false) return { ...defaultRetry, maxRetries: 0 }
  checkKeys('retry', given, [...Object.keys(defaultRetry), 'isRetryable'])
  for (const key of ['maxRetries', 'baseDelayMs', 'maxDelayMs', 'maxServerDelayMs', 'maxTotalDelayMs'] as const) {
    checkWhole(`retry.${key}`, given[key], 0)
  }
  checkNumber('retry.jitter', given.jitter, 0)
  checkOneOf('retry.rewind', given.rewind, ['attempt', 'turn'])
  checkFunction('retry.isRetryable', given.isRetryable)
  return { ...defaultRetry, ...definedFields(given) }
}

/**
 * Returns the delay before retry number `retry` (1, 2 …): it doubles up to its maximum, and the provider's own delay is a minimum.
 */
export function retryDelayMs(policy: RetryPolicy, retry: number, error: ModelError, random: () => number): number {
  const own = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (retry - 1))
  return Math.round(Math.max(own, error.retryAfterMs ?? 0) * (1 + policy.jitter * random()))
}

/** Errors against which another model may help, but not a retry. */
const atOnceKinds: readonly ModelError['kind'][] = ['auth', 'auth-permanent', 'billing', 'model-not-found', 'config']
/** Errors against which another model would not help, or must not be tried. */
const neverKinds: readonly ModelError['kind'][] = ['bad-request', 'content-blocked', 'aborted']

/** Returns whether the next model of the list may take the step. Retryable errors allow it once their retries are used up. */
export function mayFallBack({ kind }: ModelError, isRetryable: boolean): boolean {
  if (neverKinds.includes(kind)) return false
  return isRetryable || atOnceKinds.includes(kind)
}

/** Resolves at that time, or at once if the signal is aborted. */
function waitUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || clock.now() >= atMs) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(atMs, end, { hold: true })
    signal.addEventListener('abort', end, { once: true })
  })
}
