import type {
  AssistantMessage,
  Cost,
  JSONValue,
  Message,
  Models,
  RuntimeParams,
  SentRequest,
  ToolChoice,
  ToolOutput,
  Usage,
  UserMessage,
} from '@bowline/llm'
import type { MaybePromise } from '../base/promises.ts'
import type { AgentEvent } from '../events/agent-event.ts'
import type { Compaction, CompactionTrigger, RetryEndEvent, RetryStartEvent } from '../events/message-events.ts'
import type { ToolEffect } from '../events/tool-events.ts'
import type { ModelName, OutcomeStatus, TurnStatus } from '../events/turn-events.ts'
import type { Agent, AgentTools, SpawnChildOptions } from './agent.ts'
import type { Guardrail } from './guardrail.ts'
import type { Accepted, AgentInput, SessionActions } from './input.ts'
import type { PromptSections } from './prompt.ts'
import type { AgentResult, Phase } from './run.ts'

/** An event without its time and its place in the log. */
type EventFacts<Event> = Omit<Event, 'type' | 'at' | 'seq' | 'runId' | 'turn' | 'agent'>

/**
 * The run as hooks see it, and requests that a hook can make to it. One object serves the whole turn, and its values are always
 * current.
 */
export interface ExtensionContext {
  /** Empty for the summary of a branch, which belongs to no run. */
  readonly runId: string
  readonly turn: number
  readonly step: number
  /** Names of the agents from the root; empty at the root. */
  readonly agent: readonly string[]
  readonly sessionKey?: string
  readonly context?: JSONValue
  /** Use of the journal by this process. */
  readonly journal: Phase
  readonly model: ModelName
  readonly models?: Models
  readonly abortSignal: AbortSignal
  /** Usage of the turn so far. */
  readonly usage: Usage
  readonly cost?: Cost | undefined
  /** The extension's own JSON record of this turn. It is stored with the next commit and restored after a crash. */
  readonly state: Record<string, JSONValue>
  /**
   * Returns the newest user message, steered ones included. Returns undefined outside of a turn, and in a turn that this process
   * has taken over after that message was compacted.
   */
  latestInput(): UserMessage | undefined
  contextUsage(): ContextUsage
  /** The system prompt of the turn. */
  instructions(): string
  isIdle(): boolean
  hasPendingInputs(): boolean
  steer(input: AgentInput): Promise<Accepted>
  followUp(input: AgentInput): Promise<Accepted>
  overlay(input: AgentInput): Promise<Accepted>
  /** Requests a compaction after the turn. */
  compactAfterTurn(): void
  abort(reason?: string): void
  /** Resolves when the run has ended. A hook that awaits it waits for itself. */
  waitForIdle(): Promise<void>
  spawnChild(options?: SpawnChildOptions): Agent
  /**
   * Drops the built prompts of the agent, or those of one channel. The next turn builds its prompt again, and so does this turn if
   * it is suspended first. Until then its prompt stays.
   */
  invalidatePrompt(channel?: string): void
  /** Reads the files of the agent's prompt, skills and guardrails again. Rejects if one cannot be read. */
  reload(): Promise<void>
  /** Writes an `orchestration-step` event, stored with the next commit. */
  logStep(fields: StepFields): void
  /** Absent outside of a session and for subagents. */
  readonly session?: SessionActions
}

/**
 * The fields of an `orchestration-step` event: the step that begins (null: none), the one before, the reason, and its place in the
 * sequence.
 */
export interface StepFields {
  readonly name: string | null
  readonly previous?: string
  readonly because: string
  readonly sequenceIndex: number
}

/** Fill level of the context window, in tokens. */
export interface ContextUsage {
  /** Estimated tokens of the next model call. */
  readonly tokens: number
  readonly contextWindow?: number
}

/**
 * The result of `onInput`. `transform` replaces the input. `handled` ends the turn as `completed` without a model call; `reply` is
 * its answer. Undefined means `continue`.
 */
export type InputDecision =
  | { readonly action: 'continue' }
  | { readonly action: 'transform'; readonly input: AgentInput }
  | { readonly action: 'handled'; readonly reply?: string }

/**
 * The result of `onToolCall`. `modify` replaces the input, which is validated again. `reject-and-continue` gives the outcome
 * `denied`, `synthesize` a result; the tool does not run. `error` ends the turn as `error` with the code `policy-error`. Undefined
 * means `allow`.
 */
export type CallDecision =
  | { readonly action: 'allow' }
  | { readonly action: 'modify'; readonly input: JSONValue }
  | { readonly action: 'reject-and-continue'; readonly message: string }
  | { readonly action: 'synthesize'; readonly output: JSONValue; readonly details?: JSONValue }
  | { readonly action: 'error'; readonly message: string }

/** The result of `onToolResult`: changes the outcome of a call. A field that is absent changes nothing. */
export interface ResultPatch {
  readonly status?: OutcomeStatus
  readonly output?: JSONValue
  readonly details?: JSONValue
  readonly isError?: boolean
  readonly terminate?: boolean
}

/**
 * The result of `beforeCompaction`: cancels the compaction, replaces the summary, or adds instructions for it. Undefined changes
 * nothing.
 */
export type CompactionDecision =
  | { readonly cancel: true; readonly reason?: string }
  | { readonly compaction: { readonly summary: string; readonly firstKeptMessageId: string } }
  | { readonly instructions: string }

/** A compaction that is about to be made. `firstKeptMessageId` is the place where the default would cut. */
export interface BeforeCompaction {
  readonly trigger: CompactionTrigger
  readonly messages: readonly Message[]
  readonly tokensBefore: number
  readonly firstKeptMessageId?: string
  readonly instructions?: string
}

/** The result of `beforeModelCall`: changes one request. A field that is absent changes nothing. */
export interface RequestPatch {
  readonly runtimeParams?: RuntimeParams
  readonly activeTools?: readonly string[]
  /** The tools that the model is shown. A call of a hidden tool is not refused for that reason: `onToolCall` decides. */
  readonly shownTools?: readonly string[]
  readonly toolChoice?: ToolChoice
}

/** A tool call as hooks see it. `input` is what the tool would get. */
export interface HookedCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  readonly effect: ToolEffect
  readonly idempotencyKey: string
}

/**
 * The outcome of a call as hooks see it. `executed`: the tool ran `here`, its result was submitted from `elsewhere`, or it did not
 * run (`no`).
 */
export interface HookedResult {
  readonly status: OutcomeStatus
  readonly output: ToolOutput
  readonly details?: JSONValue
  readonly executed: 'here' | 'elsewhere' | 'no'
  readonly terminate?: boolean
}

/** One call of a provider, with the request as it is sent. */
export interface SentModelRequest {
  /** Id of the message of this attempt, of the compaction, or of the branch summary, whichever the call is for. */
  readonly id: string
  readonly purpose: 'answer' | 'compaction' | 'branch-summary'
  /** Attempt of the step, from 1. Each attempt has its own message. */
  readonly attempt: number
  readonly model: ModelName
  readonly request: SentRequest
}

/**
 * The handlers of an extension. Handlers of several extensions run in list order and are awaited; each sees the changes of the
 * handlers before it. Returning undefined changes nothing.
 */
export interface Hooks {
  onInput?(
    event: { readonly input: AgentInput; readonly source: string },
    context: ExtensionContext,
  ): MaybePromise<InputDecision | undefined | void>
  beforeAgentStart?(
    event: { readonly input: AgentInput | undefined; readonly instructions: string },
    context: ExtensionContext,
  ): MaybePromise<{ readonly instructions?: string; readonly append?: readonly AgentInput[] } | undefined | void>
  onTurnStart?(event: { readonly turn: number; readonly resumed: boolean }, context: ExtensionContext): MaybePromise<void>
  transformContext?(
    event: { readonly messages: readonly Message[] },
    context: ExtensionContext,
  ): MaybePromise<{ readonly messages: readonly Message[] } | undefined | void>
  onStepStart?(event: { readonly step: number }, context: ExtensionContext): MaybePromise<void>
  onStepEnd?(
    event: { readonly step: number; readonly toolCalls: readonly HookedCall[]; readonly text: string },
    context: ExtensionContext,
  ): MaybePromise<void>
  beforeModelCall?(
    event: {
      readonly instructions: string
      readonly messages: readonly Message[]
      readonly tools: readonly string[]
      readonly runtimeParams: RuntimeParams
      readonly attempt: number
    },
    context: ExtensionContext,
  ): MaybePromise<RequestPatch | undefined | void>
  /**
   * Called for each provider call, after everything that can change the request and before it is sent. It cannot change anything.
   */
  onModelRequest?(event: SentModelRequest, context: ExtensionContext): MaybePromise<void>
  afterModelCall?(event: { readonly message: AssistantMessage; readonly usage: Usage }, context: ExtensionContext): MaybePromise<void>
  onToolCall?(
    event: { readonly call: HookedCall; readonly input: JSONValue },
    context: ExtensionContext,
  ): MaybePromise<CallDecision | undefined | void>
  /** Called for every outcome, whatever its status. */
  onToolResult?(
    event: { readonly call: HookedCall; readonly result: HookedResult; readonly status: OutcomeStatus },
    context: ExtensionContext,
  ): MaybePromise<ResultPatch | undefined | void>
  /**
   * Called for every outcome in its final form, after all hooks that can change it. Changes that it makes to `state` are stored
   * with the outcome.
   */
  onToolSettled?(event: { readonly call: HookedCall; readonly status: OutcomeStatus }, context: ExtensionContext): MaybePromise<void>
  beforeCompaction?(event: BeforeCompaction, context: ExtensionContext): MaybePromise<CompactionDecision | undefined | void>
  afterCompaction?(event: { readonly compaction: Compaction }, context: ExtensionContext): MaybePromise<void>
  onRetryStart?(event: EventFacts<RetryStartEvent>, context: ExtensionContext): MaybePromise<void>
  onRetryEnd?(event: EventFacts<RetryEndEvent>, context: ExtensionContext): MaybePromise<void>
  /** Called when `turn-end` is stored. */
  onAgentEnd?(event: { readonly result: AgentResult; readonly status: TurnStatus }, context: ExtensionContext): MaybePromise<void>
  /** Called when a turn, or a compaction outside of a turn, is stored. `turn`: its number, or that of the turn before the compaction. */
  onSavePoint?(event: { readonly turn: number }, context: ExtensionContext): MaybePromise<void>
  onSettled?(event: { readonly turn: number }, context: ExtensionContext): MaybePromise<void>
  /** Called for each durable event, frozen; with `deltas: true` for deltas too. It is not awaited and cannot change anything. */
  onEvent?(event: AgentEvent, context: ExtensionContext): void
}

/** The name of a hook, for example `onToolCall`. */
export type HookName = keyof Hooks

/** Hooks, tools, guardrails and prompt sections that are added to an agent as one unit. Errors of its hooks are isolated: see `onError`. */
export interface Extension {
  /** Unique in its agent. Records and errors of the extension carry this name. */
  readonly name: string
  /** Tools that are added to the agent's. A tool whose name is taken is not used and becomes a diagnostic. */
  readonly tools?: AgentTools
  /** Guardrails that run after the agent's. */
  readonly guardrails?: readonly Guardrail[]
  /** Sections that are added to the agent's. */
  readonly promptSections?: Partial<Pick<PromptSections, 'append' | 'memory' | 'user' | 'docs' | 'skills'>>
  /** Time limit of each hook, in ms. Default 5,000. */
  readonly timeoutMs?: number
  /**
   * Handling of a hook that fails. `ignore`: an `error` event, and the chain continues with the last good value. `fail`: the turn
   * ends as `error`. `reject` (only for `onToolCall`): that call is denied. Default `ignore`; for `onToolCall` `reject`.
   */
  readonly onError?: 'ignore' | 'fail' | 'reject'
  /** True: `onEvent` gets deltas too. Default false. */
  readonly deltas?: boolean
  /** Handlers that the loop calls, each within `timeoutMs`. */
  readonly hooks: Hooks
}
