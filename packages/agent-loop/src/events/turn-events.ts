import type { Cost, JSONValue, ModelError, Usage, UserMessage } from '@bowline/llm'

/**
 * `at` is epoch milliseconds; the durable events that the loop stores together carry one time. `seq` is absent until the commit gave it.
 */
interface EventBase {
  readonly at: number
  readonly seq?: number
  /** On the first event of each commit of a store; the events up to the next mark belong to the same commit (`commitsOf`). */
  readonly commit?: CommitMark
}

/** Says who wrote a commit. A type, because an interface is no JSON for the compiler. */
export type CommitMark = {
  /** The id of the runtime. */
  readonly owner?: string
  /** The number of the claim of a run under which it was written. Absent for what a client asked for. */
  readonly epoch?: number
  /** The run of that claim, if it is not the one that the event names: a subagent writes into the log of its parent. */
  readonly runId?: string
}

/** Events of a run. `turn` counts the turns of the conversation, `step` the model calls of the turn, both from 1. */
export interface RunEventBase extends EventBase {
  readonly runId: string
  readonly turn: number
  /** Names of the agents from the root to the one that made the event; absent at the root. */
  readonly agent?: readonly string[]
}

export interface StepEventBase extends RunEventBase {
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
  readonly kind: 'user' | 'follow-up' | 'child' | 'notification' | 'compaction'
  /** As it was given; null for a run without input. */
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
  /** `repair`: the loop shows the model what is wrong with its final answer. */
  readonly source: InputSource | 'repair'
  readonly placement: Window
  readonly message?: UserMessage
  /** Length of the text. */
  readonly characters: number
}

/** `steer` from the holder of the run, `notify` from a runtime; both are stored. An `overlay` is shown for one turn only. */
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

/** The exactly one outcome of a call. */
export type OutcomeStatus = 'result' | 'error' | 'denied' | 'cancelled' | 'unknown'

/** How a segment ends. `needs-recovery` wins over pending calls, these over approvals; without any of them a subagent is waited for. */
export type TurnStatus =
  | 'completed'
  | 'awaiting-tools'
  | 'awaiting-approval'
  | 'awaiting-subagent'
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
  | 'output-invalid'
  /** The caller must decide whether the turn goes on with another definition of its agent. */
  | 'definition-changed'

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
  | 'output-invalid'
  | 'halted'

/** `refused`: of answers, each refused id with its own code; the code of the whole is that of the first. */
export interface AgentErrorData {
  readonly code: AgentErrorCode
  readonly message: string
  readonly refused?: readonly { readonly id: string; readonly code: AgentErrorCode }[]
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
  /**
   * `reminder`: the word of background tasks that did not reach the model. `definition`: in the log of the root, a run of a
   * subagent is held because the definition of its agent has changed; `recover` with its `runId` decides.
   */
  readonly source: 'extension' | 'guardrail' | 'ephemeral' | 'prompt' | 'compaction' | 'tool' | 'reminder' | 'definition' | 'journal'
  /** Of the extension, guardrail, section or tool. */
  readonly name?: string
  readonly hook?: string
  readonly message: string
  readonly fatal: boolean
  /**
   * In the log of the root, for the run of a subagent: the ids of the tool calls from the root to the one that started it.
   * `runId` and `turn` are those of that run, and the event may stand anywhere.
   */
  readonly path?: readonly string[]
}
