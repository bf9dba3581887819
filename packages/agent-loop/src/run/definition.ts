import type { AnyLanguageModel, ModelRef } from '@bowline/llm'
import type { Diagnostic } from '../base/loaded.ts'
import type { Agent, OnFailedTurn, RunOptions, SpawnChildOptions } from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import type { AgentModel } from '../contract/options.ts'
import type { Limits } from '../contract/run.ts'
import type { OnUnknownOutcome } from '../contract/tool.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { definitionKey } from '../kernel/run-context.ts'
import type { AgentSetup, RunContext } from '../kernel/run-context.ts'
import type { Plugins } from '../kernel/turn.ts'
import type { CompactionSetting } from '../plugins/compaction/policy.ts'
import type { PromptCache } from '../plugins/prompt/cache.ts'
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
  /** The whole prompt, in the place of one that is built. */
  readonly pinnedInstructions: string | undefined
  /** What a run is given when its options do not say. */
  readonly runDefaults?: Pick<RunOptions, 'channel' | 'sessionKey' | 'context' | 'clock'>
  readonly extensions: readonly Extension[]
  readonly promptCache: PromptCache
  readonly fingerprints: Fingerprints
  /** Its features, in the order in which they are asked. */
  pluginList(): readonly Plugin[]
  /** The same, compiled. */
  plugins(): Plugins
  /** An agent for side work in a run of this one. `instructions`: the prompt of the turn, empty before it is built. */
  spawnChild(run: SpawningRun, instructions: string, options: SpawnChildOptions | undefined): Agent
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
