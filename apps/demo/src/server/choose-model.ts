import type { LanguageModelV4 } from '@bowline/llm'
import type { Environment } from './settings.ts'

export interface ModelChoice {
  readonly model: LanguageModelV4
  /** Model that takes over when the first one has failed for good. */
  readonly spare?: LanguageModelV4
  readonly offline: boolean
  /** Variable to check if the provider refuses the key. */
  readonly keyVariable?: string
  /** Fault of the environment. The offline model answers until it is corrected. */
  readonly problem?: EnvironmentProblem
}

export interface EnvironmentProblem {
  readonly variable: string
  readonly message: string
}

interface Wire {
  readonly keyVariable: string
  readonly defaultModel: string
  create(env: Environment, apiKey: string, modelId: string): Promise<LanguageModelV4>
}

// Provider code is loaded only if its model is used: loading takes a quarter of the start time.
const wires: Readonly<Record<string, Wire>> = {
  openai: {
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5.4-mini',
    async create(env, apiKey, modelId) {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ apiKey, ...baseUrl(env.OPENAI_BASE_URL) }).responses(modelId)
    },
  },
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    defaultModel: 'claude-haiku-5-5',
    async create(env, apiKey, modelId) {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ apiKey, ...baseUrl(env.ANTHROPIC_BASE_URL) })(modelId)
    },
  },
  google: {
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    defaultModel: 'gemini-3.5-flash',
    async create(env, apiKey, modelId) {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ apiKey, ...baseUrl(env.GOOGLE_GENERATIVE_AI_BASE_URL) })(modelId)
    },
  },
}

export type OfflineModels = Required<Pick<ModelChoice, 'model' | 'spare'>>

/** Selects the model by the environment. Never rejects: a fault becomes a `problem` that names its variable. */
export async function chooseModel(env: Environment, offline: () => OfflineModels): Promise<ModelChoice> {
  const fallBack = (variable: string, message: string): ModelChoice => ({
    ...offline(),
    offline: true,
    problem: { variable, message },
  })
  if (env.DEMO_BASE_URL) return chooseCompatible(env, fallBack)
  const { name: named, modelId } = splitModel(env.DEMO_MODEL)
  const name = named ?? Object.keys(wires).find((candidate) => env[wires[candidate]?.keyVariable ?? ''])
  if (name === undefined) {
    return modelId === undefined
      ? { ...offline(), offline: true }
      : fallBack('DEMO_MODEL', `DEMO_MODEL names ${modelId}, but no provider has a key. Set one, such as OPENAI_API_KEY.`)
  }
  const wire = Object.hasOwn(wires, name) ? wires[name] : undefined
  if (!wire) return fallBack('DEMO_MODEL', `DEMO_MODEL names the provider ${name}. Known are ${Object.keys(wires).join(', ')}.`)
  const apiKey = env[wire.keyVariable]
  if (!apiKey) return fallBack(wire.keyVariable, `${wire.keyVariable} is missing: DEMO_MODEL asks for ${name}.`)
  return {
    model: await wire.create(env, apiKey, modelId ?? wire.defaultModel),
    offline: false,
    keyVariable: wire.keyVariable,
  }
}

async function chooseCompatible(env: Environment, fallBack: (variable: string, message: string) => ModelChoice): Promise<ModelChoice> {
  const url = env.DEMO_BASE_URL ?? ''
  if (!env.DEMO_MODEL) return fallBack('DEMO_MODEL', 'DEMO_MODEL is missing: name the model that DEMO_BASE_URL serves.')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    return fallBack('DEMO_BASE_URL', 'DEMO_BASE_URL is no http or https address.')
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: url,
    includeUsage: true,
    ...(env.DEMO_API_KEY ? { apiKey: env.DEMO_API_KEY } : {}),
  })
  return { model: provider.chatModel(env.DEMO_MODEL), offline: false, keyVariable: 'DEMO_API_KEY' }
}

/** Splits `anthropic:claude-…` into provider and model. `claude-…` is only a model. */
function splitModel(text: string | undefined): { readonly name?: string; readonly modelId?: string } {
  if (!text) return {}
  const colon = text.indexOf(':')
  return colon < 0 ? { modelId: text } : { name: text.slice(0, colon), modelId: text.slice(colon + 1) }
}

function baseUrl(url: string | undefined): { readonly baseURL?: string } {
  return url ? { baseURL: url } : {}
}
