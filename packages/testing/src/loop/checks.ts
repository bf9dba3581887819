import { AgentError } from '@bowline/agent-loop'
import { argumentChecks } from '@bowline/llm/arguments'

/** Checks of arguments. A violation is `invalid-config`. */
export const { checkBoolean, checkKeys, checkOneOf, checkRequired, checkWhole } = argumentChecks(
  (message) => new AgentError('invalid-config', message),
)
