import { createRedaction } from '@bowline/llm'
import { isMarked } from '@bowline/llm/arguments'
import type { AgentErrorCode, AgentErrorData } from '../events/turn-events.ts'

const marker = Symbol.for('bowline.agent-loop.error')

/**
 * Thrown synchronously if an argument is wrong or the journal is busy; a `Journal` may reject with it. Every other failure is data
 * in the events and in the result.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly code: AgentErrorCode
  readonly [marker] = true

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** True for an `AgentError` of any installed copy of this package. */
  static isInstance(value: unknown): value is AgentError {
    return isMarked(value, marker)
  }
}

/** Returns code and message of an error as plain data. */
export function errorData(error: AgentError): AgentErrorData {
  return { code: error.code, message: error.message }
}

const redaction = createRedaction()

/**
 * Returns the text of a thrown value, with everything redacted that looks like a secret. Models, logs and streams get this text,
 * whether a tool, a hook or a provider failed.
 */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return redaction.text(error.message || error.name)
    return typeof error === 'string' ? redaction.text(error) : unknownError
  } catch {
    // A thrown value may itself throw when it is read, for example a proxy. Reporting the error must not fail because of that.
    return unknownError
  }
}

const unknownError = 'unknown error'
