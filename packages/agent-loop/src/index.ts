export { AgentError } from './agent-error.ts'
export { defineAgent } from './agent/define-agent.ts'
export { subagentsOf } from './subagents/delegate-tools.ts'
export type { Loaded, LoadedList } from './agent/loaded.ts'
export type {
  Accepted,
  Agent,
  AgentFingerprint,
  AgentInput,
  AgentModel,
  AgentOptions,
  AgentResult,
  AgentRun,
  Answers,
  ApprovalDecision,
  CompactOptions,
  Diagnostic,
  Limits,
  ModelFunction,
  ModelFunctionMessage,
  ModelFunctionRequest,
  OnFailedTurn,
  Phase,
  PrepareStep,
  RunOptions,
  SpawnChildOptions,
  StepContext,
  StepPatch,
  StepState,
  StopCondition,
  SubmissionReceipt,
  SubmittedResult,
  ToolDeclaration,
} from './agent/options.ts'
export { parseInput } from './agent/parse-input.ts'
export { summarizeMessages } from './agent/summarize-messages.ts'
export type { MessagesSummary, SummarizeOptions } from './agent/summarize-messages.ts'
export { nullCompaction } from './compaction/policy.ts'
export type { CompactionPolicy, CompactionRequest, CompactionResult, Compactor } from './compaction/policy.ts'
export {
  emptyView,
  eventTypes,
  isBoundary,
  isDelta,
  isDurable,
  isEnded,
  isSuspended,
  progressCharacters,
  reduceEvents,
  statuses,
  statusOf,
  toolCallOf,
} from './events/index.ts'
export type {
  AgentErrorCode,
  AgentErrorData,
  AgentEvent,
  ApprovalRequest,
  ApprovalRequestedEvent,
  ApprovalResolvedEvent,
  AwaitingToolsEvent,
  BoundaryEvent,
  BranchSwitchedEvent,
  CallReceipt,
  ChildEndEvent,
  ChildStartEvent,
  ChildUpdateEvent,
  ChildView,
  Compaction,
  CompactionEndEvent,
  CompactionOutcome,
  CompactionStartEvent,
  CompactionTrigger,
  ContentPartEvent,
  DeltaEvent,
  DiscardReason,
  DurableEvent,
  EndReason,
  ErrorEvent,
  Fact,
  InputSource,
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  ModelName,
  OpenBlock,
  OpenMessage,
  OpenToolCall,
  OrchestrationStepEvent,
  OutcomeStatus,
  PendingToolCall,
  ResumeCause,
  RetryEndEvent,
  RetryStartEvent,
  RetryView,
  RunQueuedEvent,
  RunStatus,
  RunView,
  RuntimeInputEvent,
  SavePointEvent,
  SessionEndEvent,
  SessionStartEvent,
  SettledEvent,
  Status,
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
  TurnError,
  TurnStartEvent,
  TurnStatus,
  UsageEvent,
  UserMessageEvent,
  ViewMessage,
  Window,
} from './events/index.ts'
export { defineExtension } from './extensions/define-extension.ts'
export type {
  CallDecision,
  CompactionDecision,
  ContextUsage,
  Extension,
  ExtensionContext,
  HookName,
  HookedCall,
  HookedResult,
  Hooks,
  InputDecision,
  RequestPatch,
  ResultPatch,
  StepFields,
} from './extensions/extension.ts'
export { defineGuardrail } from './guardrails/define-guardrail.ts'
export type { Decision, GuardedCall, GuardedResult, Guardrail, GuardrailContext } from './guardrails/guardrail.ts'
export { loopGuard } from './guardrails/loop-guard.ts'
export type { LoopGuardOptions } from './guardrails/loop-guard.ts'
export { canonicalJson, hashJson } from './hash-json.ts'
export { systemIds } from './ids.ts'
export type { IdSource } from './ids.ts'
export type {
  AbortCause,
  CallApproval,
  CallRow,
  CallState,
  ChildHost,
  ChildMeta,
  ChildDecision,
  ChildOutcome,
  ChildRequest,
  CommitExpectation,
  CommitOutcome,
  Journal,
  JournalRecord,
  JournalState,
  LoggedInput,
  OpenTurn,
  Overlay,
  QueuedInput,
  RunRow,
  StepProgress,
  StoredMessage,
  ToldChild,
} from './journal/journal.ts'
export { createMemoryJournal } from './journal/memory-journal.ts'
export type { MemoryJournal, MemoryJournalOptions } from './journal/memory-journal.ts'
export { createBudget } from './loop/budget.ts'
export type { Budget, BudgetEstimate, BudgetLimits, Reservation, Spending } from './loop/budget.ts'
export type { RetryPolicy } from './loop/retry-policy.ts'
export type { SectionContext } from './prompt/section-context.ts'
export type { DocsSection, Footer, PromptSections, Skill, TextSource } from './prompt/sections.ts'
export type { ReaderOptions } from './run/event-buffer.ts'
export { phaseOf } from './run/phases.ts'
export { adoptTool, defineTool } from './tools/define-tool.ts'
export type { AdoptedToolOptions } from './tools/define-tool.ts'
export type { AiSdkTool } from './tools/from-ai-sdk.ts'
export type {
  CallContext,
  ChildReport,
  InferInput,
  InputSchema,
  JsonOf,
  NotJson,
  OnUnknownOutcome,
  ReconcileContext,
  Reconciled,
  Tool,
  ToolChunk,
  ToolContent,
  ToolContext,
  ToolExecution,
  ToolOptions,
  ToolReturn,
  ToolReturnValue,
} from './tools/tool.ts'
export { repairTranscript } from './transcript/repair.ts'
export type { TranscriptRepair, TranscriptRepairCode } from './transcript/repair.ts'
