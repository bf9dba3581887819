import { mergeRuntimeParams } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import {
  checkAgentModel,
  checkFunction,
  checkKeys,
  checkList,
  checkMethods,
  checkModel,
  checkOneOf,
  checkRuntimeParams,
  checkText,
  checkToolChoice,
  checkWhole,
  refuseConfig,
} from '../base/checks.ts'
import { openLoaded, reloadLists } from '../base/loaded.ts'
import type { LoadedList } from '../base/loaded.ts'
import type { Tool } from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import type { Guardrail } from '../contract/guardrail.ts'
import type { AgentOptions, RetryPolicy } from '../contract/options.ts'
import { compile } from '../kernel/plugin.ts'
import type { Plugin } from '../kernel/plugin.ts'
import type { Plugins } from '../kernel/turn.ts'
import { approvalsPlugin } from '../plugins/approvals/approvals.ts'
import { budgetPlugin } from '../plugins/budget/budget.ts'
import { compactionPlugin } from '../plugins/compaction/compaction.ts'
import { compactionPolicyOf } from '../plugins/compaction/policy.ts'
import type { CompactionSetting } from '../plugins/compaction/policy.ts'
import { extensionsPlugin } from '../plugins/extensions/extensions.ts'
import { guardrailsPlugin, mergeGuardrails } from '../plugins/guardrails/guardrails.ts'
import { limitsPlugin } from '../plugins/limits/limits.ts'
import { modelFunctionPlugin } from '../plugins/model-function/model-function.ts'
import { PromptCache } from '../plugins/prompt/cache.ts'
import { promptPlugin } from '../plugins/prompt/prompt.ts'
import { mergeSections, sectionsOf } from '../plugins/prompt/sections.ts'
import { recoveryPlugin } from '../plugins/recovery/recovery.ts'
import { retryPlugin, retryPolicyOf } from '../plugins/retry/retry.ts'
import { steeringPlugin } from '../plugins/steering/steering.ts'
import { ephemeralPlugin, prepareStepPlugin, stopWhenPlugin } from '../plugins/step-functions/step-functions.ts'
import { delegateTools } from '../plugins/subagents/delegate-tools.ts'
import { subagentsPlugin } from '../plugins/subagents/subagents.ts'
import { childRuns } from '../run/agent-run.ts'
import { limitsOf, outputSetting } from '../run/definition.ts'
import type { AgentDefinition } from '../run/definition.ts'
import { checkOutput } from '../run/check-run-options.ts'
import { fingerprintPlugin, Fingerprints } from '../run/fingerprint.ts'
import { toolSetOf } from '../tools/define-tool.ts'
import { declarationOf } from '../tools/tool.ts'
import type { ProviderTool } from '../tools/tool.ts'
import { defineExtensions, extensionTools } from './define-extension.ts'

const optionKeys: readonly (keyof AgentOptions)[] = [
  ...(['name', 'description', 'model', 'models', 'runtimeParams', 'toolChoice', 'cache', 'instructions', 'tools', 'output'] as const),
  ...(['toolConcurrency', 'subagents', 'extensions', 'guardrails', 'retry', 'fallback', 'compaction', 'limits', 'outputRepairs'] as const),
  ...(['stopWhen', 'prepareStep', 'steering', 'abortGraceMs', 'onUnknownOutcome', 'onFailedTurn', 'ephemeral'] as const),
]

/** Makes an agent definition from its options. Throws `invalid-config` that names the wrong option. */
export function makeDefinition(options: AgentOptions, spawnChild: AgentDefinition['spawnChild']): AgentDefinition {
  checkOptions(options)
  const extensions = defineExtensions(options.extensions ?? [])
  const { tools, declarations, diagnostics } = allTools(options, extensions)
  const sections = mergeSections(
    sectionsOf(options.instructions),
    extensions.map(({ promptSections }) => promptSections),
  )
  const promptCache = new PromptCache(sections)
  const fingerprints = new Fingerprints([...tools.values()], promptCache, declarations.filter(isProviderTool))
  const guards = new LoadedGuardrails(options.guardrails ?? [], extensions)
  const compaction = compactionPolicyOf(options.compaction)
  const features: Features = {
    options,
    extensions,
    compaction,
    promptCache,
    asksUser: hasFunctions(sections),
    retry: retryPolicyOf(options.retry),
  }
  const plugged = new PluggedIn(() => pluginsOf(features, guards.all, fingerprints))
  return {
    name: options.name,
    description: options.description,
    model: options.model,
    models: options.models,
    runtimeParams: mergeRuntimeParams(options.runtimeParams),
    toolChoice: options.toolChoice,
    extensions,
    promptCache,
    fingerprints,
    pinnedPrompt: undefined,
    cache: 'auto' as const,
    ownCache: options.cache,
    tools,
    declarations,
    toolNames: declarations.map(({ name }) => name),
    allowed: undefined,
    toolConcurrency: options.toolConcurrency ?? 8,
    fallback: options.fallback ?? [],
    compaction,
    limits: limitsOf(options.limits),
    abortGraceMs: options.abortGraceMs ?? 2_000,
    output: outputSetting(options, undefined),
    onUnknownOutcome: options.onUnknownOutcome ?? 'stop',
    onFailedTurn: options.onFailedTurn ?? 'keep',
    pluginList: () => plugged.list,
    plugins: () => plugged.compiled,
    spawnChild,
    extend: (more, extendAgent) =>
      makeDefinition(
        {
          ...options,
          extensions: [...(options.extensions ?? []), ...more],
          subagents: (options.subagents ?? []).map((agent) => extendAgent(agent, more)),
        },
        spawnChild,
      ),
    diagnostics: () => [...diagnostics, ...guards.diagnostics, ...promptCache.diagnostics],
    async reload() {
      await Promise.all([guards.reload(), promptCache.reload()])
      plugged.renew()
    },
  }
}

interface Features {
  readonly options: AgentOptions
  readonly extensions: readonly Extension[]
  readonly compaction: CompactionSetting
  readonly promptCache: PromptCache
  /** True if a part of the prompt is a function of the user. */
  readonly asksUser: boolean
  readonly retry: RetryPolicy
}

/** Returns the plug-ins of an agent in the order in which they are called. Features that the agent does not use are left out. */
function pluginsOf(
  { options, extensions, compaction, promptCache, asksUser, retry }: Features,
  guardrails: readonly Guardrail[],
  fingerprints: Fingerprints,
): readonly Plugin[] {
  const { prepareStep, ephemeral, steering = 'all' } = options
  const stopWhen = [options.stopWhen ?? []].flat()
  return [
    fingerprintPlugin(fingerprints, options),
    promptPlugin(promptCache, asksUser),
    ...(prepareStep ? [prepareStepPlugin(prepareStep)] : []),
    steeringPlugin(steering),
    ...(extensions.length > 0 ? [extensionsPlugin(extensions)] : []),
    ...(ephemeral ? [ephemeralPlugin(ephemeral)] : []),
    guardrailsPlugin(guardrails),
    ...(typeof options.model === 'function' ? [modelFunctionPlugin] : []),
    recoveryPlugin,
    approvalsPlugin,
    limitsPlugin,
    ...(stopWhen.length > 0 ? [stopWhenPlugin(stopWhen)] : []),
    ...(compaction.kind === 'off' ? [] : [compactionPlugin(compaction)]),
    retryPlugin(retry),
    budgetPlugin,
    subagentsPlugin(childRuns),
  ]
}

/** Holds plug-ins, which are made at first use and again after a reload. */
class PluggedIn {
  readonly #make: () => readonly Plugin[]
  #list: readonly Plugin[] | undefined
  #compiled: Plugins | undefined

  constructor(make: () => readonly Plugin[]) {
    this.#make = make
  }

  get list(): readonly Plugin[] {
    return (this.#list ??= this.#make())
  }

  get compiled(): Plugins {
    return (this.#compiled ??= compile(this.list))
  }

  renew(): void {
    this.#list = undefined
    this.#compiled = undefined
  }
}

function checkOptions(options: AgentOptions): void {
  checkKeys('defineAgent.options', options, optionKeys)
  checkAgentModel('model', options.model)
  for (const key of ['name', 'description'] as const) checkText(key, options[key])
  checkWhole('toolConcurrency', options.toolConcurrency, 1)
  checkWhole('abortGraceMs', options.abortGraceMs, 0)
  checkOneOf('cache', options.cache, ['auto', 'off'])
  checkOutput(options)
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

/** Returns whether a value is a function or contains one. */
function hasFunctions(value: unknown): boolean {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(hasFunctions)
}

type AllTools = Pick<AgentDefinition, 'tools' | 'declarations'> & { readonly diagnostics: ReturnType<AgentDefinition['diagnostics']> }

/** Returns the agent's own tools, one tool per subagent, and the tools of extensions. */
function allTools({ tools: given = [], subagents = [] }: AgentOptions, extensions: readonly Extension[]): AllTools {
  const own = toolSetOf(given)
  const tools = new Map<string, Tool>(own.tools)
  for (const tool of delegateTools(subagents)) {
    if (tools.has(tool.name) || own.providerTools.has(tool.name))
      refuseConfig(`the tool "${tool.name}" has the name of the tool of a subagent; rename one of them`)
    tools.set(tool.name, tool)
  }
  const added = extensionTools(extensions, [...tools.keys(), ...own.providerTools.keys()])
  for (const [name, tool] of added.tools) tools.set(name, tool)
  const declarations = [...tools.values(), ...own.providerTools.values(), ...added.providerTools.values()].map(declarationOf)
  return { tools, declarations, diagnostics: added.diagnostics }
}

/** The guardrails of an agent. Guardrails from folders can be read again. */
class LoadedGuardrails {
  readonly #extensions: readonly Extension[]
  #given: LoadedList<Guardrail>
  #merged: ReturnType<typeof mergeGuardrails>

  constructor(given: LoadedList<Guardrail>, extensions: readonly Extension[]) {
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
