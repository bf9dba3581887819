import type {
  ContentPartEvent,
  TextDeltaEvent,
  TextEndEvent,
  TextStartEvent,
  ToolCallDeltaEvent,
  ToolCallEndEvent,
  ToolCallStartEvent,
} from './block-events.ts'
import type { ChildEndEvent, ChildStartEvent, ChildUpdateEvent } from './child-events.ts'
import type { CompactionEndEvent, CompactionStartEvent, UsageEvent } from './context-events.ts'
import type { RuntimeInputEvent, UserMessageEvent } from './input-events.ts'
import type {
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  RetryEndEvent,
  RetryStartEvent,
} from './message-events.ts'
import type {
  BranchSwitchedEvent,
  OrchestrationStepEvent,
  RunQueuedEvent,
  SessionEndEvent,
  SessionStartEvent,
} from './session-events.ts'
import type {
  ApprovalRequestedEvent,
  ApprovalResolvedEvent,
  AwaitingToolsEvent,
  ToolExecutionDeltaEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
} from './tool-events.ts'
import type {
  ErrorEvent,
  SavePointEvent,
  SettledEvent,
  StepEndEvent,
  StepStartEvent,
  TurnEndEvent,
  TurnStartEvent,
} from './turn-events.ts'

export type {
  ContentPartEvent,
  TextDeltaEvent,
  TextEndEvent,
  TextStartEvent,
  ToolCallDeltaEvent,
  ToolCallEndEvent,
  ToolCallStartEvent,
} from './block-events.ts'
export type { ChildEndEvent, ChildStartEvent, ChildUpdateEvent } from './child-events.ts'
export type {
  Compaction,
  CompactionEndEvent,
  CompactionOutcome,
  CompactionStartEvent,
  CompactionTrigger,
  Fact,
  UsageEvent,
} from './context-events.ts'
export type { ModelName } from './event-base.ts'
export type { InputSource, RuntimeInputEvent, UserMessageEvent, Window } from './input-events.ts'
export type {
  DiscardReason,
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  RetryEndEvent,
  RetryStartEvent,
} from './message-events.ts'
export type {
  BranchSwitchedEvent,
  OrchestrationStepEvent,
  RunQueuedEvent,
  SessionEndEvent,
  SessionStartEvent,
} from './session-events.ts'
export type {
  ApprovalRequest,
  ApprovalRequestedEvent,
  ApprovalResolvedEvent,
  AwaitingToolsEvent,
  OutcomeStatus,
  PendingToolCall,
  ToolEffect,
  ToolExecutionDeltaEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
  ToolResult,
} from './tool-events.ts'
export type {
  AgentErrorCode,
  AgentErrorData,
  CallReceipt,
  EndReason,
  ErrorEvent,
  ResumeCause,
  SavePointEvent,
  SettledEvent,
  StepEndEvent,
  StepStartEvent,
  TurnEndEvent,
  TurnError,
  TurnStartEvent,
  TurnStatus,
} from './turn-events.ts'

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
