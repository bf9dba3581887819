export { AgentError } from './base/agent-error.ts'
export { defineAgent, withExtensions } from './agent/define-agent.ts'
export { subagentsOf } from './plugins/subagents/delegate-tools.ts'
export type { Diagnostic, Loaded, LoadedList } from './base/loaded.ts'
export type { Accepted, AgentInput, Answers, ApprovalDecision, InputPart, SessionActions, SubmittedResult } from './contract/input.ts'
export type {
  Agent,
  AgentFingerprint,
  AgentTools,
  CompactOptions,
  InferAgentEvent,
  InferAgentTools,
  InferOutput,
  OnFailedTurn,
  RunOptions,
  SpawnChildOptions,
  Tool,
  ToolContext,
  ToolDeclaration,
  ToolOptions,
  ToolTypesOf,
} from './contract/agent.ts'
export type {
  AgentModel,
  AgentOptions,
  CacheSetting,
  ModelFunction,
  ModelFunctionMessage,
  ModelFunctionRequest,
  PrepareStep,
  RetryPolicy,
  StepContext,
  StepPatch,
  StepState,
  StopCondition,
} from './contract/options.ts'
export type {
  AgentResult,
  AgentRun,
  Budget,
  BudgetAmounts,
  BudgetEstimate,
  BudgetGrant,
  BudgetLimits,
  Limits,
  LocalBudget,
  LocalReservation,
  Phase,
  ReaderOptions,
  Reservation,
  Spending,
  SubmissionReceipt,
} from './contract/run.ts'
export { grantSchema } from './kernel/question.ts'
export { parseInput } from './transcript/input.ts'
export { lookForOutput } from './base/messages.ts'
export type { FoundOutput } from './base/messages.ts'
export { summarizeMessages } from './agent/summarize-messages.ts'
export type { MessagesSummary, SummarizeOptions, SummaryHooks } from './agent/summarize-messages.ts'
export { nullCompaction } from './plugins/compaction/policy.ts'
export type { CompactionPolicy, CompactionRequest, CompactionResult, Compactor } from './contract/compaction.ts'
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
  CommitMark,
  ChildEndEvent,
  ChildStartEvent,
  ChildUpdateEvent,
  ChildView,
  CacheMiss,
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
  InJson,
  InputSource,
  MessageDiscardedEvent,
  MessageEndEvent,
  MessageStartEvent,
  ModelName,
  OpenBlock,
  OpenMessage,
  OpenToolCall,
  OutputChange,
  OutputDeltaEvent,
  OutputMode,
  OutputPath,
  OrchestrationStepEvent,
  OtherToolName,
  OutcomeStatus,
  PendingToolCall,
  ResumeCause,
  RetryEndEvent,
  RetryStartEvent,
  RetryView,
  RunQueuedEvent,
  RunStatus,
  RunTypes,
  RunTypesOf,
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
  ToolTypes,
  TurnEndEvent,
  TurnError,
  TurnStartEvent,
  TurnStatus,
  UsageEvent,
  UserMessageEvent,
  ViewMessage,
  Window,
} from './events/index.ts'
export { defineExtension } from './agent/define-extension.ts'
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
  SentModelRequest,
  StepFields,
} from './contract/extension.ts'
export { defineGuardrail } from './plugins/guardrails/define-guardrail.ts'
export type { Decision, GuardedCall, GuardedResult, Guardrail, GuardrailContext } from './contract/guardrail.ts'
export { loopGuard } from './plugins/guardrails/loop-guard.ts'
export type { LoopGuardOptions } from './plugins/guardrails/loop-guard.ts'
export { canonicalJson, hashJson } from './base/hash-json.ts'
export { systemIds } from './base/ids.ts'
export type { IdSource } from './base/ids.ts'
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
  GrantedAmounts,
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
} from './contract/journal.ts'
export { createMemoryJournal } from './journal/memory-journal.ts'
export type { MemoryJournal, MemoryJournalOptions } from './journal/memory-journal.ts'
export { createBudget } from './plugins/budget/budget.ts'
export type { DocsSection, Footer, PromptSections, SectionContext, Skill, TextSource } from './contract/prompt.ts'
export { phaseOf } from './journal/phases.ts'
export { adoptTool, defineTool } from './tools/define-tool.ts'
export type { AdoptedToolOptions } from './tools/define-tool.ts'
export type {
  AiSdkTool,
  CallContext,
  ChildReport,
  InferInput,
  InputSchema,
  JsonOf,
  NotJson,
  OnUnknownOutcome,
  ReconcileContext,
  Reconciled,
  ToolChunk,
  ToolContent,
  ToolExecution,
  ToolReturn,
  ToolReturnValue,
} from './contract/tool.ts'
export { repairTranscript } from './transcript/repair.ts'
export type { TranscriptRepair } from './transcript/repair.ts'
export type { TranscriptRepairCode } from './transcript/read-message.ts'
