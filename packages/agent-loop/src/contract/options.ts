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
  /** Name of the agent. Required, with the description, if the agent is a subagent. */
  readonly name?: string
  /** Tells models and people what the agent is good for. */
  readonly description?: string
  /** A model of the AI SDK, a name that `models` knows, or a function of your own. */
  readonly model: AgentModel
  /** Registry that resolves names of models. */
  readonly models?: Models
  /** Settings of the model: temperature, reasoning, timeouts and so on. A run's settings win. */
  readonly runtimeParams?: RuntimeParams
  /** Whether the model may, must or must not call tools, or which one. Default: it may. */
  readonly toolChoice?: ToolChoice
  /**
   * `auto`: with Anthropic, each request has a cache mark at the end of the prompt part that is the same in every turn, and one at
   * the last stored message. If a later request does not begin like the one before, a `usage` event names the first difference
   * (`cacheMiss`). `off`: no marks and no reports. Subagents without a setting of their own, `spawnChild` and compactions use this
   * setting too. Default `auto`.
   */
  readonly cache?: CacheSetting
  /** The system prompt: a text, or its parts. */
  readonly instructions?: TextSource | PromptSections
  /** Tools of the agent. In an array each tool has its own name; in a record the key is the name. */
  readonly tools?: Tools
  /**
   * Schema of the final answer, which is an object. `result().output` is the validated answer. If the answer does not fit, the run
   * ends as `error` with the code `output-invalid`. While the answer is written, `output-delta` events show it.
   */
  readonly output?: Schema
  /** Number of times that the model may repair an answer that does not fit; it is shown what is wrong. Default 1. */
  readonly outputRepairs?: number
  /** Maximum number of tool calls at the same time in a run. Default 8. */
  readonly toolConcurrency?: number
  /** Agents to which this agent may delegate. Each becomes a tool `delegate_to_…`. */
  readonly subagents?: readonly Agent[]
  /** Extensions. Their hooks run in this order. */
  readonly extensions?: readonly Extension[]
  /** Guardrails. Pass the list that `loadGuardrails` returned as it is, so that `reload()` can read its folders again. */
  readonly guardrails?: LoadedList<Guardrail>
  /** Retries of failed model calls; `false` disables them. Default: see `RetryPolicy`. */
  readonly retry?: Partial<RetryPolicy> | false
  /** Models that take over a step, in this order, if its model fails for good. */
  readonly fallback?: readonly (AnyLanguageModel | ModelRef)[]
  /** Summaries of old messages; `false` disables them. Default: see `CompactionPolicy`. */
  readonly compaction?: Partial<CompactionPolicy> | Compactor | false
  /** Limits of one turn: steps, calls, tokens, money, time. Default: see `Limits`. */
  readonly limits?: Partial<Limits>
  /** Conditions that are checked after each step. The turn ends if one returns true. */
  readonly stopWhen?: StopCondition | readonly StopCondition[]
  /** Called before each model call. Can change model, settings, tools, prompt and messages of that call. */
  readonly prepareStep?: PrepareStep
  /** Number of steered inputs that one window takes. Default `all`. */
  readonly steering?: 'all' | 'one-at-a-time'
  /** Time in ms for calls to settle after their signal is aborted. Default 2,000. */
  readonly abortGraceMs?: number
  /** Decides about calls that may or may not have taken effect: suspend as `needs-recovery`, or tell the model. Default `stop`. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /**
   * Decides about the messages of a turn that fails. `rewind` withdraws the input too, unless a tool that is not `pure` has run.
   * Default `keep`.
   */
  readonly onFailedTurn?: OnFailedTurn
  /** Returns messages for the end of each request. They are not stored. */
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
  /** Model that makes the call instead of the agent's. */
  readonly model?: AnyLanguageModel | ModelRef
  /** Settings of the call. Each field wins over the run's. */
  readonly runtimeParams?: RuntimeParams
  /** Replaces the agent's. */
  readonly toolChoice?: ToolChoice
  /** Tools that are offered. A call of any other tool gets an error outcome. */
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
  /** Outcomes of the calls of the last answer. */
  readonly lastOutcomes: readonly ToolResult[]
  /** Usage of the turn so far. */
  readonly usage: Usage
  readonly cost?: Cost
  readonly budgetLeft: Budget['left']
  readonly context?: JSONValue
}

/** The state of the turn after a step, for `stopWhen`. */
export type StepState = StepContext

/** Decides when a failed model call is retried. Retries are counted per step. Delays are ms. */
export interface RetryPolicy {
  /** Maximum number of retries. Default 3. */
  readonly maxRetries: number
  /** First delay, doubled with each retry. Default 2,000. */
  readonly baseDelayMs: number
  /** The longest delay that the loop chooses itself, in milliseconds. Default 30,000. */
  readonly maxDelayMs: number
  /** The share by which a delay grows at random, so that many callers do not come back together. Default 0.25. */
  readonly jitter: number
  /**
   * Longest delay that a provider may ask for; if it asks for more, the turn ends at once. A shorter one counts as a minimum.
   * Default 60,000.
   */
  readonly maxServerDelayMs: number
  /** Maximum sum of all waits of a turn, in milliseconds. Default 180,000. */
  readonly maxTotalDelayMs: number
  /** `turn`: a retry goes back to the last message after which only `pure` tools ran. Default `attempt`. */
  readonly rewind: 'attempt' | 'turn'
  /** Decides whether an error is retried. Undefined: as the error itself says. */
  readonly isRetryable?: (error: ModelError) => boolean | undefined
}
