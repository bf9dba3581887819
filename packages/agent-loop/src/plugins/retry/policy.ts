import type { ModelError } from '@bowline/llm'
import { definedFields } from '@bowline/llm/arguments'
import { checkFunction, checkKeys, checkNumber, checkOneOf, checkWhole } from '../../base/checks.ts'
import type { RetryPolicy } from '../../contract/options.ts'

const defaultRetry: RetryPolicy = {
  maxRetries: 3,
  baseDelayMs: 2_000,
  maxDelayMs: 30_000,
  jitter: 0.25,
  maxServerDelayMs: 60_000,
  maxTotalDelayMs: 180_000,
  rewind: 'attempt',
}

/** Throws `invalid-config`. */
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

/** The wait before retry `retry` (1, 2 …): our own doubles up to its cap, and the provider's is a minimum. */
export function retryDelayMs(policy: RetryPolicy, retry: number, error: ModelError, random: () => number): number {
  const own = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (retry - 1))
  return Math.round(Math.max(own, error.retryAfterMs ?? 0) * (1 + policy.jitter * random()))
}

/** What only another model, not another try, may help against. */
const atOnceKinds: readonly ModelError['kind'][] = ['auth', 'auth-permanent', 'billing', 'model-not-found', 'config']
/** What another model would be asked in vain, or against its refusal. */
const neverKinds: readonly ModelError['kind'][] = ['bad-request', 'content-blocked', 'aborted']

/** Whether the next model of the list may take the step: retryable errors do when their retries are used up. */
export function mayFallBack({ kind }: ModelError, isRetryable: boolean): boolean {
  if (neverKinds.includes(kind)) return false
  return isRetryable || atOnceKinds.includes(kind)
}
