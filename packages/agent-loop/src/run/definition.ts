import type { AnyLanguageModel, FunctionTool, ModelRef } from '@bowline/llm'
import { definedFields } from '@bowline/llm/arguments'
import { checkDecimal, checkKeys, checkOneOf, checkText, checkWhole, refuseConfig } from '../base/checks.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { Agent, AgentFingerprint, OnFailedTurn, RunOptions, SpawnChildOptions, Tool } from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import type { Journal } from '../contract/journal.ts'
import type { AgentModel, CacheSetting } from '../contract/options.ts'
import type { Limits } from '../contract/run.ts'
import type { OnUnknownOutcome } from '../contract/tool.ts'
import { compile } from '../kernel/plugin.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { definitionKey } from '../kernel/run-context.ts'
import type { AgentSetup, OutputSetting, RunContext, SystemPrompt } from '../kernel/run-context.ts'
import type { Plugins } from '../kernel/turn.ts'
import type { CompactionSetting } from '../plugins/compaction/policy.ts'
import { outputPlugin, outputTool, repairPlugin } from '../plugins/output/output.ts'
import type { PromptCache } from '../plugins/prompt/cache.ts'
import { withHostedTools } from '../plugins/subagents/delegate-tools.ts'
import { buildTool, declarationOf } from '../tools/tool.ts'
import type { Fingerprints } from './fingerprint.ts'

/** The options of an agent, checked and with defaults. */
export interface AgentDefinition extends AgentSetup {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly model: AgentModel
  readonly fallback: readonly (AnyLanguageModel | ModelRef)[]
  readonly compaction: CompactionSetting
  readonly limits: Limits
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  /** Replaces the prompt that would be built. */
  readonly pinnedPrompt: SystemPrompt | undefined
  /** Undefined: a subagent uses the setting of the agent above it. */
  readonly ownCache: CacheSetting | undefined
  /** Options that a run gets if its own do not set them. */
  readonly runDefaults?: Pick<RunOptions, 'channel' | 'sessionKey' | 'context' | 'clock'>
  readonly extensions: readonly Extension[]
  readonly promptCache: PromptCache
  readonly fingerprints: Fingerprints
  /** Returns its features, in the order in which they are called. */
  pluginList(): readonly Plugin[]
  /** Returns the plug-ins, compiled. */
  plugins(): Plugins
  /** Creates an agent for side work in a run of this one. `prompt` is that of the turn, empty before it is built. */
  spawnChild(run: SpawningRun, prompt: SystemPrompt, options: SpawnChildOptions | undefined): Agent
  /** Returns a new definition with further extensions. `extendAgent` gives them to its subagents. */
  extend(extensions: readonly Extension[], extendAgent: (agent: Agent, extensions: readonly Extension[]) => Agent): AgentDefinition
  diagnostics(): readonly Diagnostic[]
  reload(): Promise<void>
}

/** A run, and its agent as the run uses it. */
export type SpawningRun = Omit<RunContext, 'agent'> & { readonly agent: AgentDefinition }

/** An agent with the definition that this package attaches to it. */
export type DefinedAgent = Agent & { readonly [definitionKey]: AgentDefinition }

/** Returns the definition of an agent. It is kept under a symbol key, so a copy of an agent by spreading still runs. */
export function definitionOf(agent: unknown): AgentDefinition | undefined {
  return typeof agent === 'object' && agent !== null ? (agent as Partial<DefinedAgent>)[definitionKey] : undefined
}

/** Drops built prompts. Throws `invalid-config` for a channel that is not a text. */
export function invalidatePrompt({ promptCache }: Pick<AgentDefinition, 'promptCache'>, channel: string | undefined): void {
  checkText('channel', channel)
  promptCache.invalidate(channel)
}

const defaults: Limits = { maxSteps: 32, maxToolCalls: 256, maxDepth: 3, maxQueuedInputs: 100, onBudget: 'end' }

const least = { maxSteps: 1, maxToolCalls: 0, maxTotalTokens: 0, maxDurationMs: 1, maxDepth: 0, maxQueuedInputs: 0 } as const

/** Returns limits whose fields replace those of `base`. Throws `invalid-config`. */
export function limitsOf(given: Partial<Limits> | undefined, base: Limits = defaults): Limits {
  if (given === undefined) return base
  checkKeys('limits', given, [...Object.keys(least), 'maxCost', 'onBudget'])
  for (const key of Object.keys(least) as (keyof typeof least)[]) checkWhole(`limits.${key}`, given[key], least[key])
  checkDecimal('limits.maxCost', given.maxCost)
  checkOneOf('limits.onBudget', given.onBudget, ['end', 'ask'])
  return { ...base, ...definedFields(given) }
}

/** Returns an agent with the additions of the options of one run and of its journal. Throws `invalid-config`. */
export function runDefinition(agent: AgentDefinition, options: RunOptions, { children }: Journal): AgentDefinition {
  const { remoteTools, pinned } = options
  const own = children ? withHostedTools(agent, children) : agent
  const extended = remoteTools && remoteTools.length > 0 ? withRemoteTools(own, remoteTools) : own
  const complete = pinned ? withPinnedTools(extended, pinned, remoteTools) : extended
  const output = options.output || agent.output ? outputSetting(options, agent.output) : undefined
  return output ? withOutput(complete, output) : complete
}

/** Returns undefined if the final answer is a text. */
export function outputSetting(
  { output: schema, outputRepairs }: Pick<RunOptions, 'output' | 'outputRepairs'>,
  base: OutputSetting | undefined,
): OutputSetting | undefined {
  const repairs = outputRepairs ?? base?.repairs ?? 1
  if (schema === undefined) return base && { ...base, repairs }
  return { schema, repairs, declaration: declarationOf(outputTool({ schema })) as FunctionTool }
}

/**
 * Adds the tool by which a model gives its answer. Every run can settle its calls, but only a model that is asked by a tool gets
 * it.
 */
function withOutput(agent: AgentDefinition, output: OutputSetting): AgentDefinition {
  const { name } = output.declaration
  if (agent.tools.has(name)) refuseConfig(`the tool "${name}" has the name of the tool that gives the output; rename it`)
  const tools = new Map(agent.tools).set(name, outputTool(output))
  const pluginList = () => [repairPlugin(output), ...agent.pluginList(), outputPlugin(output)]
  return { ...agent, tools, output, pluginList, plugins: () => compile(pluginList()) }
}

function withRemoteTools(agent: AgentDefinition, remoteTools: NonNullable<RunOptions['remoteTools']>): AgentDefinition {
  const tools = new Map<string, Tool>(agent.tools)
  for (const tool of remoteTools) {
    const { name } = tool
    if (tools.has(name) || agent.toolNames.includes(name)) refuseConfig(`the remote tool "${name}" has the name of another tool; rename it`)
    tools.set(name, buildTool(tool))
  }
  const added = [...tools.values()].slice(agent.tools.size).map(declarationOf)
  return derived(agent, tools, [...agent.declarations, ...added])
}

/** Makes requests carry the pinned schemas. The code of the current tools runs. */
function withPinnedTools(
  agent: AgentDefinition,
  { tools: pinned }: AgentFingerprint,
  brought: RunOptions['remoteTools'] = [],
): AgentDefinition {
  const missing = pinned.find(({ name }) => !agent.tools.has(name))
  if (missing) refuseConfig(`the pinned tool "${missing.name}" no longer exists; add it to the agent again`)
  const names = new Set(pinned.map(({ name }) => name))
  const declarations = [
    ...pinned.map((tool) => pinnedDeclaration(agent, tool)),
    // Tools that a provider runs, and tools that the run itself brings, are not part of the pin.
    ...agent.declarations.filter(
      (one) => !names.has(one.name) && (!('inputSchema' in one) || brought.some(({ name }) => name === one.name)),
    ),
  ]
  return derived(agent, agent.tools, declarations)
}

/** Pins description and schema. Other facts for the provider are not part of the pin, nor are tools that it defines itself. */
function pinnedDeclaration({ declarations }: AgentDefinition, { name, description, inputSchema }: AgentFingerprint['tools'][number]) {
  const today = declarations.find((declaration) => declaration.name === name)
  if (today && !('inputSchema' in today)) return today
  return { ...today, name, description, inputSchema }
}

function derived(agent: AgentDefinition, tools: AgentDefinition['tools'], declarations: AgentDefinition['declarations']): AgentDefinition {
  return { ...agent, tools, declarations, toolNames: declarations.map(({ name }) => name) }
}
