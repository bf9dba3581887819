import type { AnyLanguageModel, FunctionTool, LanguageModelV4ProviderTool, ModelRef, Models, RuntimeParams, ToolChoice } from '@bowline/llm'
import type { Diagnostic } from '../base/loaded.ts'
import type { Agent, OnFailedTurn, RunOptions, Tool } from '../contract/agent.ts'
import type { Extension } from '../contract/extension.ts'
import type { Guardrail } from '../contract/guardrail.ts'
import type { AgentModel, AgentOptions, PrepareStep, StopCondition } from '../contract/options.ts'
import type { RetryPolicy } from '../contract/retry-policy.ts'
import type { Limits } from '../contract/run.ts'
import type { OnUnknownOutcome } from '../contract/tool.ts'
import type { CompactionSetting } from '../plugins/compaction/policy.ts'
import type { PromptCache } from '../plugins/prompt/cache.ts'
import type { Fingerprints } from './fingerprint.ts'

/** The options of an agent, checked and with defaults. */
export interface AgentDefinition {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly model: AgentModel
  readonly models: Models | undefined
  readonly runtimeParams: RuntimeParams
  readonly toolChoice: ToolChoice | undefined
  readonly promptCache: PromptCache
  readonly fingerprints: Fingerprints
  /** The whole prompt, in the place of one that is built. */
  readonly pinnedInstructions: string | undefined
  /** A part of the prompt is a function. */
  readonly asksForPrompt: boolean
  /** Every tool that a call can name: the agent's own, those of its extensions, and one for each subagent. */
  readonly tools: ReadonlyMap<string, Tool>
  /** The tools as a model is told of them. The same array as long as the tools are the same. */
  readonly declarations: readonly (FunctionTool | LanguageModelV4ProviderTool)[]
  readonly toolNames: readonly string[]
  /** Names that may run; undefined is all. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly toolConcurrency: number
  readonly extensions: readonly Extension[]
  /** As they were loaded last. */
  guardrails(): readonly Guardrail[]
  readonly retry: RetryPolicy
  readonly fallback: readonly (AnyLanguageModel | ModelRef)[]
  readonly compaction: CompactionSetting
  readonly limits: Limits
  readonly stopWhen: readonly StopCondition[]
  readonly prepareStep: PrepareStep | undefined
  readonly steering: 'all' | 'one-at-a-time'
  readonly abortGraceMs: number
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  readonly ephemeral: AgentOptions['ephemeral']
  /** What a run is given when its options do not say. */
  readonly runDefaults?: Pick<RunOptions, 'channel' | 'sessionKey' | 'context' | 'clock'>
  diagnostics(): readonly Diagnostic[]
  reload(): Promise<void>
}

export const definitionKey: unique symbol = Symbol.for('bowline.agent-loop.definition') as never

/** An agent as this package made it. */
export type DefinedAgent = Agent & { readonly [definitionKey]: AgentDefinition }

/** Where only this package looks: a copy of an agent by spreading still runs. */
export function definitionOf(agent: unknown): AgentDefinition | undefined {
  return typeof agent === 'object' && agent !== null ? (agent as Partial<DefinedAgent>)[definitionKey] : undefined
}
