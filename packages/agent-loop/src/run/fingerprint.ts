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

/** The definition of an agent, in a form that another process can compare. */
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

  /** Returns the hash of model, tools and static sections. Equal definitions give equal hashes in every process. */
  async hash(model: ModelName): Promise<string> {
    const [statics, tools] = await Promise.all([this.#prompts.statics(), this.#schemas()])
    const known = this.#hashOf(statics, model)
    if (known !== undefined) return known
    const { provider, modelId } = model
    const hash = hashJson({
      model: { provider, modelId },
      tools: tools as unknown as JSONValue,
      sections: statics.sections,
      // A provider's own tools cannot be pinned, but another such tool still counts as a change.
      ...(this.#providerTools.length > 0 && { providerTools: this.#providerTools as unknown as JSONValue }),
    })
    this.#last = { statics, model, hash }
    return hash
  }

  /** Returns the hash if nothing has to be read for it. */
  known(model: ModelName): string | undefined {
    const statics = this.#prompts.knownStatics
    return statics && this.#hashOf(statics, model)
  }

  #hashOf(statics: Statics, { provider, modelId }: ModelName): string | undefined {
    const last = this.#last
    const isSame = last?.statics === statics && last.model.provider === provider && last.model.modelId === modelId
    return isSame ? last.hash : undefined
  }

  /** Returns the fingerprint with the whole text of the prompt. Rejects if a schema cannot be read. */
  async of(model: ModelName, context: SectionContext): Promise<AgentFingerprint> {
    const [hash, { text }, tools] = await Promise.all([this.hash(model), this.#prompts.get(context), this.#schemas()])
    return { hash, instructions: text, model: { provider: model.provider, modelId: model.modelId }, tools }
  }

  #schemas(): Promise<readonly PinnedTool[]> {
    return (this.#pinned ??= Promise.all(this.#tools.map(pinnedTool)).catch((error: unknown) => {
      // Clears the failure, because the next call may succeed.
      this.#pinned = undefined
      throw error
    }))
  }
}

async function pinnedTool({ name, description, inputSchema, effect }: Tool): Promise<PinnedTool> {
  const { jsonSchema } = await resolveSchema(inputSchema)
  // As it comes out of a store: without parts that JSON cannot hold.
  return deepFreeze(JSON.parse(JSON.stringify({ name, description, inputSchema: jsonSchema, effect })) as PinnedTool)
}

interface OwnModel {
  readonly model: AgentModel
  readonly models?: Models | undefined
  readonly runtimeParams?: RuntimeParams | undefined
}

/**
 * Writes into the log which definition a turn runs under. The definition is read once and known from then on. Params of the run are
 * not part of it.
 */
export function fingerprintPlugin(fingerprints: Fingerprints, options: OwnModel): Plugin {
  let own: ModelName | undefined
  return {
    name: 'fingerprint',
    hooks: {
      fingerprint({ run, stop }) {
        if (run.pinnedHash !== undefined) return run.pinnedHash
        own ??= ownModel(options)
        // A schema that cannot be read makes the request fail that needs it.
        return own && (fingerprints.known(own) ?? stop.until(fingerprints.hash(own)).catch(() => undefined))
      },
    },
  }
}

/** Returns undefined if the model cannot be resolved: the run that calls it fails. */
function ownModel({ model, models, runtimeParams = {} }: OwnModel): ModelName | undefined {
  try {
    return modelTarget(model, models, runtimeParams).name
  } catch {
    return undefined
  }
}
