export { SessionError, type SessionErrorCode, type SessionErrorFacts } from './errors.ts'
export { createRuntime } from './runtime/create-runtime.ts'
export type {
  ErrorContext,
  Runtime,
  RuntimeOptions,
  SessionOptions,
  StartOptions,
  StartReport,
} from './runtime/types.ts'
export type {
  ApprovalReceipt,
  DecisionOptions,
  EventsOptions,
  LoggedEvent,
  MessagesOptions,
  OnBusy,
  Page,
  PageRequest,
  RunHandle,
  RunInfo,
  RunQuery,
  RunResult,
  SendOptions,
  Session,
  SessionInfo,
  StopOptions,
  StopReceipt,
  ToolResolution,
} from './session/types.ts'
export type {
  Batch,
  CallKey,
  Claim,
  ClaimRequest,
  CommitRefusal,
  CommitResult,
  EventPage,
  Expect,
  Lease,
  LeaseState,
  NewEntry,
  NewEvent,
  NewRun,
  NewSession,
  PartialEvent,
  PathOptions,
  Read,
  RunPatch,
  SessionPatch,
  SessionQuery,
  SessionStore,
  StoreCapabilities,
  StoreOpenOptions,
  Write,
} from './store/contract.ts'
export type {
  ApprovalRecord,
  EntryNode,
  EntryRecord,
  InboxAnswer,
  InboxDecision,
  InboxKind,
  InboxRecord,
  RunFailure,
  RunKind,
  RunRecord,
  RunRest,
  RunStatus,
  SessionRecord,
  SessionStatus,
  StopRequest,
  StoredEvent,
  ToolCallRecord,
  TurnState,
} from './store/records.ts'
export { memoryStateStore, type MemoryStateStoreOptions } from './state/memory-state-store.ts'
export type { CasResult, LifeOptions, StateQuery, StateRead, StateStore, TimeToLive, Versioned } from './state/contract.ts'
export { createOrchestration, createOrchestration as createOrchestrationStateManager } from './orchestration/manager.ts'
export { removeOrchestrationState } from './orchestration/remove-session.ts'
export { createStepSequencer, type Selection, type SequencerOptions, type StepSequencer } from './orchestration/sequencer.ts'
export type { Condition, OrchestrationConfig, OrchestrationStep, SequencePosition } from './orchestration/config.ts'
export type { Finding } from './orchestration/explain.ts'
export type {
  ChangeOptions,
  CleanupOptions,
  ConditionContext,
  Orchestration,
  OrchestrationDiagnostic,
  OrchestrationOptions,
  OrchestrationState,
  Predicate,
  Predicates,
  StatePatch,
  StorageOptions,
  TokenTotals,
  ToolDecision,
  ToolUse,
} from './orchestration/types.ts'
