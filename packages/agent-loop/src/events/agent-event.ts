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
 * An event of the protocol. A durable event was stored by a commit, which gave it its `seq`: 1, 2, 3 … without gaps per
 * conversation. A delta has no `seq`. No event repeats the message so far. Each event survives a JSON round trip.
 */
export type AgentEvent = DurableEvent | DeltaEvent

/** An event that a commit stored. It has a `seq`, and later readers get it too. Deltas are never needed to rebuild the state. */
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

/** An event that is delivered live only. The durable event that closes its message or call holds the complete content. */
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
