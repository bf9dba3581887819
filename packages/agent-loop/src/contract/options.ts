import type {
  AnyLanguageModel,
  AssistantMessage,
  Cost,
  JSONValue,
  Message,
  MessageStream,
  ModelError,
  ModelRef,
  Models,
  RuntimeParams,
  ToolChoice,
  Usage,
} from '@bowline/llm'
import type { LoadedList } from '../base/loaded.ts'
import type { ToolResult } from '../events/tool-events.ts'
import type { Agent, AgentTools, OnFailedTurn, ToolDeclaration } from './agent.ts'
import type { CompactionPolicy, Compactor } from './compaction.ts'
import type { Extension } from './extension.ts'
import type { Guardrail } from './guardrail.ts'
import type { PromptSections, TextSource } from './prompt.ts'
import type { Budget, Limits } from './run.ts'
import type { InputSchema, OnUnknownOutcome } from './tool.ts'

/** Defines an agent: model, prompt, tools, and the rules for retries, limits, compaction and output. Only `model` is required. */
export interface AgentOptions<Tools extends AgentTools = AgentTools, Schema extends InputSchema = InputSchema> {
  /** Needed, with the description, when the agent is another one's subagent. */
  readonly name?: string
  /** For models and people: what the agent is good for. */
  readonly description?: string
  /** A model of the AI SDK, a name that `models` knows, or a function of your own. */
  readonly model: AgentModel
  /** The registry that resolves names of models. */
  readonly models?: Models
  /** Settings of the model: temperature, reasoning, timeouts and so on. Those of a run win. */
  readonly runtimeParams?: RuntimeParams
  /** Whether the model may, must or must not call tools, or which one. Default: it may. */
  readonly toolChoice?: ToolChoice
  /**
   * `auto`: with Anthropic each request has a cache mark at the end of what is the same in every turn of the system
   * prompt, and one at the last stored message; if a later request does not begin as the one before, a `usage` event says
   * with what (`cacheMiss`). `off`: neither. Subagents without a setting of their own, `spawnChild` and compactions follow.
   * Default `auto`.
   */
  readonly cache?: CacheSetting
  /** The system prompt: a text, or its parts. */
  readonly instructions?: TextSource | PromptSections
  /** Tools of an array have their own names; in a record the key is the name. */
  readonly tools?: Tools
  /**
   * What the final answer must be: the schema of an object. `result().output` is what it lets through; else the run ends as
   * `error` with the code `output-invalid`. While the answer is written, `output-delta` events tell of it.
   */
  readonly output?: Schema
  /** How often an answer that does not fit is shown to the model with what is wrong. Default 1. */
  readonly outputRepairs?: number
  /** At most so many calls at once in a run. Default 8. */
  readonly toolConcurrency?: number
  /** Agents that this one may hand work to. Each becomes a tool `delegate_to_…`. */
  readonly subagents?: readonly Agent[]
  /** Their hooks run in this order. */
  readonly extensions?: readonly Extension[]
  /** Those of folders as the list that `loadGuardrails` gave, so that `reload()` can read them again. */
  readonly guardrails?: LoadedList<Guardrail>
  /** When a failed model call is made again; `false` is never. Default: see `RetryPolicy`. */
  readonly retry?: Partial<RetryPolicy> | false
  /** The next models of a step whose model fails for good. */
  readonly fallback?: readonly (AnyLanguageModel | ModelRef)[]
  /** How old messages are summarised; `false` is never. Default: see `CompactionPolicy`. */
  readonly compaction?: Partial<CompactionPolicy> | Compactor | false
  /** Of one turn: steps, calls, tokens, money, time. Default: see `Limits`. */
  readonly limits?: Partial<Limits>
  /** Ends the turn after a step for which one of them is true. */
  readonly stopWhen?: StopCondition | readonly StopCondition[]
  /** Asked before each model call: model, settings, tools, prompt and messages of that call. */
  readonly prepareStep?: PrepareStep
  /** How many steered inputs a window takes. Default `all`. */
  readonly steering?: 'all' | 'one-at-a-time'
  /** How long calls may take to settle once their signal is aborted. Default 2,000. */
  readonly abortGraceMs?: number
  /** When it is unknown whether a call happened: suspend as `needs-recovery`, or tell the model. Default `stop`. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** `rewind` withdraws the input too, unless a tool that is not `pure` has run. Default `keep`. */
  readonly onFailedTurn?: OnFailedTurn
  /** Messages for the end of each request, which are stored nowhere. */
  readonly ephemeral?: (context: StepContext) => Promise<readonly Message[]> | readonly Message[]
}

/** Whether the agent marks its prompts for the provider's cache and reports cache misses. Default `auto`. */
export type CacheSetting = 'auto' | 'off'

/** The model of an agent: a model object of the AI SDK, a name that `models` resolves, or a function of your own. */
export type AgentModel = AnyLanguageModel | ModelRef | ModelFunction

/**
 * A model of your own: returns messages, or a `MessageStream`. If the messages contain tool results, the loop stores them and does
 * not execute their calls.
 */
export type ModelFunction = (request: ModelFunctionRequest) => Promise<readonly ModelFunctionMessage[]> | MessageStream

/** One call of a `ModelFunction`: the whole prompt, and the place of the call. `turn`, `step` and `attempt` count from 1. */
export interface ModelFunctionRequest {
  readonly instructions: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDeclaration[]
  readonly runtimeParams: RuntimeParams
  readonly abortSignal: AbortSignal
  readonly runId: string
  readonly turn: number
  readonly step: number
  readonly attempt: number
}

/** An answer, or the result of one of its calls. The loop fills in absent fields. */
export type ModelFunctionMessage =
  | (Pick<AssistantMessage, 'role'> & { readonly content: string | AssistantMessage['content'] } & Partial<
        Omit<AssistantMessage, 'role' | 'content'>
      >)
  | (Pick<ToolResult, 'role' | 'toolCallId' | 'output'> & Partial<Omit<ToolResult, 'role' | 'toolCallId' | 'output'>>)

/** Called once after each step. Returns true to end the turn. */
export type StopCondition = (state: StepState) => boolean | Promise<boolean>

/** Called before each model call. Returns changes for that call alone; they are not stored. */
export type PrepareStep = (context: StepContext) => StepPatch | undefined | Promise<StepPatch | undefined>

/** Changes for one model call. A field that is absent changes nothing. */
export interface StepPatch {
  /** Makes the call, in the place of the agent's. */
  readonly model?: AnyLanguageModel | ModelRef
  /** Win over those of the run, field by field. */
  readonly runtimeParams?: RuntimeParams
  /** In the place of the agent's. */
  readonly toolChoice?: ToolChoice
  /** The others are not offered, and a call of one gets an error outcome. */
  readonly activeTools?: readonly string[]
  /** The whole system prompt of the call. */
  readonly instructions?: string
  /** Replaces the transcript that the model is shown. */
  readonly messages?: readonly Message[]
}

/** The state of the turn before a model call. `step` is the step that begins. */
export interface StepContext {
  readonly runId: string
  readonly turn: number
  /** The step that is to begin. */
  readonly step: number
  readonly messages: readonly Message[]
  readonly lastAnswer?: AssistantMessage
  /** Of the calls of the last answer. */
  readonly lastOutcomes: readonly ToolResult[]
  /** Of the turn so far. */
  readonly usage: Usage
  readonly cost?: Cost
  readonly budgetLeft: Budget['left']
  readonly context?: JSONValue
}

/** The state of the turn after a step, for `stopWhen`. */
export type StepState = StepContext

/** Decides when a failed model call is made again. Retries are counted per step. Delays are ms. */
export interface RetryPolicy {
  /** Default 3. */
  readonly maxRetries: number
  /** Doubled with each retry. Default 2,000. */
  readonly baseDelayMs: number
  /** The longest delay that the loop chooses itself, in milliseconds. Default 30,000. */
  readonly maxDelayMs: number
  /** The share by which a delay grows at random, so that many callers do not come back together. Default 0.25. */
  readonly jitter: number
  /** The provider's own delay is a minimum; above this the turn ends at once. Default 60,000. */
  readonly maxServerDelayMs: number
  /** The sum of all waits of a turn may not exceed it, in milliseconds. Default 180,000. */
  readonly maxTotalDelayMs: number
  /** `turn` goes back to the last message after which only `pure` tools ran. Default `attempt`. */
  readonly rewind: 'attempt' | 'turn'
  /** Undefined: as the error says itself. */
  readonly isRetryable?: (error: ModelError) => boolean | undefined
}
