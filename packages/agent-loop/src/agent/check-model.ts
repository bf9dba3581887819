import { LlmError, describeModel } from '@bowline/llm'
import type { AnyLanguageModel } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import { refuseConfig } from './check-options.ts'

/** Throws `invalid-config` for what is no model, name or function. Whether a name means a model is found out by the run. */
export function checkModel(option: string, model: unknown): void {
  if (typeof model === 'function') return
  if (typeof model === 'string' ? model !== '' : isRef(model)) return
  try {
    describeModel({ model: model as AnyLanguageModel })
  } catch (error) {
    if (!LlmError.isInstance(error) && !(error instanceof TypeError)) throw error
    refuseConfig(`${option} must be a model of the AI SDK, the name of one, or a function: ${messageOf(error)}`)
  }
}

function isRef(model: unknown): boolean {
  if (typeof model !== 'object' || model === null || 'specificationVersion' in model) return false
  return 'provider' in model && 'model' in model
}
