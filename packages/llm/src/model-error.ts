import { isMarked } from './arguments.ts'

/**
 * The failure of a model call, as data. `retryable` means that the same request may succeed later. `recovery` says what must change
 * first. `phase` says whether any content had been delivered. `message` has at most 2,000 characters, with keys and bearer tokens
 * masked.
 */
export interface ModelError {
  readonly kind: ErrorKind
  readonly retryable: boolean
  readonly recovery?: 'wait' | 'compact' | 'lower-output' | 'shrink' | 'repair-history' | 'refresh-auth'
  readonly message: string
  /** HTTP status. For an error inside a stream, the status that the provider or client assigns to it. */
  readonly status?: number
  readonly code?: string
  readonly type?: string
  readonly param?: string
  readonly provider?: string
  readonly modelId?: string
  readonly requestId?: string
  /** Delay in milliseconds that the provider asks for, unchanged: no cap, no jitter. Only if retryable. */
  readonly retryAfterMs?: number
  /** Whether any content was delivered before the failure. If so, a retry repeats it. */
  readonly phase: 'before-output' | 'after-output'
  /**
   * Tokens of the request and the maximum of the model, if the provider states them. For `output-budget`, `tokens` is the input
   * alone, so the difference is what may be requested as output.
   */
  readonly limits?: { readonly tokens?: number; readonly maximum?: number }
}

/**
 * Kind of a failed model call.
 *
 * Retryable after a wait: `network`, `timeout`, `rate-limit`, `overloaded`, `server-error`, `unknown`. Retryable at once:
 * `empty-response`, `malformed-response`, `stream-broken`.
 *
 * Not retryable unless the request changes: `context-overflow` (the prompt is longer than the context window), `output-budget`
 * (prompt and requested output together are), `payload-too-large` (too many bytes), `history-invalid` (the provider refuses the
 * transcript), `content-blocked` (a filter of the provider), `bad-request`.
 *
 * Not retryable unless access or configuration changes: `auth` (the credential is refused or has expired; a fresh one may help),
 * `auth-permanent` (the key is wrong), `billing`, `permission`, `model-not-found`, `config` (the client refused the call).
 * `aborted`: the caller stopped the call.
 */
export type ErrorKind =
  | 'aborted'
  | 'network'
  | 'timeout'
  | 'rate-limit'
  | 'overloaded'
  | 'server-error'
  | 'billing'
  | 'auth'
  | 'auth-permanent'
  | 'permission'
  | 'model-not-found'
  | 'context-overflow'
  | 'output-budget'
  | 'payload-too-large'
  | 'history-invalid'
  | 'content-blocked'
  | 'bad-request'
  | 'empty-response'
  | 'malformed-response'
  | 'stream-broken'
  | 'config'
  | 'unknown'

const marker = Symbol.for('bowline.llm.error')

/** Thrown synchronously if an argument or the configuration is wrong. Failures of calls are returned as data instead. */
export class LlmError extends Error {
  override readonly name = 'LlmError'
  readonly code: 'invalid-config' | 'invalid-input'
  readonly [marker] = true

  constructor(code: 'invalid-config' | 'invalid-input', message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** True for an `LlmError` of any installed copy of this package. */
  static isInstance(value: unknown): value is LlmError {
    return isMarked(value, marker)
  }
}
