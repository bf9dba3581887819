import { isMarked } from '@bowline/llm/arguments'

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
  /** The run that is open, with `busy`. */
  readonly runId?: string
  /** The first position that the log still holds, with `cursor-expired`. */
  readonly firstSeq?: number
  /** The place in an imported file, from 1. */
  readonly line?: number
  /** The error below, if there is one. */
  readonly cause?: unknown
}

/**
 * Error of misuse, or of a store that cannot do its work. `code` is one of `SessionErrorCode`. The text holds no message
 * content and no connection strings.
 */
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

/** Emits a warning of the process. Used if the host gives no handler for warnings. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'BowlineWarning')
}
