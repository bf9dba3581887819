import type { Cost, JSONValue, ModelError, Usage, UserMessage } from '@bowline/llm'

/**
 * `at` is epoch milliseconds; all durable events that the loop stores in one commit have the same time. `seq` is absent until the
 * commit has assigned it.
 */
interface EventBase {
  readonly at: number
  readonly seq?: number
  /**
   * Present on the first event of each commit of a store. The events up to the next mark belong to the same commit (`commitsOf`).
   */
  readonly commit?: CommitMark
}

/** Names the writer of a commit: the runtime, its claim and the run. */
export type CommitMark = {
  /** Id of the runtime. */
  readonly owner?: string
  /** Number of the claim on a run under which it was written. Absent for writes that a client asked for. */
  readonly epoch?: number
  /** Run of that claim, if the event names another one: a subagent writes into the log of its parent. */
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

/** Names a model by its provider and its id, as the model object itself does. */
export interface ModelName {
  readonly provider: string
  readonly modelId: string
}

/** The first event of a session. Only `sessions` writes it. */
export interface SessionStartEvent extends EventBase {
  readonly type: 'session-start'
  readonly sessionKey: string
  /** The transcript came from elsewhere (fork, import): a reader must load it. */
  readonly copied?: true
}

/** The last event of a session: it was deleted, or its TTL is over. Only `sessions` writes it. */
export interface SessionEndEvent extends EventBase {
  readonly type: 'session-end'
  readonly sessionKey: string
  readonly reason: 'deleted' | 'expired'
}

/** A run was accepted and waits for its turn. `kind` says what asked for it. Only `sessions` writes it. */
export interface RunQueuedEvent extends EventBase {
  readonly type: 'run-queued'
  readonly runId: string
  readonly kind: 'user' | 'follow-up' | 'child' | 'notification' | 'compaction'
  /** The input as it was given; null for a run without input. */
  readonly input: JSONValue
  readonly inputId?: string
}

/** The conversation continues at another entry of its tree. `from` and `to` are entry ids; null is the root. */
export interface BranchSwitchedEvent extends EventBase {
  readonly type: 'branch-switched'
  readonly from: string | null
  readonly to: string | null
  readonly summaryEntryId?: string
}

/** An extension moved to another step of its sequence (`logStep`). */
export interface OrchestrationStepEvent extends RunEventBase {
  readonly type: 'orchestration-step'
  readonly name: string | null
  readonly previous?: string
  readonly because: string
  readonly sequenceIndex: number
}

/**
 * A user message was added to the transcript. It comes before the `turn-start` of the turn that answers it. `source` names the
 * origin of the input.
 */
export interface UserMessageEvent extends RunEventBase {
  readonly type: 'user-message'
  readonly messageId: string
  readonly message: UserMessage
  readonly source: string
  readonly inputId?: string
}

/** An input was added while the turn ran. For an overlay, `message` is absent. */
export interface RuntimeInputEvent extends RunEventBase {
  readonly type: 'runtime-input'
  readonly inputId: string
  /** `repair`: the loop shows the model what is wrong with its final answer. */
  readonly source: InputSource | 'repair'
  readonly placement: Window
  readonly message?: UserMessage
  /** Number of characters of the text. */
  readonly characters: number
}

/**
 * Origin of an input during a turn. `steer`: the caller of the run; `notify`: a runtime. Both are stored. `overlay` is shown to the
 * model for one turn and is not stored.
 */
export type InputSource = 'steer' | 'notify' | 'overlay'

/** A place in a turn at which inputs are added. */
export type Window = 'turn-start' | 'step-start' | 'step-end'

/**
 * A segment of a turn begins. A turn has several segments if it was suspended or its process died; `attempt` counts them from 1.
 * `cause` says why a later segment began.
 */
export interface TurnStartEvent extends RunEventBase {
  readonly type: 'turn-start'
  /** True for every segment of a turn except the first. */
  readonly resumed: boolean
  readonly attempt: number
  readonly cause?: ResumeCause
  /** The hash of the agent's fingerprint. */
  readonly fingerprint?: string
  /** Changes of the agent since the turn began. */
  readonly definitionDiff?: JSONValue
}

/**
 * Why a further segment of a turn began. `answers`: results or decisions came. `takeover`: another process took a run whose lease
 * had ended. `yield`: the run had been handed over on purpose. `recovery`: the turn was open when its journal was loaded.
 */
export type ResumeCause = 'answers' | 'takeover' | 'yield' | 'recovery'

/** A step begins: one model call with the tool calls of its answer. Numbers are tokens. */
export interface StepStartEvent extends StepEventBase {
  readonly type: 'step-start'
  /** Estimated size of the request. */
  readonly contextTokens: number
  readonly contextWindow?: number
  readonly model: ModelName
}

/** A step has ended: the answer is stored, and each call that runs here has its outcome. `toolCalls` counts the calls of the answer. */
export interface StepEndEvent extends StepEventBase {
  readonly type: 'step-end'
  readonly toolCalls: number
  /** As far as known at that time: an input that is added after the step causes one more step. */
  readonly continues: boolean
}

/**
 * A segment of a turn has ended. If `status` begins with `awaiting-`, or is `needs-recovery`, the turn is suspended and can
 * continue.
 */
export interface TurnEndEvent extends RunEventBase {
  readonly type: 'turn-end'
  readonly status: TurnStatus
  readonly reason: EndReason
  /** Usage of the whole turn, all its segments together. */
  readonly usage: Usage
  /** Absent if the cost of a part is not known. */
  readonly cost?: Cost
  readonly steps: number
  /** Number of overlays that ended with the turn. */
  readonly overlaysExpired: number
  readonly error?: TurnError
  /** After an abort: the outcome of each call of the stopped step. */
  readonly receipt?: readonly CallReceipt[]
}

/** The error of a turn. If the step fell back to other models, it is the first model's error and `details` holds those of the others. */
export type TurnError = (ModelError & { readonly details?: readonly ModelError[] }) | AgentErrorData

/** The outcome of one tool call of the step that an abort stopped. */
export interface CallReceipt {
  readonly toolCallId: string
  readonly toolName: string
  readonly status: OutcomeStatus
}

/** The outcome of a tool call; each call gets exactly one. `unknown`: the call may or may not have taken effect. */
export type OutcomeStatus = 'result' | 'error' | 'denied' | 'cancelled' | 'unknown'

/**
 * The way in which a segment of a turn ends. If several apply, `needs-recovery` wins over pending calls, and pending calls win over
 * approvals. `awaiting-subagent`: only a subagent is still at work.
 */
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

/**
 * Says more exactly than `TurnStatus` why a segment ended.
 *
 * - `completed`: the model stopped (`stop`), reached its output limit (`length`), all calls of an answer asked to end the turn
 *   (`terminated`), a `stopWhen` condition was true (`stop-when`), or an extension handled the input (`handled`).
 * - Suspended: calls, approvals or subagents are pending (`pending`), or it is unknown whether a call took effect
 *   (`unknown-outcome`).
 * - `limit`: one of `max-steps`, `max-tool-calls`, `max-total-tokens`, `max-cost`, `max-duration`; or two answers in a row were
 *   cut within their calls (`output-length`).
 * - `halted`: a `guardrail` ended the turn.
 * - `aborted`: the caller stopped it (`abort`), or the run was handed over to another process (`yielded`).
 * - `error`: `model-error`, `extension-error`, `policy-error` (`onToolCall` returned `error`), `journal-error`, `output-invalid`;
 *   `refused` if the input was not accepted, with nothing stored.
 * - `needs-recovery`: the agent's definition has changed since the turn began (`definition-changed`). The caller must decide
 *   whether the turn continues.
 */
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
  | 'definition-changed'

/**
 * Codes of `AgentError` and of `AgentErrorData`.
 *
 * Thrown by `defineAgent`, `defineTool`, `run` and the other functions:
 * - `invalid-config`, `invalid-input`, `invalid-transcript`: an argument is wrong. The message names it.
 * - `busy`: another run or compaction uses the journal.
 *
 * In `error` of a result, with the reason `refused` and nothing stored:
 * - `unknown-tool-call`, `unknown-approval`: nothing is pending under this id.
 * - `tool-result-conflict`, `approval-conflict`: another answer is stored under this id, or `inputHash` differs.
 * - `pending-calls`: new input came while calls wait for answers. See `onInputWhilePending`.
 * - `nothing-to-run`: no input was given, no turn is open and no input waits.
 *
 * In `error` of a result, at the end of a turn:
 * - `journal-failed`: a commit failed. `fenced`: another process owns the run.
 * - `extension-error`, `policy-error`: an extension failed with `onError: 'fail'`, or returned `error` for a call.
 * - `output-invalid`: the final answer does not fit the output schema. `halted`: a guardrail ended the turn.
 */
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

/** An `AgentError` as data. If answers were refused, `refused` lists each refused id with its own code; `code` is that of the first. */
export interface AgentErrorData {
  readonly code: AgentErrorCode
  readonly message: string
  readonly refused?: readonly { readonly id: string; readonly code: AgentErrorCode }[]
}

/** All events of the segment are stored. Follows `turn-end`. */
export interface SavePointEvent extends RunEventBase {
  readonly type: 'save-point'
}

/** Nothing is queued and nothing is pending. The last event of the work that an input caused. */
export interface SettledEvent extends RunEventBase {
  readonly type: 'settled'
}

/** Something other than the model call failed. `fatal`: it ends the turn. With `source: 'journal'` it is live only and has no `seq`. */
export interface ErrorEvent extends RunEventBase {
  readonly type: 'error'
  /**
   * `reminder`: news of background tasks did not reach the model. `definition`: in the log of the root, a subagent's run is held
   * because the definition of its agent has changed; call `recover` with its `runId` to decide.
   */
  readonly source: 'extension' | 'guardrail' | 'ephemeral' | 'prompt' | 'compaction' | 'tool' | 'reminder' | 'definition' | 'journal'
  /** Name of the extension, guardrail, section or tool. */
  readonly name?: string
  readonly hook?: string
  readonly message: string
  readonly fatal: boolean
  /**
   * In the log of the root, for a subagent's run: the ids of the tool calls from the root to the call that started the run. `runId`
   * and `turn` are those of that run, and the event may come anywhere in the log.
   */
  readonly path?: readonly string[]
}
