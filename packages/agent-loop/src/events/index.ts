export { missingDeltas } from './catch-up.ts'
export { commitsOf } from './commits.ts'
export type { LogCommit } from './commits.ts'
export { eventTypes, isBoundary, isDelta, isDurable } from './kinds.ts'
export type { BoundaryEvent } from './kinds.ts'
export type { OutputChange, OutputMode, OutputPath } from './output.ts'
export { reduceEvents } from './reduce.ts'
export { isEnded, isSuspended, statuses, statusOf } from './status.ts'
export type { RunStatus, Status } from './status.ts'
export { emptyView, progressCharacters, toolCallOf } from './view.ts'
export type { ChildView, OpenBlock, OpenMessage, OpenToolCall, RetryView, RunView, ToolCallView, ViewMessage } from './view.ts'
export type {
  AgentErrorCode,
  AgentErrorData,
  BranchSwitchedEvent,
  CallReceipt,
  CommitMark,
  EndReason,
  ErrorEvent,
  InputSource,
  ModelName,
  OrchestrationStepEvent,
  OutcomeStatus,
  ResumeCause,
  RunQueuedEvent,
  RuntimeInputEvent,
  SavePointEvent,
  SessionEndEvent,
  SessionStartEvent,
  SettledEvent,
  StepEndEvent,
  StepStartEvent,
  TurnEndEvent,
  TurnError,
  TurnStartEvent,
  TurnStatus,
  UserMessageEvent,
  Window,
} from './turn-events.ts'
export type { AgentEvent, DeltaEvent, DurableEvent } from './agent-event.ts'
export type { InJson, OtherToolName, RunTypes, RunTypesOf, ToolTypes } from './typed-events.ts'
export type {
  ApprovalRequest,
  ApprovalRequestedEvent,
  ApprovalResolvedEvent,
  AwaitingToolsEvent,
  ChildEndEvent,
  ChildStartEvent,
  ChildUpdateEvent,
  PendingToolCall,
  ToolEffect,
  ToolExecutionDeltaEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
  ToolResult,
} from './tool-events.ts'
export type {
  CacheMiss,
  Compaction,
  CompactionEndEvent,
  CompactionOutcome,
  CompactionStartEvent,
  CompactionTrigger,
  ContentPartEvent,
  DiscardReason,
  Fact,
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
