import type { AssistantMessage, JsonOutput, Message, ModelError, RuntimeParams, ToolChoice, UserMessage } from '@bowline/llm'
import type { AgentInput } from '../contract/input.ts'
import type { ModelFunctionMessage, StepPatch } from '../contract/options.ts'
import type { CacheMiss, RetryEndEvent, RetryStartEvent } from '../events/message-events.ts'
import type { Window } from '../events/turn-events.ts'
import type { FactsOf } from '../journal/turn-log.ts'
import type { Outcome } from '../tools/outcome.ts'
import type { Call } from './call.ts'
import type { TurnOutcome } from './ending.ts'
import type { ModelTarget } from './model-target.ts'
import type { Declarations } from './run-context.ts'

/** A new input, before it is stored. */
export interface GivenInput {
  readonly input: AgentInput
  readonly source: string
}

/** Verdict on a new input: another message replaces it, or it is handled without a model. */
export type InputVerdict =
  | { readonly action: 'transform'; readonly input: UserMessage }
  | { readonly action: 'handled'; readonly reply?: string }

/** The beginning of a segment. `input` is undefined if the turn is resumed, or if queued inputs begin it. */
export interface Segment {
  readonly input: AgentInput | undefined
  readonly resumed: boolean
}

/** The plan of one step: the models that may answer it, and settings for it alone. */
export interface StepPlan {
  patch: StepPatch
  /** The first takes the step, the others follow if it fails for good. */
  models: readonly [ModelTarget, ...ModelTarget[]]
  /** The model of the next attempt. */
  model: ModelTarget
  /** Params of the agent, the run and the step. */
  params: RuntimeParams
}

/** The request of one model call, while plug-ins add to it. */
export interface RequestDraft {
  readonly target: ModelTarget
  instructions: string
  messages: readonly Message[]
  /** The messages that later requests may repeat. Absent: all. */
  lasting?: readonly Message[]
  tools: Declarations
  runtimeParams: RuntimeParams
  toolChoice: ToolChoice | undefined
  output?: JsonOutput
}

/** An answer that has just come. */
export interface Answered {
  readonly plan: StepPlan
  answer: ModelAnswer
}

/** The outcome of a call, while plug-ins look at it. */
export interface EndedCall {
  readonly call: Call
  outcome: Outcome
}

/** A step whose calls are settled or wait. `outcome` ends the turn; undefined: another step follows. */
export interface EndedStep {
  readonly answer: AssistantMessage
  readonly calls: readonly Call[]
  outcome: TurnOutcome | undefined
}

/** An attempt that ended without an accepted answer, or the answer that came after such attempts. */
export interface AttemptEnd {
  readonly success: boolean
  readonly error?: AssistantMessage['error'] | undefined
}

export type RetryStart = Omit<FactsOf<RetryStartEvent>, 'type'>

export type RetryEnd = Omit<FactsOf<RetryEndEvent>, 'type'>

/** The next phase of a turn. */
export type Next =
  | { readonly phase: 'ask' }
  | { readonly phase: 'settle'; readonly answer: ModelAnswer; readonly calls: readonly Call[] }
  /** `slot`: the window for inputs that come before the end is stored. Default `step-end`. */
  | { readonly phase: 'end'; readonly outcome: TurnOutcome; readonly slot?: Window }
  | { readonly phase: 'ended'; readonly outcome: TurnOutcome }
  | { readonly phase: 'yielded' }

export type GivenResult = Extract<ModelFunctionMessage, { role: 'tool-result' }>

/** The answer of a model. It may bring results of its calls along: they are stored, not executed. */
export interface ModelAnswer {
  readonly message: AssistantMessage
  /** Results by tool call id. */
  readonly results: ReadonlyMap<string, GivenResult>
  readonly cacheMiss?: CacheMiss | undefined
}

/** Verdict on an answer that is not accepted. `withdraw`: messages that leave the transcript with it. */
export type AnswerVerdict =
  | {
      readonly kind: 'retry'
      readonly cause: 'error' | 'overflow' | 'fallback'
      readonly delayMs: number
      readonly error: ModelError
      readonly withdraw: readonly string[]
      /** The model that takes over, and its place in the plan. */
      readonly fallback?: { readonly place: number; readonly model: ModelTarget }
      /** Called before the next attempt is announced. False: the next attempt would fail like this one. */
      readonly prepare?: () => Promise<boolean>
    }
  /** The turn ends, and leaves nothing in the transcript. */
  | { readonly kind: 'fail'; readonly error: ModelError; readonly withdraw: readonly string[]; readonly outcome: TurnOutcome }
