import type {
  AssistantMessage,
  Cost,
  JSONValue,
  ModelError,
  ToolCallPart,
  ToolOutput,
  Usage,
  UserMessage,
  WholePart,
} from '@bowline/llm'

/**
 * The protocol. Durable events are made by a commit and carry the `seq` it gave them: 1, 2, 3 … without gaps per
 * conversation. Deltas carry none. No event holds the message so far. Every event must survive a JSON round trip.
 */
export type AgentEvent = DurableEvent | DeltaEvent

export type DurableEvent =
  | SessionStartEvent
  | SessionEndEvent
  | RunQueuedEvent
  | BranchSwitchedEvent
  | OrchestrationStepEvent
  | UserMessageEvent
  | RuntimeInputEvent
  | TurnStartEvent
  | StepStartEvent
  | StepEndEvent
  | TurnEndEvent
  | RetryStartEvent
  | RetryEndEvent
  | MessageStartEvent
  | MessageEndEvent
  | MessageDiscardedEvent
  | ToolExecutionStartEvent
  | ToolExecutionEndEvent
  | AwaitingToolsEvent
  | ApprovalRequestedEvent
  | ApprovalResolvedEvent
  | CompactionStartEvent
  | CompactionEndEvent
  | UsageEvent
  | ChildStartEvent
  | ChildUpdateEvent
  | ChildEndEvent
  | SavePointEvent
  | SettledEvent
  | ErrorEvent

/** What is live only: the durable event that closes its message or call holds the whole. */
export type DeltaEvent =
  | TextStartEvent
  | TextDeltaEvent
  | TextEndEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent
  | ContentPartEvent
  | ToolExecutionDeltaEvent

/**
 * `at` is epoch milliseconds; the durable events of one commit carry one time. `seq` is absent until the commit gave it.
 */
interface EventBase {
  readonly at: number
  readonly seq?: number
}

/** Events of a run. `turn` counts the turns of the conversation, `step` the model calls of the turn, both from 1. */
interface RunEventBase extends EventBase {
  readonly runId: string
  readonly turn: number
  /** Names of the agents from the root to the one that made the event; absent at the root. */
  readonly agent?: readonly string[]
}

interface StepEventBase extends RunEventBase {
  readonly step: number
}

export interface ModelName {
  readonly provider: string
  readonly modelId: string
}

export interface SessionStartEvent extends EventBase {
  readonly type: 'session-start'
  readonly sessionKey: string
  /** The transcript came from elsewhere (fork, import): a reader loads it. */
  readonly copied?: true
}

export interface SessionEndEvent extends EventBase {
  readonly type: 'session-end'
  readonly sessionKey: string
  readonly reason: 'deleted' | 'expired'
}

export interface RunQueuedEvent extends EventBase {
  readonly type: 'run-queued'
  readonly runId: string
  readonly kind: 'user'
  /** As it was given. */
  readonly input: JSONValue
  readonly inputId?: string
}

/** The conversation goes on elsewhere in its tree. Entry ids; null is the root. */
export interface BranchSwitchedEvent extends EventBase {
  readonly type: 'branch-switched'
  readonly from: string | null
  readonly to: string | null
  readonly summaryEntryId?: string
}

/** Made by an extension, through `logStep`. */
export interface OrchestrationStepEvent extends RunEventBase {
  readonly type: 'orchestration-step'
  readonly name: string | null
  readonly previous?: string
  readonly because: string
  readonly sequenceIndex: number
}

export interface UserMessageEvent extends RunEventBase {
  readonly type: 'user-message'
  readonly messageId: string
  readonly message: UserMessage
  readonly source: string
  readonly inputId?: string
}

/** Input that came while the turn was under way. An overlay never has its message here. */
export interface RuntimeInputEvent extends RunEventBase {
  readonly type: 'runtime-input'
  readonly inputId: string
  readonly source: InputSource
  readonly placement: Window
  readonly message?: UserMessage
  /** Length of the text. */
  readonly characters: number
}

/** `steer` from whoever holds the run, `notify` from a runtime; both are stored. An `overlay` is shown for one turn only. */
export type InputSource = 'steer' | 'notify' | 'overlay'

/** Where input may come into a turn. */
export type Window = 'turn-start' | 'step-start' | 'step-end'

export interface TurnStartEvent extends RunEventBase {
  readonly type: 'turn-start'
  /** True for every segment of a turn but its first. */
  readonly resumed: boolean
  readonly attempt: number
  readonly cause?: ResumeCause
  /** The hash of the agent's fingerprint. */
  readonly fingerprint?: string
  /** What has changed in the agent since the turn began. */
  readonly definitionDiff?: JSONValue
}

export type ResumeCause = 'answers' | 'takeover' | 'yield' | 'recovery'

export interface StepStartEvent extends StepEventBase {
  readonly type: 'step-start'
  /** Estimate of what the call will send. */
  readonly contextTokens: number
  readonly contextWindow?: number
  readonly model: ModelName
}

export interface StepEndEvent extends StepEventBase {
  readonly type: 'step-end'
  readonly toolCalls: number
  /** As far as known then: an input that is taken behind it makes one more step. */
  readonly continues: boolean
}

export interface TurnEndEvent extends RunEventBase {
  readonly type: 'turn-end'
  readonly status: TurnStatus
  readonly reason: EndReason
  /** Of the whole turn, all its segments together. */
  readonly usage: Usage
  /** Absent when a part of it is not known. */
  readonly cost?: Cost
  readonly steps: number
  /** Overlays that ended with the turn. */
  readonly overlaysExpired: number
  readonly error?: TurnError
  /** After an abort: what became of each call of the step that was stopped. */
  readonly receipt?: readonly CallReceipt[]
}

/** Of a model call that fell back: the first model's error, with what the others said. */
export type TurnError = (ModelError & { readonly details?: readonly ModelError[] }) | AgentErrorData

export interface CallReceipt {
  readonly toolCallId: string
  readonly toolName: string
  readonly status: OutcomeStatus
}

/** `needs-recovery` wins over pending calls, these over approvals. */
export type TurnStatus =
  | 'completed'
  | 'awaiting-tools'
  | 'awaiting-approval'
  | 'limit'
  | 'halted'
  | 'aborted'
  | 'error'
  | 'needs-recovery'

export type EndReason =
  | 'stop'
  | 'length'
  | 'terminated'
  | 'stop-when'
  | 'handled'
  | 'pending'
  | 'max-steps'
  | 'max-tool-calls'
  | 'max-total-tokens'
  | 'max-cost'
  | 'max-duration'
  | 'output-length'
  | 'guardrail'
  | 'abort'
  | 'yielded'
  | 'refused'
  | 'model-error'
  | 'extension-error'
  | 'policy-error'
  | 'journal-error'
  | 'unknown-outcome'

export type AgentErrorCode =
  | 'busy'
  | 'invalid-config'
  | 'invalid-input'
  | 'invalid-transcript'
  | 'unknown-tool-call'
  | 'tool-result-conflict'
  | 'unknown-approval'
  | 'approval-conflict'
  | 'pending-calls'
  | 'nothing-to-run'
  | 'journal-failed'
  | 'fenced'
  | 'extension-error'
  | 'policy-error'
  | 'halted'

/** `refused`: of answers, each refused id with its own code; the code of the whole is that of the first. */
export interface AgentErrorData {
  readonly code: AgentErrorCode
  readonly message: string
  readonly refused?: readonly { readonly id: string; readonly code: AgentErrorCode }[]
}

export interface MessageStartEvent extends StepEventBase {
  readonly type: 'message-start'
  readonly messageId: string
  readonly attempt: number
  readonly model: ModelName
}

export interface MessageEndEvent extends StepEventBase {
  readonly type: 'message-end'
  readonly messageId: string
  readonly message: AssistantMessage
  readonly attempt: number
}

/** The message is withdrawn: readers drop it, and nothing will ever follow under its id. */
export interface MessageDiscardedEvent extends RunEventBase {
  readonly type: 'message-discarded'
  /** Absent for a message that was withdrawn before the first step. */
  readonly step?: number
  readonly messageId: string
  readonly reason: DiscardReason
  readonly attempt?: number
}

/** `replaced`: a user message that a hook changed or handled. `failed`: withdrawn with the turn that failed. */
export type DiscardReason = 'retry' | 'overflow' | 'rewind' | 'failed' | 'crash' | 'replaced'

/** Comes before its wait, and has exactly one `retry-end`. */
export interface RetryStartEvent extends StepEventBase {
  readonly type: 'retry-start'
  /** The attempt that it announces: 2, 3 … */
  readonly attempt: number
  readonly maxAttempts: number
  readonly delayMs: number
  /** Epoch milliseconds at which the wait ends. */
  readonly notBefore: number
  readonly cause: 'error' | 'overflow' | 'fallback'
  /** Of a fallback: the model that takes the step. */
  readonly model?: ModelName
  readonly error: ModelError
}

export interface RetryEndEvent extends StepEventBase {
  readonly type: 'retry-end'
  readonly attempt: number
  readonly success: boolean
  readonly error?: ModelError
}

interface BlockEventBase extends StepEventBase {
  readonly messageId: string
  /** Place of the block in the message's content. */
  readonly index: number
}

export interface TextStartEvent extends BlockEventBase {
  readonly type: 'text-start' | 'reasoning-start'
}

export interface TextDeltaEvent extends BlockEventBase {
  readonly type: 'text-delta' | 'reasoning-delta'
  readonly delta: string
}

export interface TextEndEvent extends BlockEventBase {
  readonly type: 'text-end' | 'reasoning-end'
  /** The text of this block. */
  readonly text: string
}

export interface ToolCallStartEvent extends BlockEventBase {
  readonly type: 'tool-call-start'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
}

/** Raw argument text, never parsed on the way. */
export interface ToolCallDeltaEvent extends BlockEventBase {
  readonly type: 'tool-call-delta'
  readonly toolCallId: string
  readonly delta: string
}

export interface ToolCallEndEvent extends BlockEventBase {
  readonly type: 'tool-call-end'
  readonly toolCallId: string
  readonly toolCall: ToolCallPart
}

export interface ContentPartEvent extends BlockEventBase {
  readonly type: 'content-part'
  readonly part: WholePart
}

interface ToolEventBase extends StepEventBase {
  readonly toolCallId: string
}

export interface ToolExecutionStartEvent extends ToolEventBase {
  readonly type: 'tool-execution-start'
  readonly toolName: string
  readonly label?: string
  readonly input: JSONValue
  readonly attempt: number
  /** `<runId>/<step>/<toolCallId>`, equal for every attempt of one call. */
  readonly idempotencyKey: string
  readonly effect: ToolEffect
}

export interface ToolExecutionDeltaEvent extends ToolEventBase {
  readonly type: 'tool-execution-delta'
  readonly delta: string
  /** The delta replaces what came before instead of following it. */
  readonly replace?: true
}

export interface ToolExecutionEndEvent extends ToolEventBase {
  readonly type: 'tool-execution-end'
  /** `here`: `execute` ran; `elsewhere`: the result was submitted; `no`: it never ran. */
  readonly executed: 'here' | 'elsewhere' | 'no'
  readonly message: ToolResult
  readonly terminate?: boolean
  readonly durationMs: number
}

export interface AwaitingToolsEvent extends StepEventBase {
  readonly type: 'awaiting-tools'
  readonly pendingToolCalls: readonly PendingToolCall[]
}

/** A call that waits for a decision. The same facts again as `ApprovalRequest`. */
export interface ApprovalRequestedEvent extends ToolEventBase {
  readonly type: 'approval-requested'
  readonly approvalId: string
  readonly toolName: string
  readonly input: JSONValue
  /** SHA-256, base64url, of the canonical JSON of `input`. */
  readonly inputHash: string
  readonly reason?: string
  readonly path: readonly string[]
  readonly deadlineAt?: number
}

export interface ApprovalResolvedEvent extends ToolEventBase {
  readonly type: 'approval-resolved'
  readonly approvalId: string
  /** `cancelled`: nobody decided, and nobody will. */
  readonly decision: 'approve' | 'deny' | 'cancelled'
  readonly reason?: string
  /** As validated. */
  readonly editedInput?: JSONValue
  readonly by?: string
}

export type CompactionTrigger = 'threshold' | 'overflow' | 'window' | 'requested' | 'manual'

export interface CompactionStartEvent extends RunEventBase {
  readonly type: 'compaction-start'
  readonly step?: number
  readonly compactionId: string
  readonly trigger: CompactionTrigger
  readonly tokensBefore: number
}

export interface CompactionEndEvent extends RunEventBase {
  readonly type: 'compaction-end'
  readonly step?: number
  readonly compactionId: string
  readonly outcome: CompactionOutcome
  readonly reason?: string
  /** Present exactly when `done`. */
  readonly compaction?: Compaction
}

export type CompactionOutcome = 'done' | 'skipped' | 'cancelled' | 'failed'

/** What stands in the view for the messages before `firstKeptMessageId`. Nothing is deleted: without it the view is the old one. */
export interface Compaction {
  readonly compactionId: string
  readonly summary: string
  /** The first message that is shown as it is; empty when none is. */
  readonly firstKeptMessageId: string
  /** The latest message when it was made: usage up to there was that of another view. */
  readonly lastMessageId?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly facts: readonly Fact[]
  /** `default`, `extension` or the name of the compactor. */
  readonly source: string
  /** Of the calls that made the summary. */
  readonly usage: Usage
}

/** What must not be lost with the messages: `file-read`, `file-modified`, `tool`, or a kind of the caller's. */
export interface Fact {
  readonly kind: string
  readonly value: string
}

/** Tokens that no `message-end` holds. The sum of both kinds is the turn's usage. */
export interface UsageEvent extends RunEventBase {
  readonly type: 'usage'
  readonly purpose: 'discarded-attempt' | 'compaction' | 'child' | 'other'
  readonly usage: Usage
  readonly cost?: Cost
  readonly estimated?: true
  readonly model?: ModelName
}

interface ChildEventBase extends RunEventBase {
  readonly toolCallId: string
  readonly childRunId: string
}

/** A tool call hands work to another agent; of work delegated over a bridge the ids are the request's and the agent's. */
export interface ChildStartEvent extends ChildEventBase {
  readonly type: 'child-start'
  readonly step: number
  readonly subagent: string
  readonly description?: string
}

/** At most one per step of the child. */
export interface ChildUpdateEvent extends ChildEventBase {
  readonly type: 'child-update'
  /** The child's own count. */
  readonly step: number
  readonly status: 'running' | TurnStatus
  /** At most 500 characters. */
  readonly text?: string
  readonly toolNames: readonly string[]
}

export interface ChildEndEvent extends ChildEventBase {
  readonly type: 'child-end'
  readonly step: number
  readonly status: TurnStatus
  readonly usage: Usage
  readonly cost?: Cost
  readonly error?: ModelError | AgentErrorData
}

export interface SavePointEvent extends RunEventBase {
  readonly type: 'save-point'
}

/** Nothing is queued and nothing waits. */
export interface SettledEvent extends RunEventBase {
  readonly type: 'settled'
}

/** Something beside the turn went wrong; `fatal` when it ends the turn. That of a `journal` is live only: it has no `seq`. */
export interface ErrorEvent extends RunEventBase {
  readonly type: 'error'
  readonly source: 'extension' | 'guardrail' | 'ephemeral' | 'prompt' | 'compaction' | 'tool' | 'journal'
  /** Of the extension, guardrail, section or tool. */
  readonly name?: string
  readonly hook?: string
  readonly message: string
  readonly fatal: boolean
}

export type ToolEffect = 'pure' | 'idempotent' | 'once'

/** The exactly one outcome of a call. */
export type OutcomeStatus = 'result' | 'error' | 'denied' | 'cancelled' | 'unknown'

/** A tool-result message as the loop stores it. `details` is for the UI and is never sent to a model. */
export interface ToolResult {
  readonly role: 'tool-result'
  readonly id: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  readonly at: number
  readonly status: OutcomeStatus
  /** Place of the call among the calls of its answer, from 0. */
  readonly index: number
  readonly details?: JSONValue
}

/** A call that waits for somebody outside the run. */
export interface PendingToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  readonly deadlineAt?: number
  /** Tool call ids from the root; empty at the root. */
  readonly path: readonly string[]
  readonly agent: readonly string[]
  /** It may or may not have happened: the run is `needs-recovery`. */
  readonly unknown?: true
}

/** A call that waits for a decision. */
export interface ApprovalRequest {
  readonly approvalId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  /** SHA-256, base64url, of the canonical JSON of `input`: a decision may name it, to be sure of what it decides. */
  readonly inputHash: string
  readonly reason?: string
  /** Tool call ids from the root; empty at the root. */
  readonly path: readonly string[]
  readonly agent: readonly string[]
  /** Behind it the call counts as denied. */
  readonly deadlineAt?: number
}
