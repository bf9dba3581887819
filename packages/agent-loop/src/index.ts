export { AgentError } from './agent-error.ts'
export { defineAgent } from './agent/define-agent.ts'
export type {
  Agent,
  AgentInput,
  AgentOptions,
  AgentResult,
  AgentRun,
  Answers,
  Limits,
  RunOptions,
  SubmissionReceipt,
  SubmittedResult,
} from './agent/options.ts'
export { parseInput } from './agent/parse-input.ts'
export { emptyView, eventTypes, isBoundary, isDelta, isDurable, progressCharacters, reduceEvents } from './events/index.ts'
export type {
  AgentErrorCode,
  AgentErrorData,
  AgentEvent,
  AwaitingToolsEvent,
  BoundaryEvent,
  CallReceipt,
  ContentPartEvent,
  DeltaEvent,
  DurableEvent,
  EndReason,
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  ModelName,
  OpenBlock,
  OpenMessage,
  OpenToolCall,
  OutcomeStatus,
  PendingToolCall,
  ResumeCause,
  RunQueuedEvent,
  RunStatus,
  RunView,
  SavePointEvent,
  SessionEndEvent,
  SessionStartEvent,
  SettledEvent,
  StepEndEvent,
  StepStartEvent,
  TextDeltaEvent,
  TextEndEvent,
  TextStartEvent,
  ToolCallDeltaEvent,
  ToolCallEndEvent,
  ToolCallStartEvent,
  ToolCallView,
  ToolEffect,
  ToolExecutionDeltaEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
  ToolResult,
  TurnEndEvent,
  TurnStartEvent,
  TurnStatus,
  UsageEvent,
  UserMessageEvent,
  ViewMessage,
} from './events/index.ts'
export { canonicalJson, hashJson } from './hash-json.ts'
export { systemIds } from './ids.ts'
export type { IdSource } from './ids.ts'
export type {
  AbortCause,
  CallRow,
  CallState,
  CommitExpectation,
  CommitOutcome,
  Journal,
  JournalRecord,
  JournalState,
  OpenTurn,
  RunRow,
  StoredMessage,
} from './journal/journal.ts'
export { createMemoryJournal } from './journal/memory-journal.ts'
export type { MemoryJournal, MemoryJournalOptions } from './journal/memory-journal.ts'
export type { ReaderOptions } from './run/event-buffer.ts'
export { phaseOf } from './run/phases.ts'
export type { Phase } from './run/phases.ts'
export { defineTool } from './tools/define-tool.ts'
export type { AiSdkTool } from './tools/from-ai-sdk.ts'
export type {
  InferInput,
  InputSchema,
  OnUnknownOutcome,
  ReconcileContext,
  Reconciled,
  Tool,
  ToolChunk,
  ToolContext,
  ToolExecution,
  ToolOptions,
  ToolReturn,
  ToolReturnValue,
} from './tools/tool.ts'
