import type { Extension, IdSource } from '@bowline/agent-loop'
import type { Clock, JSONObject, JSONValue, Usage } from '@bowline/llm'
import type { Page } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateQuery, StateStore, TimeToLive } from '../contract/state-store.ts'

/** Stored facts of a session between its turns. Frozen. */
export interface OrchestrationState {
  /** The session key. For a child run it is followed by `#` and the run id. */
  readonly sessionId: string
  readonly activeStep?: string
  /** Newest first, without repeats, at most 10. */
  readonly recentlyUsedTools: readonly string[]
  /** Oldest first, with repeats, the newest 100. */
  readonly toolHistory: readonly ToolUse[]
  /** Position in the sequence of the active orchestration step; 0 at its start. */
  readonly sequenceIndex: number
  /** Tool uses since the active orchestration step was entered. */
  readonly usesInStep: number
  readonly cumulativeTokenUsage: TokenTotals
  /** When it was changed or touched last. */
  readonly lastAccessed: number
  readonly ttl: TimeToLive
  readonly version: number
  readonly schemaVersion: 1
  /** Data for your own predicates. */
  readonly data?: JSONObject
}

/** A recorded use of a tool. `at` is epoch milliseconds. */
export interface ToolUse {
  readonly tool: string
  readonly at: number
  readonly key?: string
}

/** Sums of tokens over all model calls of a session. */
export interface TokenTotals {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
}

type Settable = 'recentlyUsedTools' | 'toolHistory' | 'sequenceIndex' | 'usesInStep' | 'cumulativeTokenUsage'

/** Merged shallowly: a field takes the place of the old one whole. Null removes `activeStep` and `data`. */
export type StatePatch = Partial<Pick<OrchestrationState, Settable>> & {
  readonly activeStep?: string | null
  readonly data?: JSONObject | null
}

/** Facts that conditions see besides the state. */
export interface ConditionContext {
  /** The newest message of the user. */
  readonly message?: string
  /** Turns of the session so far. */
  readonly turns?: number
  /** The present state, for predicates. The sequencer fills it in. */
  readonly state?: OrchestrationState
  readonly args?: JSONValue
}

/** A condition in code. It must be pure. If it throws, neither the condition nor its negation holds, and a diagnostic is reported. */
export type Predicate = (context: ConditionContext) => boolean
/** Predicates by the name that a condition of type `predicate` gives. */
export type Predicates = Readonly<Record<string, Predicate>>

/** The tools that are allowed now, with the reason for each one that is not. */
export interface ToolDecision {
  /** The offered tools that may be used now, in their order. */
  readonly tools: readonly string[]
  /** The name of the orchestration step that decides. */
  readonly step?: string
  /** Why each of the others may not. */
  readonly reasons: readonly { readonly tool: string; readonly reason: string }[]
}

/** Whether one tool is allowed now, with the reason in one sentence. */
export interface ToolJudgement {
  readonly tool: string
  readonly allowed: boolean
  readonly reason: string
}

/** Explains a decision or a fault. Holds names and numbers, never messages or values. */
export interface OrchestrationDiagnostic {
  readonly code: 'selected' | 'decided' | 'condition-failed' | 'step-missing' | 'tool-not-offered' | 'state-unavailable' | 'cleanup-failed'
  readonly message: string
  readonly sessionId?: string
  readonly step?: string
  readonly dropped?: ToolDecision['reasons']
}

/** Store, configuration and callbacks of an orchestration. Every field has a default. */
export interface OrchestrationOptions {
  /** Default: `memoryStateStore()`, whose records are lost with the process. */
  readonly store?: StateStore | SessionStore
  /** Default `orchestration-state`. */
  readonly namespace?: string
  /** Steps, sequences and rules. Default: none, and every tool is allowed. */
  readonly config?: OrchestrationConfig
  /** Default: `SESSION_TTL_SECONDS` of the environment, else 24 hours. */
  readonly ttlMs?: TimeToLive
  /** Removes states that are no longer used. Default: see `CleanupOptions`. */
  readonly cleanup?: CleanupOptions
  /** Action of a turn if the state cannot be read: offer no tool, or fail. Default `no-tools`. */
  readonly onUnavailable?: 'no-tools' | 'fail'
  /** Conditions of your own, by name. */
  readonly predicates?: Predicates
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Makes ids. Default: random. */
  readonly ids?: IdSource
  /** Spread of the waits between retries: at least 0, below 1. Default `Math.random`. */
  readonly random?: () => number
  /** Environment variables, read once. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called for faults that do not stop the work. */
  readonly onDiagnostic?: (diagnostic: OrchestrationDiagnostic) => void
}

/** Other names of `store` and `namespace`. */
export interface StorageOptions {
  /** Another name of `store`. */
  readonly storageProvider: StateStore | SessionStore
  /** Part of each key. Default `orchestration-state`. */
  readonly storageNamespace?: string
}

/** Interval (ms) and cap of the removal of unused states. Off by default. */
export interface CleanupOptions {
  /** Default false. */
  readonly enabled?: boolean
  /** Default 300,000. */
  readonly intervalMs?: number
  /** The records used least recently beyond these are removed at each cleanup. Default: no cap. */
  readonly maxSessions?: number
}

/** Idempotency key of one change. */
export interface ChangeOptions {
  /** A change of this key is made once, as long as it is among the last 100. */
  readonly key?: string
}

/** One page of states, with the records that could not be read. */
export interface StatePage extends Page<OrchestrationState> {
  /** Absent if all could be read. */
  readonly unreadable?: readonly UnreadableState[]
}

/** A record that could not be read. `resetState` repairs `store-corrupt`; `schema-too-new` was written by a later version. */
export interface UnreadableState {
  readonly sessionId: string
  readonly code: 'store-corrupt' | 'schema-too-new'
  readonly message: string
}

/**
 * Orchestration states by session id. Every change is one compare-and-set; null means that there is no record. Methods throw
 * `store-unavailable`, and `conflict` if other writers won every retry.
 */
export interface Orchestration {
  getState(id: string): Promise<OrchestrationState | null>
  /** With a configuration without steps nothing is created. */
  getOrCreateState(id: string, config?: OrchestrationConfig): Promise<OrchestrationState | null>
  /** A function is asked again after a conflict: it must have no effects. */
  updateState(id: string, patch: StatePatch | ((state: OrchestrationState) => StatePatch)): Promise<OrchestrationState | null>
  setActiveStep(id: string, name: string | null): Promise<OrchestrationState | null>
  addUsedTool(id: string, tool: string, options?: ChangeOptions): Promise<OrchestrationState | null>
  advanceSequence(id: string, options?: ChangeOptions): Promise<OrchestrationState | null>
  /** Enters the step that `allowedTools` decides by, adds the use, advances the sequence and selects, in one update. */
  recordToolUse(id: string, tool: string, options?: ChangeOptions & { readonly usage?: Usage }): Promise<OrchestrationState | null>
  addTokenUsage(id: string, usage: Usage, options?: ChangeOptions): Promise<OrchestrationState | null>
  /**
   * Fresh defaults under a higher version, also in the place of a record that is `store-corrupt`. Keys that were applied stay
   * known, as far as they could be read.
   */
  resetState(id: string): Promise<OrchestrationState | null>
  /** Restarts the lifetime of the record, as each change does. Resolves with false if there is none. */
  touch(id: string): Promise<boolean>
  removeState(id: string): Promise<boolean>
  /** A record that is no state counts for the page, and is named by `unreadable`. */
  listStates(query?: StateQuery): Promise<StatePage>
  /** Removes expired records and those beyond `maxSessions`; gives the number of the expired ones. */
  cleanupExpiredStates(): Promise<number>
  stopCleanupTimer(): void
  close(): Promise<void>
  /** A look: writes nothing. */
  allowedTools(id: string, offered: readonly string[], context?: ConditionContext): Promise<ToolDecision>
  /** Returns the extension for `defineAgent({ extensions: [...] })`. Default configuration: the one of the orchestration. */
  extension(config?: OrchestrationConfig): Extension
}

/** Steps of an orchestration and the rule that picks one. JSON, apart from the predicates that it names. */
export interface OrchestrationConfig {
  readonly steps: readonly OrchestrationStep[]
  /** If the conditions of several steps hold, chooses the first in order, or the one whose required tool was used last. Default `first`. */
  readonly pick?: 'first' | 'newest'
  readonly description?: string
}

/** A phase of a plan: the conditions to enter it, and the tools it allows. */
export interface OrchestrationStep {
  readonly name: string
  readonly description?: string
  readonly isDefault?: boolean
  /** Stays active without a match. Default true. */
  readonly sticky?: boolean
  /** All must hold. */
  readonly conditions?: readonly Condition[]
  /** `*` matches any run of characters. Absent `allow`: all. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** Another form of `tools`. */
  readonly availableTools?: { readonly allowed?: readonly string[]; readonly denied?: readonly string[] }
  /** Tools that must be used in this order; a position may name alternatives. */
  readonly sequence?: readonly SequencePosition[]
}

/** One position of a sequence: a tool pattern, or several of which any one matches. */
export type SequencePosition = string | readonly string[]

/** A condition on the state of a session. `all`, `any` and `not` combine conditions. */
export type Condition =
  | { readonly type: 'tool_used'; readonly value: string; readonly since?: 'step' }
  | { readonly type: 'tool_not_used'; readonly value: string; readonly within?: number }
  | { readonly type: 'sequence_match'; readonly value?: readonly string[] }
  | { readonly type: 'tool_count'; readonly value: string; readonly min?: number; readonly max?: number }
  | { readonly type: 'step_is'; readonly value: string }
  | { readonly type: 'sequence_done' }
  | { readonly type: 'message_contains'; readonly value: string }
  | { readonly type: 'tokens' | 'turns'; readonly min?: number; readonly max?: number }
  | { readonly type: 'predicate'; readonly name: string; readonly args?: JSONValue }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }

/** Predicates and diagnostics of a sequencer. */
export interface SequencerOptions {
  /** Conditions of your own, by name. */
  readonly predicates?: Predicates
  /** Called for faults that do not stop the work. */
  readonly onDiagnostic?: (diagnostic: OrchestrationDiagnostic) => void
}

/** Options of `simulateOrchestration`: those of a sequencer, and the offered tools. */
export interface SimulationOptions extends SequencerOptions {
  /** The tools of the agent. Default: the tools that the configuration and the uses name. */
  readonly offered?: readonly string[]
}

/** The context of conditions, with the time and the key of the tool use. */
export type UseContext = ConditionContext & Partial<Omit<ToolUse, 'tool'>>
