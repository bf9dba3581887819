import { AgentError } from '../agent-error.ts'

/** Throws `invalid-input` that says what is wrong. */
export function refuseInput(message: string): never {
  throw new AgentError('invalid-input', message)
}
