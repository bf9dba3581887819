import type { Problem } from './wire.ts'

const marker = Symbol.for('bowline.client-error')

/** Code of an error that the client itself detects. All other codes are problem codes of the server. */
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
  readonly status?: number | undefined
  readonly retryable?: boolean
  readonly retryAfterMs?: number | undefined
  readonly problem?: Problem | undefined
  readonly cause?: unknown
}

/**
 * Error with which every call rejects. `code` is a `ClientErrorCode` or the code of the server's problem. `retryable` is true if
 * the same call may succeed later.
 */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  declare readonly code: string
  /** HTTP status; absent if there was no answer. */
  declare readonly status?: number
  declare readonly retryable: boolean
  declare readonly retryAfterMs?: number
  /** Problem body as the server sent it. */
  declare readonly problem?: Problem
  readonly [marker] = true

  constructor(code: ClientErrorCode | (string & {}), message: string, { cause, retryable = false, ...facts }: ClientErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    Object.assign(this, { code, retryable, ...facts })
  }

  /** Returns true for a `ClientError`, also from another installed copy of this package. */
  static isInstance(value: unknown): value is ClientError {
    try {
      return typeof value === 'object' && value !== null && marker in value
    } catch {
      // A thrown value may throw when it is read: a proxy can.
      return false
    }
  }
}

export function readingAborted(cause?: unknown): ClientError {
  return new ClientError('reading-aborted', 'The caller stopped reading; the run continues.', { cause })
}

export function hasCode(error: unknown, code: string): boolean {
  return ClientError.isInstance(error) && error.code === code
}

export function isReadingAborted(error: unknown): boolean {
  return hasCode(error, 'reading-aborted')
}
