import { isMarked, missingPackage } from '@bowline/llm/arguments'

const marker = Symbol.for('bowline.sessions.error')

/** Code of a `SessionError`. Branch on the code, not on the text. */
export type SessionErrorCode =
  | 'invalid-config'
  | 'invalid-key'
  | 'invalid-input'
  | 'invalid-cursor'
  | 'unknown-agent'
  | 'agent-mismatch'
  | 'unknown-run'
  | 'unknown-entry'
  | 'unknown-tool-call'
  | 'tool-result-conflict'
  | 'unknown-approval'
  | 'unknown-schedule'
  | 'approval-conflict'
  | 'session-missing'
  | 'session-expired'
  | 'session-deleted'
  | 'handle-closed'
  | 'busy'
  | 'id-reused'
  | 'cursor-expired'
  | 'cursor-ahead'
  | 'store-unavailable'
  | 'store-locked'
  | 'store-corrupt'
  | 'store-full'
  | 'schema-too-new'
  | 'entry-too-large'
  | 'conflict'
  | 'summary-failed'
  | 'queue-full'

/** Details of a `SessionError`. Which fields are set depends on its code. */
export interface SessionErrorFacts {
  /** The refused ids of a submission, each with its own code. */
  readonly refused?: readonly { readonly id: string; readonly code: SessionErrorCode }[]
  /** The faults of an input, each with the path of its field. */
  readonly issues?: readonly { readonly path: string; readonly message: string }[]
  /** With `busy`: id of the open run. */
  readonly runId?: string
  /** With `cursor-expired`: number of the first event that the log still holds. */
  readonly firstSeq?: number
  /** Line in the imported file, from 1. */
  readonly line?: number
  /** Underlying error, if there is one. */
  readonly cause?: unknown
}

/** Error caused by wrong use, or by a failing store. Branch on `code`. The message holds no message content and no connection strings. */
export class SessionError extends Error {
  override readonly name = 'SessionError'
  readonly code: SessionErrorCode
  readonly retryable: boolean
  readonly refused?: SessionErrorFacts['refused']
  readonly issues?: SessionErrorFacts['issues']
  readonly runId?: string
  readonly firstSeq?: number
  readonly line?: number
  readonly [marker] = true

  constructor(code: SessionErrorCode, message: string, facts: SessionErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = code
    this.retryable = code === 'store-unavailable'
    if (facts.refused) this.refused = facts.refused
    if (facts.issues) this.issues = facts.issues
    if (facts.runId !== undefined) this.runId = facts.runId
    if (facts.firstSeq !== undefined) this.firstSeq = facts.firstSeq
    if (facts.line !== undefined) this.line = facts.line
  }

  /** True for a `SessionError` of any installed copy of this package. */
  static isInstance(value: unknown): value is SessionError {
    return isMarked(value, marker)
  }
}

/** Emits a warning of the process. Default for hosts without a handler of warnings. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'BowlineWarning')
}

/** Returns a handler of a failed import of an optional peer, which names the peer and its user if it is not installed. */
export function missingPeer(user: string, name: string): (error: unknown) => never {
  return missingPackage(name, (message, cause) => new SessionError('invalid-config', `${user} ${message}`, { cause }))
}
