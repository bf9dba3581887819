import { argumentChecks } from '@bowline/llm/arguments'
import { AgentError } from './agent-error.ts'

/** Checks of inputs: each throws `invalid-input` that names the place and the kind of value received. */
export const checkInput = argumentChecks((message) => new AgentError('invalid-input', message))

/** Throws `invalid-input` that says what is wrong. */
export function refuseInput(message: string): never {
  throw new AgentError('invalid-input', message)
}
