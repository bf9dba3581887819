import { createModels, LlmError, type Models, type ModelsOptions } from '../src/index.ts'
import { scriptedModel, type ScriptedModel } from '../src/testing/index.ts'

export interface Shop {
  readonly provider: (modelId: string) => ScriptedModel
  readonly made: string[]
}

/** A provider that notes what it makes; its models call themselves `acme.chat`. */
export function shop(provider = 'acme.chat'): Shop {
  const made: string[] = []
  return {
    made,
    provider: (modelId) => {
      made.push(modelId)
      return scriptedModel([{ text: 'ok' }], { provider, modelId })
    },
  }
}

/** A registry of two such providers. */
export const registry = (options: Partial<ModelsOptions> = {}): Models =>
  createModels({ providers: { acme: shop().provider, ollama: shop('ollama.chat').provider }, ...options })

/** The words of the `LlmError` `invalid-config` that an act throws. */
export function refusalOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (LlmError.isInstance(error) && error.code === 'invalid-config') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}
