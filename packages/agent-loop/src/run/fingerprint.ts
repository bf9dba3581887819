import { resolveSchema } from '@bowline/llm'
import type { JSONValue, Models, RuntimeParams } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import { deepFreeze } from '../base/json.ts'
import type { AgentFingerprint, Tool } from '../contract/agent.ts'
import type { AgentModel } from '../contract/options.ts'
import type { SectionContext } from '../contract/prompt.ts'
import type { ModelName } from '../events/turn-events.ts'
import { modelTarget } from '../kernel/model-target.ts'
import type { Plugin } from '../kernel/plugin.ts'
import type { Statics } from '../plugins/prompt/assemble.ts'
import type { PromptCache } from '../plugins/prompt/cache.ts'
import type { ProviderTool } from '../tools/tool.ts'

type PinnedTool = AgentFingerprint['tools'][number]

/** What an agent is, in a form that another process can compare. */
export class Fingerprints {
  readonly #tools: readonly Tool[]
  readonly #prompts: PromptCache
  readonly #providerTools: readonly ProviderTool['declaration'][]
  #pinned: Promise<readonly PinnedTool[]> | undefined
  #last: { readonly statics: Statics; readonly model: ModelName; readonly hash: string } | undefined

  constructor(tools: readonly Tool[], prompts: PromptCache, providerTools: readonly ProviderTool['declaration'][] = []) {
    this.#tools = tools
    this.#prompts = prompts
    this.#providerTools = providerTools
  }

  /** Of model, tools and static sections. Equal definitions give equal hashes in every process. */
  async hash(model: ModelName): Promise<string> {
    const [statics, tools] = await Promise.all([this.#prompts.statics(), this.#schemas()])
    const known = this.#hashOf(statics, model)
    if (known !== undefined) return known
    const { provider, modelId } = model
    const hash = hashJson({
      ...{ model: { provider, modelId }, tools: tools as unknown as JSONValue, sections: statics.sections },
      // What a provider runs cannot be pinned; another provider tool still is a change.
      ...(this.#providerTools.length > 0 && { providerTools: plainJson(this.#providerTools) as unknown as JSONValue }),
    })
    this.#last = { statics, model, hash }
    return hash
  }

  /** The hash, when nothing has to be read for it. */
  known(model: ModelName): string | undefined {
    const statics = this.#prompts.knownStatics
    return statics && this.#hashOf(statics, model)
  }

  #hashOf(statics: Statics, { provider, modelId }: ModelName): string | undefined {
    const last = this.#last
    const isSame = last?.statics === statics && last.model.provider === provider && last.model.modelId === modelId
    return isSame ? last.hash : undefined
  }

  /** With the whole text of the prompt. Rejects when a schema cannot be read. */
  async of(model: ModelName, context: SectionContext): Promise<AgentFingerprint> {
    const [hash, { text }, tools] = await Promise.all([this.hash(model), this.#prompts.get(context), this.#schemas()])
    return { hash, instructions: text, model: { provider: model.provider, modelId: model.modelId }, tools }
  }

  #schemas(): Promise<readonly PinnedTool[]> {
    return (this.#pinned ??= Promise.all(this.#tools.map(pinnedTool)))
  }
}

async function pinnedTool({ name, description, inputSchema, effect }: Tool): Promise<PinnedTool> {
  const { jsonSchema } = await resolveSchema(inputSchema)
  return deepFreeze(plainJson({ name, description, inputSchema: jsonSchema, effect }))
}

/** How `JSON.stringify` writes half of a character that takes two units. Text that looks like it, such as `\\ud8`, matches too. */
const halfCharacter = /\\ud[89a-f]/

/** As it comes out of a store: without what JSON cannot say. */
function plainJson<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  if (!halfCharacter.test(text)) return JSON.parse(text) as Value
  return JSON.parse(JSON.stringify(value, (_key, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item))) as Value
}

interface OwnModel {
  readonly model: AgentModel
  readonly models?: Models | undefined
  readonly runtimeParams?: RuntimeParams | undefined
}

/** Tells the log under which definition a turn runs: read once, known from then on. Params of the run are no part of it. */
export function fingerprintPlugin(fingerprints: Fingerprints, options: OwnModel): Plugin {
  let own: ModelName | undefined
  return {
    name: 'fingerprint',
    hooks: {
      fingerprint({ run, stop }) {
        if (run.pinnedHash !== undefined) return run.pinnedHash
        own ??= ownModel(options)
        // A schema that cannot be read fails the request that needs it.
        return own && (fingerprints.known(own) ?? stop.until(fingerprints.hash(own)).catch(() => undefined))
      },
    },
  }
}

/** Undefined for a model that is not there: it fails the run that calls it. */
function ownModel({ model, models, runtimeParams = {} }: OwnModel): ModelName | undefined {
  try {
    return modelTarget(model, models, runtimeParams).name
  } catch {
    return undefined
  }
}
