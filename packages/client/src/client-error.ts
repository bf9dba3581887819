import type { Problem } from './wire.ts'

const marker = Symbol.for('bowline.client-error')

/** What this package itself says; every other code is that of the server's problem. */
export type ClientErrorCode =
  | 'disconnected'
  | 'frame-too-large'
  | 'invalid-answer'
  | 'invalid-config'
  | 'invalid-input'
  | 'network'
  | 'reading-aborted'
  | 'redirect-refused'
  | 'token-failed'

export interface ClientErrorOptions {
  readonly status?: number
  readonly retryable?: boolean
  readonly retryAfterMs?: number
  readonly problem?: Problem
  readonly cause?: unknown
}

export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: string
  /** Of the HTTP answer; absent when there was none. */
  readonly status?: number
  readonly retryable: boolean
  readonly retryAfterMs?: number
  /** As the server sent it. */
  readonly problem?: Problem
  readonly [marker] = true

  constructor(code: ClientErrorCode | (string & {}), message: string, options: ClientErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? false
    if (options.status !== undefined) this.status = options.status
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options.problem) this.problem = options.problem
  }

  /** True also for an error of another installed copy of this package. */
  static isInstance(value: unknown): value is ClientError {
    return typeof value === 'object' && value !== null && marker in value
  }
}

export function readingAborted(cause?: unknown): ClientError {
  return new ClientError('reading-aborted', 'The reading was ended here; the run goes on at the server.', { cause })
}

export function isReadingAborted(error: unknown): boolean {
  return ClientError.isInstance(error) && error.code === 'reading-aborted'
}
