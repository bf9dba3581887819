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
  /** In the place of one that is built. */
  readonly pinnedPrompt: SystemPrompt | undefined
  /** Undefined: the agent that it is a subagent of decides. */
  readonly ownCache: CacheSetting | undefined
  /** What a run is given when its options do not say. */
  readonly runDefaults?: Pick<RunOptions, 'channel' | 'sessionKey' | 'context' | 'clock'>
  readonly extensions: readonly Extension[]
  readonly promptCache: PromptCache
  readonly fingerprints: Fingerprints
  /** Its features, in the order in which they are asked. */
  pluginList(): readonly Plugin[]
  /** The same, compiled. */
  plugins(): Plugins
  /** An agent for side work in a run of this one. `prompt`: that of the turn, empty before it is built. */
  spawnChild(run: SpawningRun, prompt: SystemPrompt, options: SpawnChildOptions | undefined): Agent
  /** Made anew, with further extensions for it. `extendAgent` gives them to its subagents. */
  extend(extensions: readonly Extension[], extendAgent: (agent: Agent, extensions: readonly Extension[]) => Agent): AgentDefinition
  diagnostics(): readonly Diagnostic[]
  reload(): Promise<void>
}

/** A run, with its agent as it has it. */
export type SpawningRun = Omit<RunContext, 'agent'> & { readonly agent: AgentDefinition }

/** An agent as this package made it. */
export type DefinedAgent = Agent & { readonly [definitionKey]: AgentDefinition }

/** Where only this package looks: a copy of an agent by spreading still runs. */
export function definitionOf(agent: unknown): AgentDefinition | undefined {
  return typeof agent === 'object' && agent !== null ? (agent as Partial<DefinedAgent>)[definitionKey] : undefined
}

/** Throws `invalid-config` for a channel that is no text. */
export function invalidatePrompt({ promptCache }: Pick<AgentDefinition, 'promptCache'>, channel: string | undefined): void {
  checkText('channel', channel)
  promptCache.invalidate(channel)
}

const defaults: Limits = { maxSteps: 32, maxToolCalls: 256, maxDepth: 3, maxQueuedInputs: 100, onBudget: 'end' }

const least = { maxSteps: 1, maxToolCalls: 0, maxTotalTokens: 0, maxDurationMs: 1, maxDepth: 0, maxQueuedInputs: 0 } as const

/** Field by field in the place of `base`. Throws `invalid-config`. */
export function limitsOf(given: Partial<Limits> | undefined, base: Limits = defaults): Limits {
  if (given === undefined) return base
  checkKeys('limits', given, [...Object.keys(least), 'maxCost', 'onBudget'])
  for (const key of Object.keys(least) as (keyof typeof least)[]) checkWhole(`limits.${key}`, given[key], least[key])
  checkDecimal('limits.maxCost', given.maxCost)
  checkOneOf('limits.onBudget', given.onBudget, ['end', 'ask'])
  return { ...base, ...definedFields(given) }
}

/** An agent with what the options of one run, and its journal, add to it. Throws `invalid-config`. */
export function runDefinition(agent: AgentDefinition, options: RunOptions, { children }: Journal): AgentDefinition {
  const { remoteTools, pinned } = options
  const own = children ? withHostedTools(agent, children) : agent
  const extended = remoteTools && remoteTools.length > 0 ? withRemoteTools(own, remoteTools) : own
  const complete = pinned ? withPinnedTools(extended, pinned, remoteTools) : extended
  const output = options.output || agent.output ? outputSetting(options, agent.output) : undefined
  return output ? withOutput(complete, output) : complete
}

/** Undefined: the final answer is a text. */
export function outputSetting({ output: schema, outputRepairs }: Pick<RunOptions, 'output' | 'outputRepairs'>, base: OutputSetting | undefined): OutputSetting | undefined {
  const repairs = outputRepairs ?? base?.repairs ?? 1
  if (schema === undefined) return base && { ...base, repairs }
  return { schema, repairs, declaration: declarationOf(outputTool({ schema })) as FunctionTool }
}

/** Every run can settle the call by which a model gives its answer; only a model that is asked so is told of it. */
function withOutput(agent: AgentDefinition, output: OutputSetting): AgentDefinition {
  const { name } = output.declaration
  if (agent.tools.has(name)) refuseConfig(`the tool "${name}" hides the one that gives the output: rename it`)
  const tools = new Map(agent.tools).set(name, outputTool(output))
  const pluginList = () => [repairPlugin(output), ...agent.pluginList(), outputPlugin(output)]
  return { ...agent, tools, output, pluginList, plugins: () => compile(pluginList()) }
}

function withRemoteTools(agent: AgentDefinition, remoteTools: NonNullable<RunOptions['remoteTools']>): AgentDefinition {
  const tools = new Map<string, Tool>(agent.tools)
  for (const { name, description, inputSchema } of remoteTools) {
    if (tools.has(name) || agent.toolNames.includes(name)) refuseConfig(`the remote tool "${name}" hides another tool`)
    tools.set(name, buildTool({ name, description, inputSchema }))
  }
  const added = [...tools.values()].slice(agent.tools.size).map(declarationOf)
  return derived(agent, tools, [...agent.declarations, ...added])
}

/** The requests carry the pinned schemas; the code of today's tools runs. */
function withPinnedTools(agent: AgentDefinition, { tools: pinned }: AgentFingerprint, brought: RunOptions['remoteTools'] = []): AgentDefinition {
  const missing = pinned.find(({ name }) => !agent.tools.has(name))
  if (missing) refuseConfig(`the pinned tool "${missing.name}" is not there any more`)
  const names = new Set(pinned.map(({ name }) => name))
  const declarations = [
    ...pinned.map((tool) => pinnedDeclaration(agent, tool)),
    // What a provider runs, and what the run itself brings, is not part of the pin.
    ...agent.declarations.filter((one) => !names.has(one.name) && (!('inputSchema' in one) || brought.some(({ name }) => name === one.name))),
  ]
  return derived(agent, agent.tools, declarations)
}

/** What the provider is told beside description and schema is not part of the pin, nor is what it knows by itself. */
function pinnedDeclaration({ declarations }: AgentDefinition, { name, description, inputSchema }: AgentFingerprint['tools'][number]) {
  const today = declarations.find((declaration) => declaration.name === name)
  if (today && !('inputSchema' in today)) return today
  return { ...today, name, description, inputSchema }
}

function derived(agent: AgentDefinition, tools: AgentDefinition['tools'], declarations: AgentDefinition['declarations']): AgentDefinition {
  return { ...agent, tools, declarations, toolNames: declarations.map(({ name }) => name) }
}
