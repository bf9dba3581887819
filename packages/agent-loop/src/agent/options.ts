import type {
  AnyLanguageModel,
  AssistantMessage,
  Clock,
  ContentPart,
  Cost,
  Decimal,
  JSONSchema7,
  JSONValue,
  Message,
  MessageStream,
  ModelRef,
  Models,
  RuntimeParams,
  ToolChoice,
  Usage,
  UserMessage,
} from '@bowline/llm'
import type { CompactionPolicy, CompactionResult, Compactor } from '../compaction/policy.ts'
import type {
  CompactionTrigger,
  AgentEvent,
  ApprovalRequest,
  EndReason,
  PendingToolCall,
  ToolEffect,
  ToolResult,
  TurnError,
  TurnStatus,
} from '../events/types.ts'
import type { Extension } from '../extensions/extension.ts'
import type { Guardrail } from '../guardrails/guardrail.ts'
import type { IdSource } from '../ids.ts'
import type { LoadedList } from './loaded.ts'
import type { Journal, StoredMessage } from '../journal/journal.ts'
import type { Budget } from '../loop/budget.ts'
import type { RetryPolicy } from '../loop/retry-policy.ts'
import type { PromptSections, TextSource } from '../prompt/sections.ts'
import type { ReaderOptions } from '../run/event-buffer.ts'
import type { AiSdkTool } from '../tools/from-ai-sdk.ts'
import type { OnUnknownOutcome, Tool, ToolReturnValue } from '../tools/tool.ts'

export interface AgentOptions {
  /** Needed, with the description, when the agent is another one's subagent. */
  readonly name?: string
  readonly description?: string
  /** A model of the AI SDK, a name that `models` knows, or a function of your own. */
  readonly model: AgentModel
  /** The registry that resolves names of models. */
  readonly models?: Models
  readonly runtimeParams?: RuntimeParams
  readonly toolChoice?: ToolChoice
  /** The system prompt: a text, or its parts. */
  readonly instructions?: TextSource | PromptSections
  /** Tools of an array have their own names; in a record the key is the name. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>
  /** At most so many calls at once in a run. Default 8. */
  readonly toolConcurrency?: number
  readonly subagents?: readonly Agent[]
  /** Their hooks run in this order. */
  readonly extensions?: readonly Extension[]
  /** Those of folders as the list that `loadGuardrails` gave, so that `reload()` can read them again. */
  readonly guardrails?: LoadedList<Guardrail>
  readonly retry?: Partial<RetryPolicy> | false
  /** The next models of a step whose model fails for good. */
  readonly fallback?: readonly (AnyLanguageModel | ModelRef)[]
  readonly compaction?: Partial<CompactionPolicy> | Compactor | false
  readonly limits?: Partial<Limits>
  readonly stopWhen?: StopCondition | readonly StopCondition[]
  readonly prepareStep?: PrepareStep
  /** How many steered inputs a window takes. Default `all`. */
  readonly steering?: 'all' | 'one-at-a-time'
  /** How long calls may take to settle once their signal is aborted. Default 2,000. */
  readonly abortGraceMs?: number
  /** When nobody can say whether a call happened: suspend as `needs-recovery`, or tell the model. Default `stop`. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** `rewind` withdraws the input too, unless a tool that is not `pure` has run. Default `keep`. */
  readonly onFailedTurn?: OnFailedTurn
  /** Messages for the end of each request, which are stored nowhere. */
  readonly ephemeral?: (context: StepContext) => Promise<readonly Message[]> | readonly Message[]
}

export type AgentModel = AnyLanguageModel | ModelRef | ModelFunction
export type OnFailedTurn = 'keep' | 'rewind'

/** A model of your own. Tool results among the messages are stored, and their calls are not executed. */
export type ModelFunction = (request: ModelFunctionRequest) => Promise<readonly ModelFunctionMessage[]> | MessageStream

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

/** An answer, or the result of one of its calls. What is left out is filled in. */
export type ModelFunctionMessage =
  | (Pick<AssistantMessage, 'role'> & { readonly content: string | AssistantMessage['content'] } & Partial<
        Omit<AssistantMessage, 'role' | 'content'>
      >)
  | (Pick<ToolResult, 'role' | 'toolCallId' | 'output'> & Partial<Omit<ToolResult, 'role' | 'toolCallId' | 'output'>>)

/** A tool as plain data. As a remote tool it suspends the run when it is called. */
export interface ToolDeclaration {
  readonly name: string
  readonly description: string
  readonly inputSchema: JSONSchema7
}

/** Of one turn, all its segments together. Absent is none. */
export interface Limits {
  /** Model calls, retries not counted. Default 32. */
  readonly maxSteps: number
  /** Tool calls that may run. Default 256. */
  readonly maxToolCalls: number
  readonly maxTotalTokens?: number
  /** In the currency of the model's price. */
  readonly maxCost?: Decimal
  /** Without the time for which the turn was suspended. */
  readonly maxDurationMs?: number
  /** Of runs inside of runs. Default 3. */
  readonly maxDepth: number
  /** Inputs that wait for a window. Default 100. */
  readonly maxQueuedInputs: number
}

/** Asked once after each step; true ends the turn. */
export type StopCondition = (state: StepState) => boolean | Promise<boolean>

/** What it returns counts for one call only and is not stored. */
export type PrepareStep = (context: StepContext) => StepPatch | undefined | Promise<StepPatch | undefined>

export interface StepPatch {
  readonly model?: AnyLanguageModel | ModelRef
  readonly runtimeParams?: RuntimeParams
  readonly toolChoice?: ToolChoice
  /** The others are not offered, and a call of one gets an error outcome. */
  readonly activeTools?: readonly string[]
  readonly instructions?: string
  readonly messages?: readonly Message[]
}

/** What stands before a model call. */
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

/** What stands behind a step. */
export type StepState = StepContext

/** A definition. It holds no conversation: one agent may run any number of them at once. */
export interface Agent {
  readonly name?: string
  readonly description?: string
  readonly tools: readonly Tool[]
  /** Names that lost against others, and files that could not be loaded. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Starts a turn. `undefined` goes on with the open turn of the journal, or begins one with inputs that wait there.
   * Throws `busy`, `invalid-config`, `invalid-input` or `invalid-transcript`; everything else is data in the events and
   * in the result.
   */
  run(input: AgentInput | undefined, options?: RunOptions): AgentRun
  /** Compacts the journal's conversation by hand. Throws `busy`; with an open turn the outcome is `skipped`. */
  compact(options: CompactOptions): Promise<CompactionResult>
  /** An agent for side work on a journal of its own: same prompt, same tools in the request, fewer that may run. */
  spawnChild(options?: SpawnChildOptions): Agent
  /** Reads files and guardrails again. */
  reload(): Promise<void>
  /** Forgets built prompts: of one channel, or all. */
  invalidatePrompt(channel?: string): void
  fingerprint(): Promise<AgentFingerprint>
}

export interface Diagnostic {
  readonly kind: 'tool' | 'guardrail' | 'skill' | 'file'
  readonly name: string
  readonly message: string
}

export interface CompactOptions {
  readonly journal: Journal
  /** What its events say about who made them. Default: a new id. */
  readonly runId?: string
  /** Default `manual`; another one for a compaction that a journal has put off. */
  readonly trigger?: CompactionTrigger
  /** Extra focus of the summary. */
  readonly instructions?: string
  readonly abortSignal?: AbortSignal
  readonly clock?: Clock
  readonly ids?: IdSource
}

export interface SpawnChildOptions {
  /** Names of the tools that may run. Default: none. */
  readonly tools?: readonly string[]
  readonly channel?: string
  readonly sessionKey?: string
}

/** What an agent was: model, whole system prompt and tools. `hash` leaves out what functions and the footer say. */
export interface AgentFingerprint {
  readonly hash: string
  readonly instructions: string
  readonly model: { readonly provider: string; readonly modelId: string }
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly inputSchema: JSONSchema7
    readonly effect: ToolEffect
  }[]
}

/** Copied when it is accepted. Several texts or parts make one message. */
export type AgentInput =
  | string
  | readonly string[]
  | readonly ContentPart[]
  | UserMessage
  | { readonly type: 'user-text'; readonly text: string | readonly string[] }
  | { readonly type: 'user-message'; readonly content: string | readonly ContentPart[] }
  | Answers

/** Answers to a suspended turn. Checked as a whole: one that is refused refuses all. */
export interface Answers {
  readonly toolResults?: readonly SubmittedResult[]
  readonly approvals?: readonly ApprovalDecision[]
}

/**
 * `error` is short for an output with `isError`. `unknown` alone settles a call whose outcome cannot be found out. A pending
 * call may be handed back with its answer, `{ ...pendingCall, output }`: what it says of itself must be true of the call.
 */
export type SubmittedResult = { readonly toolCallId: string; readonly path?: readonly string[] } & (
  | (SaidOfCall & { readonly output: ToolReturnValue['output']; readonly details?: JSONValue; readonly isError?: boolean })
  | (SaidOfCall & { readonly error: string })
  | { readonly unknown: true }
)

type SaidOfCall = Partial<Pick<PendingToolCall, 'toolName' | 'input' | 'deadlineAt' | 'agent' | 'background' | 'unknown'>>

export interface ApprovalDecision {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** Must be the one that was asked for, when it is there. */
  readonly inputHash?: string
  readonly reason?: string
  /** Edited, of an approval only. Validated by the tool's schema. */
  readonly input?: JSONValue
  /** Who decided. */
  readonly by?: string
}

/** Plain data, except for journal, budget, signal, clock, ids, random and `onApproval`. */
export interface RunOptions {
  /** Default: a memory journal that begins with `messages`. */
  readonly journal?: Journal
  /** The earlier transcript, when there is no journal. */
  readonly messages?: readonly Message[]
  /** Shown directly above the input, for this turn only; of a turn that is answered, behind its results. */
  readonly overlays?: readonly AgentInput[]
  readonly runtimeParams?: RuntimeParams
  /** Tools that somebody outside runs. */
  readonly remoteTools?: readonly ToolDeclaration[]
  /** The definition that the requests carry in the place of today's; the code of the agent's tools runs. */
  readonly pinned?: AgentFingerprint
  /** Picks the platform section, and the entry of the prompt cache. */
  readonly channel?: string
  readonly sessionKey?: string
  /** Who gave the input. Default `user`. */
  readonly source?: string
  /** Handed to tools, hooks and conditions. */
  readonly context?: JSONValue
  /** The id of a new turn; an open turn keeps its own. */
  readonly runId?: string
  /** `synchronized`: the run waits for its first iterator at turn-start, step-start and step-end. Default `live`. */
  readonly mode?: 'live' | 'synchronized'
  /** What a driver that leaves a synchronized run means. Default `continue`. */
  readonly onBreak?: 'continue' | 'abort'
  /** How long a synchronized run waits for its driver before it goes on live. Default: for ever. */
  readonly driverTimeoutMs?: number
  /** What new input does to calls that wait for answers. Default `refuse`. */
  readonly onInputWhilePending?: 'refuse' | 'cancel'
  /** Default: the agent's; a tool's own wins. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** Default: the agent's. */
  readonly onFailedTurn?: OnFailedTurn
  /** Field by field in the place of the agent's. */
  readonly limits?: Partial<Limits>
  /** Shared with other runs. */
  readonly budget?: Budget
  /** Aborting it stops the run. */
  readonly abortSignal?: AbortSignal
  readonly clock?: Clock
  readonly ids?: IdSource
  /** 0 to 1. */
  readonly random?: () => number
  /** Answers an approval in place; undefined suspends the run. */
  readonly onApproval?: (request: ApprovalRequest) => Promise<ApprovalDecision | undefined>
}

export type Phase = 'idle' | 'turn' | 'compaction'

/** Whether an input was taken in. `inputId` names it in `runtime-input`. */
export type Accepted =
  | { readonly ok: true; readonly inputId: string }
  | { readonly ok: false; readonly reason: 'run-ended' | 'queue-full' }

/** A turn that is under way, and the turns of its follow-ups. Iterating it is reading; leaving the loop stops nothing. */
export interface AgentRun extends AsyncIterable<AgentEvent> {
  /**
   * Of the first turn. Of an open turn that is taken up it is empty until the journal has been read, unless it was
   * given.
   */
  readonly runId: string
  readonly phase: Phase
  /** One more live reader, from the first event on. It ends when the result has settled. */
  events(options?: ReaderOptions): AsyncIterable<AgentEvent>
  /** Of the last turn. Must always settle and must never reject. */
  result(): Promise<AgentResult>
  /** Shows the model an input at the next window. Resolves when it is accepted. Throws `invalid-input`. */
  steer(input: AgentInput): Promise<Accepted>
  /** One more turn, when the model would stop. */
  followUp(input: AgentInput): Promise<Accepted>
  /** As `steer`, for this turn only: it is in no transcript and no log. */
  overlay(input: AgentInput): Promise<Accepted>
  /** Stops the run: it ends as `aborted` within the agent's `abortGraceMs`. */
  abort(reason?: string): void
  /** The run of a subagent that a call has under way. */
  child(toolCallId: string): AgentRun | undefined
}

export interface AgentResult {
  readonly runId: string
  readonly status: TurnStatus
  readonly reason: EndReason
  /** Those that this run added to the transcript, in all its turns. */
  readonly messages: readonly StoredMessage[]
  /** Of the last answer. */
  readonly text: string
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** Accepted and not used when the run ended. */
  readonly unusedInputs: readonly AgentInput[]
  /** Of the whole turn of `runId`, earlier segments included. */
  readonly usage: Usage
  /** Absent when a part of it is not known. */
  readonly cost?: Cost
  readonly steps: number
  readonly error?: TurnError
  /** Present when the input was answers that were accepted. */
  readonly submission?: SubmissionReceipt
}

/** Tool call ids and approval ids. */
export interface SubmissionReceipt {
  readonly accepted: readonly string[]
  /** Answers that were stored before, word for word. */
  readonly repeated: readonly string[]
  /** What is still open. */
  readonly missing: readonly string[]
}
