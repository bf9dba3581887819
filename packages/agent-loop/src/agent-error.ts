import type { AgentErrorCode, AgentErrorData } from './events/types.ts'

const marker = Symbol.for('bowline.agent-loop.error')

/** Misuse by the programmer, thrown synchronously, or what a `Journal` rejects with. All else is data. */
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
    return typeof value === 'object' && value !== null && marker in value
  }
}

/** The same facts as plain data. */
export function errorData(error: AgentError): AgentErrorData {
  return { code: error.code, message: error.message }
}

/** Text of whatever was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  return typeof error === 'string' ? error : 'unknown error'
}
