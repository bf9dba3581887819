import type { ModelError } from '@bowline/llm'

/** What a failed model call leads to. Counters are per step and begin again after each answer. */
export interface RetryPolicy {
  /** Default 3. */
  readonly maxRetries: number
  /** Doubled with each retry. Default 2,000. */
  readonly baseDelayMs: number
  /** Of our own delay. Default 30,000. */
  readonly maxDelayMs: number
  /** The share by which a delay grows at random, so that many callers do not come back together. Default 0.25. */
  readonly jitter: number
  /** The provider's own delay is a minimum; above this the turn ends at once. Default 60,000. */
  readonly maxServerDelayMs: number
  /** Of all waits of a turn. Default 180,000. */
  readonly maxTotalDelayMs: number
  /** `turn` goes back to the last message after which only `pure` tools ran. Default `attempt`. */
  readonly rewind: 'attempt' | 'turn'
  /** Undefined: as the error says itself. */
  readonly isRetryable?: (error: ModelError) => boolean | undefined
}
