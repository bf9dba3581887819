import { describeModel, LlmError } from '@bowline/llm'
import type { AnyLanguageModel } from '@bowline/llm'
import { messageOf } from './agent-error.ts'
import { checkRequired, refuseConfig } from './check-options.ts'
import { isRecord } from './json.ts'

/** Throws `invalid-config` for what is no model, name or function. The run finds out whether a name means a model. */
export function checkAgentModel(path: string, model: unknown): void {
  if (typeof model !== 'function') checkModel(path, model, 'a model of the AI SDK, the name of one, or a function')
}

/** The same without functions. */
export function checkModel(path: string, model: unknown, wanted = 'a model of the AI SDK or the name of one'): void {
  if (typeof model === 'string' ? model !== '' : isRef(model)) return
  checkRequired(path, model, wanted, isRecord)
  try {
    describeModel({ model: model as AnyLanguageModel })
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    refuseConfig(`${path} must be ${wanted}: ${messageOf(error)}`)
  }
}

function isRef(model: unknown): boolean {
  return isRecord(model) && !('specificationVersion' in model) && isName(model['provider']) && isName(model['model'])
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
