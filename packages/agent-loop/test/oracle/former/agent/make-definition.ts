import { mergeRuntimeParams } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { checkAgentModel, checkModel } from '../base/check-model.ts'
import {
  checkFunction,
  checkKeys,
  checkList,
  checkMethods,
  checkOneOf,
  checkRuntimeParams,
  checkText,
  checkToolChoice,
  checkWhole,
  refuseConfig,
} from '../base/check-options.ts'
import { openLoaded, reloadLists } from '../base/loaded.ts'
import type { LoadedList } from '../base/loaded.ts'
import type { Tool } from '../contract/agent.ts'
import type { Guardrail } from '../contract/guardrail.ts'
import type { AgentOptions } from '../contract/options.ts'
import { compactionPolicyOf } from '../plugins/compaction/policy.ts'
import { defineExtensions } from '../plugins/extensions/define-extension.ts'
import { extensionTools } from '../plugins/extensions/extension-tools.ts'
import { mergeGuardrails } from '../plugins/guardrails/merge-guardrails.ts'
import { PromptCache } from '../plugins/prompt/cache.ts'
import { sectionsOf } from '../plugins/prompt/check-sections.ts'
import { mergeSections } from '../plugins/prompt/merge-sections.ts'
import { retryPolicyOf } from '../plugins/retry/retry.ts'
import { delegateTools } from '../plugins/subagents/delegate-tools.ts'
import { declarationOf } from '../tools/declaration.ts'
import type { ProviderTool } from '../tools/declaration.ts'
import { toolSetOf } from '../tools/tool-set.ts'
import type { AgentDefinition } from './definition.ts'
import { Fingerprints } from './fingerprint.ts'
import { limitsOf } from './limits-of.ts'

const optionKeys: readonly (keyof AgentOptions)[] = [
  ...(['name', 'description', 'model', 'models', 'runtimeParams', 'toolChoice', 'instructions', 'tools'] as const),
  ...(['toolConcurrency', 'subagents', 'extensions', 'guardrails', 'retry', 'fallback', 'compaction', 'limits'] as const),
  ...(['stopWhen', 'prepareStep', 'steering', 'abortGraceMs', 'onUnknownOutcome', 'onFailedTurn', 'ephemeral'] as const),
]

/** Throws `invalid-config` that names the option at fault. */
export function makeDefinition(options: AgentOptions): AgentDefinition {
  checkOptions(options)
  const extensions = defineExtensions(options.extensions ?? [])
  const { tools, declarations, diagnostics } = allTools(options, extensions)
  const sections = mergeSections(sectionsOf(options.instructions), extensions.map(({ promptSections }) => promptSections))
  const promptCache = new PromptCache(sections)
  const fingerprints = new Fingerprints([...tools.values()], promptCache, declarations.filter(isProviderTool))
  const guards = new LoadedGuardrails(options.guardrails ?? [], extensions)
  return {
    ...{ name: options.name, description: options.description, model: options.model, models: options.models },
    runtimeParams: mergeRuntimeParams(options.runtimeParams),
    toolChoice: options.toolChoice,
    ...{ promptCache, fingerprints, pinnedInstructions: undefined, asksForPrompt: hasFunctions(sections) },
    ...{ tools, declarations, toolNames: declarations.map(({ name }) => name), allowed: undefined },
    toolConcurrency: options.toolConcurrency ?? 8,
    ...{ extensions, retry: retryPolicyOf(options.retry), fallback: options.fallback ?? [] },
    compaction: compactionPolicyOf(options.compaction),
    limits: limitsOf(options.limits),
    stopWhen: [options.stopWhen ?? []].flat(),
    prepareStep: options.prepareStep,
    steering: options.steering ?? 'all',
    abortGraceMs: options.abortGraceMs ?? 2_000,
    onUnknownOutcome: options.onUnknownOutcome ?? 'stop',
    onFailedTurn: options.onFailedTurn ?? 'keep',
    ephemeral: options.ephemeral,
    guardrails: () => guards.all,
    diagnostics: () => [...diagnostics, ...guards.diagnostics, ...promptCache.diagnostics],
    async reload() {
      await Promise.all([guards.reload(), promptCache.reload()])
    },
  }
}

function checkOptions(options: AgentOptions): void {
  checkKeys('defineAgent.options', options, optionKeys)
  checkAgentModel('model', options.model)
  for (const key of ['name', 'description'] as const) checkText(key, options[key])
  checkWhole('toolConcurrency', options.toolConcurrency, 1)
  checkWhole('abortGraceMs', options.abortGraceMs, 0)
  checkOneOf('steering', options.steering, ['all', 'one-at-a-time'])
  checkOneOf('onUnknownOutcome', options.onUnknownOutcome, ['stop', 'tell-model'])
  checkOneOf('onFailedTurn', options.onFailedTurn, ['keep', 'rewind'])
  for (const key of ['prepareStep', 'ephemeral'] as const) checkFunction(key, options[key])
  checkConditions(options.stopWhen)
  checkMethods('models', options.models, ['resolve', 'info', 'providers'])
  for (const key of ['subagents', 'extensions', 'guardrails', 'fallback'] as const) checkList(key, options[key])
  for (const [index, model] of (options.fallback ?? []).entries()) checkModel(`fallback[${index}]`, model)
  checkRuntimeParams(options.runtimeParams)
  checkToolChoice('toolChoice', options.toolChoice)
}

function checkConditions(given: unknown): void {
  if (!Array.isArray(given)) return checkFunction('stopWhen', given)
  for (const [index, condition] of given.entries()) checkFunction(`stopWhen[${index}]`, needed(condition))
}

function isProviderTool(declaration: AgentDefinition['declarations'][number]): declaration is ProviderTool['declaration'] {
  return !('inputSchema' in declaration)
}

/** Among the sections, or inside of one. */
function hasFunctions(value: unknown): boolean {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(hasFunctions)
}

type AllTools = Pick<AgentDefinition, 'tools' | 'declarations'> & { readonly diagnostics: ReturnType<AgentDefinition['diagnostics']> }

/** The agent's own, one per subagent, and what extensions add to them. */
function allTools({ tools: given = [], subagents = [] }: AgentOptions, extensions: AgentDefinition['extensions']): AllTools {
  const own = toolSetOf(given)
  const tools = new Map<string, Tool>(own.tools)
  for (const tool of delegateTools(subagents)) {
    if (tools.has(tool.name) || own.providerTools.has(tool.name)) refuseConfig(`the name of the tool "${tool.name}" belongs to a subagent`)
    tools.set(tool.name, tool)
  }
  const added = extensionTools(extensions, [...tools.keys(), ...own.providerTools.keys()])
  for (const [name, tool] of added.tools) tools.set(name, tool)
  const declarations = [...tools.values(), ...own.providerTools.values(), ...added.providerTools.values()].map(declarationOf)
  return { tools, declarations, diagnostics: added.diagnostics }
}

/** The guardrails of an agent; those of folders can be read again. */
class LoadedGuardrails {
  readonly #extensions: AgentDefinition['extensions']
  #given: LoadedList<Guardrail>
  #merged: ReturnType<typeof mergeGuardrails>

  constructor(given: LoadedList<Guardrail>, extensions: AgentDefinition['extensions']) {
    this.#given = given
    this.#extensions = extensions
    this.#merged = this.#merge()
  }

  get all(): readonly Guardrail[] {
    return this.#merged.guardrails
  }

  get diagnostics(): ReturnType<AgentDefinition['diagnostics']> {
    return [...this.#merged.diagnostics, ...openLoaded<Guardrail>(this.#given).diagnostics]
  }

  async reload(): Promise<void> {
    this.#given = await reloadLists<Guardrail>(this.#given)
    this.#merged = this.#merge()
  }

  #merge(): ReturnType<typeof mergeGuardrails> {
    const { own, fromFolders } = openLoaded<Guardrail>(this.#given)
    return mergeGuardrails(own, fromFolders, this.#extensions)
  }
}
