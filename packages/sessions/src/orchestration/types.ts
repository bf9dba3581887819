import type { Extension, IdSource } from '@bowline/agent-loop'
import type { Clock, JSONObject, JSONValue, Usage } from '@bowline/llm'
import type { Page } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateQuery, StateStore, TimeToLive } from '../contract/state-store.ts'

/** Stored state of a session between its turns. Frozen. */
export interface OrchestrationState {
  /** The session key. For a child run it is followed by `#` and the run id. */
  readonly sessionId: string
  readonly activeStep?: string
  /** Names of tools: newest first, without repeats, at most 10. */
  readonly recentlyUsedTools: readonly string[]
  /** The newest 100 uses: oldest first, with repeats. */
  readonly toolHistory: readonly ToolUse[]
  /** Position in the sequence of the active orchestration step; 0 at its start. */
  readonly sequenceIndex: number
  /** Tool uses since the active orchestration step was entered. */
  readonly usesInStep: number
  readonly cumulativeTokenUsage: TokenTotals
  /** Time of the last change or touch, in ms since 1970. A look counts if a tenth of `ttl` has passed since. */
  readonly lastAccessed: number
  /** Lifetime after `lastAccessed`. While a run of the session is open, 4,000,000,000,000,000 ms. */
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

/** Changed fields of a state. Merged shallowly: a field replaces the old one as a whole. Null removes `activeStep` and `data`. */
export type StatePatch = Partial<Pick<OrchestrationState, Settable>> & {
  readonly activeStep?: string | null
  readonly data?: JSONObject | null
}

/** Input of conditions in addition to the state. */
export interface ConditionContext {
  /** Newest message of the user. */
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
  /** Offered tools that are allowed now, in the order of the offer. */
  readonly tools: readonly string[]
  /** Name of the active step. */
  readonly step?: string
  /** Reason for each offered tool that is not allowed. */
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
  readonly code:
    | 'selected'
    | 'decided'
    | 'condition-failed'
    | 'step-missing'
    | 'tool-not-offered'
    | 'state-unavailable'
    | 'state-expired'
    | 'cleanup-failed'
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
  /** Custom conditions by name. */
  readonly predicates?: Predicates
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Makes ids. Default: random. */
  readonly ids?: IdSource
  /** Random source for the waits between retries: from 0 up to, but not including, 1. Default `Math.random`. */
  readonly random?: () => number
  /** Environment variables, read once. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called for faults that do not stop the work. */
  readonly onDiagnostic?: (diagnostic: OrchestrationDiagnostic) => void
}

/** Aliases of `store` and `namespace`. */
export interface StorageOptions {
  /** Alias of `store`. */
  readonly storageProvider: StateStore | SessionStore
  /** Alias of `namespace`. Default `orchestration-state`. */
  readonly storageNamespace?: string
}

/** Interval (ms) and cap of the removal of unused states. Off by default. */
export interface CleanupOptions {
  /** Default false. */
  readonly enabled?: boolean
  /** Default 300,000. */
  readonly intervalMs?: number
  /** Number of records to keep. Each cleanup removes the least recently used ones above it. Default: no cap. */
  readonly maxSessions?: number
}

/** Idempotency key of one change. */
export interface ChangeOptions {
  /** A change with this key is applied once, as long as the key is among the last 100. */
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
  /** Reads the state. A look keeps it alive, but writes only if a tenth of `ttl` has passed since the last access. */
  getState(id: string): Promise<OrchestrationState | null>
  /** Reads the state or creates it. With a configuration without steps it creates nothing and resolves with null. */
  getOrCreateState(id: string, config?: OrchestrationConfig): Promise<OrchestrationState | null>
  /** A function is called again after a conflict, so it must have no side effects. */
  updateState(id: string, patch: StatePatch | ((state: OrchestrationState) => StatePatch)): Promise<OrchestrationState | null>
  setActiveStep(id: string, name: string | null): Promise<OrchestrationState | null>
  addUsedTool(id: string, tool: string, options?: ChangeOptions): Promise<OrchestrationState | null>
  advanceSequence(id: string, options?: ChangeOptions): Promise<OrchestrationState | null>
  /** Selects the step as `allowedTools` does, adds the use, advances the sequence and selects again, in one update. */
  recordToolUse(id: string, tool: string, options?: ChangeOptions & { readonly usage?: Usage }): Promise<OrchestrationState | null>
  addTokenUsage(id: string, usage: Usage, options?: ChangeOptions): Promise<OrchestrationState | null>
  /**
   * Replaces the state by fresh defaults under a higher version, even if the record is `store-corrupt`. Keeps the applied keys,
   * as far as they can be read.
   */
  resetState(id: string): Promise<OrchestrationState | null>
  /** Restarts the lifetime of the record, as each change does. Resolves with false if there is none. */
  touch(id: string): Promise<boolean>
  removeState(id: string): Promise<boolean>
  /** Lists states. An unreadable record counts towards the page size and is listed in `unreadable`. */
  listStates(query?: StateQuery): Promise<StatePage>
  /** Removes expired records and those above `maxSessions`. Resolves with the number of expired ones. */
  cleanupExpiredStates(): Promise<number>
  stopCleanupTimer(): void
  close(): Promise<void>
  /** Returns the allowed tools. Changes nothing, and keeps the state alive as `getState` does. */
  allowedTools(id: string, offered: readonly string[], context?: ConditionContext): Promise<ToolDecision>
  /** Returns the extension for `defineAgent({ extensions: [...] })`. Default configuration: the one of the orchestration. */
  extension(config?: OrchestrationConfig): Extension
}

/** Steps of an orchestration and the rule that selects one. Pure JSON: predicates are referenced by name. */
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
  /** True: the step stays active while no other step matches. Default true. */
  readonly sticky?: boolean
  /** Conditions to enter the step. All must hold. */
  readonly conditions?: readonly Condition[]
  /** Names or patterns of tools; `*` matches any run of characters. Default of `allow`: all tools. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** Alias of `tools`. */
  readonly availableTools?: { readonly allowed?: readonly string[]; readonly denied?: readonly string[] }
  /** Tools that must be used in this order; a position may name alternatives. */
  readonly sequence?: readonly SequencePosition[]
}

/** One position of a sequence: a tool name, or several alternatives. */
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
  /** Custom conditions by name. */
  readonly predicates?: Predicates
  /** Called for faults that do not stop the work. */
  readonly onDiagnostic?: (diagnostic: OrchestrationDiagnostic) => void
}

/** Options of `simulateOrchestration`: those of a sequencer, and the offered tools. */
export interface SimulationOptions extends SequencerOptions {
  /** Tools of the agent. Default: the tools that the configuration and the uses name. */
  readonly offered?: readonly string[]
}

/** The context of conditions, with the time and the key of the tool use. */
export type UseContext = ConditionContext & Partial<Omit<ToolUse, 'tool'>>
