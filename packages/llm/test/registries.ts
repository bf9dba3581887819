import { createModels, LlmError, type Models, type ModelsOptions } from '../src/index.ts'
import { scriptedModel, type ScriptedModel } from '../src/testing/index.ts'

export interface Shop {
  readonly provider: (modelId: string) => ScriptedModel
  readonly made: string[]
}

/** A provider that records the models it creates. Their `provider` is `acme.chat`. */
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

/** Creates a registry with two such providers. */
export const registry = (options: Partial<ModelsOptions> = {}): Models =>
  createModels({ providers: { acme: shop().provider, ollama: shop('ollama.chat').provider }, ...options })

/** Returns the message of the `LlmError` `invalid-config` that an action throws. */
export function refusalOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (LlmError.isInstance(error) && error.code === 'invalid-config') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}
