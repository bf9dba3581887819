import type {
  CompactionEndEvent,
  CompactionStartEvent,
  ContentPartEvent,
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  OutputDeltaEvent,
  RetryEndEvent,
  RetryStartEvent,
  TextDeltaEvent,
  TextEndEvent,
  TextStartEvent,
  ToolCallDeltaEvent,
  ToolCallEndEvent,
  ToolCallStartEvent,
  UsageEvent,
} from './message-events.ts'
import type {
  ApprovalRequestedEvent,
  ApprovalResolvedEvent,
  AwaitingToolsEvent,
  ChildEndEvent,
  ChildStartEvent,
  ChildUpdateEvent,
  ToolExecutionDeltaEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
} from './tool-events.ts'
import type {
  BranchSwitchedEvent,
  ErrorEvent,
  OrchestrationStepEvent,
  RunQueuedEvent,
  RuntimeInputEvent,
  SavePointEvent,
  SessionEndEvent,
  SessionStartEvent,
  SettledEvent,
  StepEndEvent,
  StepStartEvent,
  TurnEndEvent,
  TurnStartEvent,
  UserMessageEvent,
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
  | OutputDeltaEvent
  | ToolExecutionDeltaEvent
