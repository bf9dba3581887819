import type { ExecuteOptions, RuntimeParams } from '@bowline/client'
import type { AgentAccess } from '../options.ts'
import { ProblemError } from '../problems.ts'

/** Returns the settings of one run that a client asks for. Refuses those that the agent does not offer. */
export function runParamsOf(
  { models = [], runtimeParams: allowed = [] }: AgentAccess,
  { model, runtimeParams = {} }: ExecuteOptions,
  isNewSession: boolean,
): RuntimeParams | undefined {
  const names = Object.keys(runtimeParams)
  for (const name of names) {
    if (!allowed.includes(name)) throw notAllowed(`The agent does not let a client set runtimeParams.${name}.`)
  }
  // It replaces the instructions, which an existing session must keep.
  if (names.includes('systemPrompt') && !isNewSession) throw notAllowed('Instructions are for new sessions only.')
  for (const wanted of [model, runtimeParams.model]) {
    if (wanted !== undefined && !models.includes(wanted)) {
      throw new ProblemError('model-not-allowed', `The agent offers no model ${JSON.stringify(wanted)}: see GET /api/agents.`)
    }
  }
  if (model === undefined) return names.length > 0 ? runtimeParams : undefined
  return { ...runtimeParams, model }
}

function notAllowed(detail: string): ProblemError {
  return new ProblemError('option-not-allowed', detail)
}
