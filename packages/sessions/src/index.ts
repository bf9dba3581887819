export { SessionError, type SessionErrorCode, type SessionErrorFacts } from './errors.ts'
export type { DefinitionDecision, DefinitionDiff, DefinitionPolicy } from './contract/definition-diff.ts'
export { createRuntime } from './runtime/create-runtime.ts'
export type { PayingSession, TenantBudgetOptions, TenantSpending } from './runtime/tenant-budgets.ts'
export type { AroundRun, DrainOptions, DrainReport, ErrorContext, Retention, RunExecution, Runtime, RuntimeOptions, RuntimeWebhook, SessionOptions, StartOptions, StartReport, SweepReport, WebhookOptions } from './runtime/types.ts'
export { noticeOfExpiry, noticesOfEvents, noticesOfRun } from './contract/draft-notices.ts'
export type { NoticeClaimRequest, NoticeClaims, NoticeDraft, NoticeHook, NoticeOutcome, NoticeQuery, NoticeRecord, NoticeState, NoticeType } from './contract/notices.ts'
export { verifyWebhook, type VerifyWebhookOptions, type WebhookHeaders } from './net/webhook-signature.ts'
export type { Branch, CompactOptions, ExportOptions, ForkOptions, Label, StoredCompaction, SwitchOptions, ImportOptions } from './commands/tree/types.ts'
export type { ApprovalReceipt, DecisionOptions, EventsOptions, HeldRun, InputOptions, MessagesOptions, OnBusy, OverlayOptions, Page, PageRequest, RunHandle, RunInfo, RunResult, RunsQuery, SendOptions, Session, SessionInfo, SessionReader, Spent, StopOptions, StopReceipt, SubmitOptions, ToolResolution, UsageReport, SessionState, SessionStateValue } from './commands/types.ts'
export { inspectSession } from './commands/inspect/inspect-session.ts'
export type { CallResume, Committed, InspectedCall, InspectedInput, InspectedRun, Inspection, OpenWork, RunHolder } from './commands/inspect/types.ts'
export type { ScheduleInfo, ScheduleOptions, ScheduleRule, SessionSchedules } from './commands/schedules/types.ts'
export type { LogEvents, LoggedEvent, LogIterator } from './contract/log-events.ts'
export type {
  Batch,
  CallKey,
  CommitRefusal,
  CommitResult,
  Delivery,
  Expect,
  NewEntry,
  NewEvent,
  NewRun,
  NewSession,
  NewTimer,
  PartialEvent,
  RunPatch,
  SessionPatch,
  Write,
} from './contract/batch.ts'
export type {
  BranchRecord,
  ChildQuery,
  Claim,
  ClaimRequest,
  DueReport,
  EventPage,
  Found,
  Lease,
  LeaseState,
  PathOptions,
  PruneReport,
  PruneRules,
  Read,
  SessionQuery,
  SessionStore,
  StoreCapabilities,
  StoreHint,
  StoreOpenOptions,
  TimerQuery,
} from './contract/session-store.ts'
export type {
  ApprovalRecord,
  BranchSummary,
  ChildSettled,
  EntryBody,
  EntryNode,
  EntryRecord,
  InboxAnswer,
  InboxDecision,
  InboxInput,
  InboxKind,
  InboxOverlay,
  InboxRecord,
  Lane,
  RunFailure,
  RunKind,
  RunOptionsRecord,
  RunParent,
  RunRecord,
  RunRest,
  RunStatus,
  SessionRecord,
  SessionSettings,
  SessionTtl,
  Status,
  StopRequest,
  StoredEvent,
  TerminalStatus,
  TimerKind,
  TimerRecord,
  ToolCallRecord,
  TurnState,
  Webhook,
} from './contract/records.ts'
export { memoryStateStore, type MemoryStateStoreOptions } from './state/memory-state-store.ts'
export type { CasResult, LifeOptions, OpenableStateStore, Searchable, SearchQuery, StateQuery, StateRead, StateSearch, StateStore, TimeToLive, Versioned, WriteOptions } from './contract/state-store.ts'
export { createOrchestration, createOrchestration as createOrchestrationStateManager } from './orchestration/manager.ts'
export { removeOrchestrationState } from './orchestration/remove-session.ts'
export { createStepSequencer, type Selection, type StepSequencer } from './orchestration/sequencer.ts'
export { simulateOrchestration, type SimulatedMoment, type SimulatedUse, type SimulatedUseReport, type Simulation } from './orchestration/simulate.ts'
export type { SequencerOptions, SimulationOptions, ToolJudgement } from './orchestration/types.ts'
export type { Finding } from './orchestration/explain.ts'
export type { ChangeOptions, CleanupOptions, ConditionContext, Orchestration, OrchestrationDiagnostic, OrchestrationOptions, OrchestrationState, Predicate, Predicates, StatePage, StatePatch, StorageOptions, TokenTotals, ToolDecision, ToolUse, UnreadableState, Condition, OrchestrationConfig, OrchestrationStep, SequencePosition } from './orchestration/types.ts'
export { memory } from './memories/extension.ts'
export { createMemories } from './memories/memories.ts'
export type { ChangeNoteOptions, Embed, Memories, MemoriesOptions, MemoryCapabilities, MemoryOptions, MemoryScope, MemoryTurn, NewNote, Note, NoteOrigin, ScopeOptions, SearchOptions } from './memories/types.ts'
