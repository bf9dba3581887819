import type { AssistantMessage, JSONValue, Usage, UserMessage } from '@bowline/llm'
import type {
  DeltaEvent,
  DurableEvent,
  OutcomeStatus,
  PendingToolCall,
  ResumeCause,
  ToolEffect,
  ToolResult,
  TurnStatus,
} from '../events/types.ts'

/**
 * Where a run keeps its conversation. The loop must not start what follows a boundary before the commit of that
 * boundary has resolved. A journal belongs to one run at a time.
 */
export interface Journal {
  /** What stands written. The loop calls it once per run, before anything else. */
  load(): Promise<JournalState>
  /**
   * Must store all records or none, in call order of the commits, and give the `event` records consecutive numbers
   * from `firstSeq`. With `expect.nothingQueued` it must refuse, storing nothing, while other runs are queued behind
   * this one. Rejects with an `AgentError` `fenced` when the run belongs to somebody else by now, and with
   * `journal-failed` for any other failure.
   */
  commit(records: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome>
  /** Live deltas. Must not throw, is not awaited, may lose them. */
  publish?(events: readonly DeltaEvent[]): void
  /** A stop request or a lost lease. `reason` is an `AbortCause`; anything else counts as a stop. */
  readonly abortSignal?: AbortSignal
}

export interface CommitExpectation {
  readonly nothingQueued?: true
}

export type CommitOutcome =
  | { readonly ok: true; readonly firstSeq: number }
  | { readonly ok: false; readonly reason: 'runs-queued' }

/** `stop` ends the turn; `yield` leaves it open for another process; `fenced` forbids any further commit. */
export interface AbortCause {
  readonly kind: 'stop' | 'yield' | 'fenced'
  readonly reason?: string
}

export type JournalRecord =
  | { readonly type: 'event'; readonly event: DurableEvent }
  | { readonly type: 'append'; readonly message: StoredMessage }
  | { readonly type: 'call'; readonly call: CallRow }
  | { readonly type: 'run'; readonly run: RunRow }

/** Messages in a journal always have an id. */
export type StoredMessage = (UserMessage & { readonly id: string }) | AssistantMessage | ToolResult

/** The state of a call: `pending` (nothing happened yet), `started` (the effect may happen), `remote` (given away), or its outcome. */
export type CallState = 'pending' | 'started' | 'remote' | OutcomeStatus

/** One row of the tool ledger. The key is run, step and tool call id; a later row replaces the earlier one. */
export interface CallRow {
  readonly runId: string
  readonly step: number
  readonly toolCallId: string
  readonly toolName: string
  /** Place among the calls of its answer, from 0. */
  readonly index: number
  readonly state: CallState
  readonly effect: ToolEffect
  /** 0 until it started, then the number of starts. */
  readonly attempt: number
  readonly idempotencyKey: string
  /** SHA-256, base64url, of the canonical JSON of the input. */
  readonly inputHash: string
  readonly startedAt?: number
  readonly deadlineAt?: number
  /** Present exactly when `state` is an outcome. */
  readonly outcome?: ToolResult
  /** The tool asked to end the turn after this answer. */
  readonly terminate?: true
}

export interface RunRow {
  readonly runId: string
  readonly state: 'running' | 'suspended' | 'ended'
  /** Present when suspended or ended. */
  readonly status?: TurnStatus
  readonly reason?: string
  readonly turn: number
  readonly step: number
  readonly usage: Usage
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly error?: JSONValue
}

export interface JournalState {
  /** The transcript in order, without what was discarded. */
  readonly messages: readonly StoredMessage[]
  /** The number of the last durable event; 0 for an empty journal. */
  readonly seq: number
  /** Turns begun so far, the open one included. */
  readonly turns: number
  readonly open?: OpenTurn
}

/** A turn that has a `turn-start` and no end: suspended, or left by a process that died. */
export interface OpenTurn {
  readonly runId: string
  readonly turn: number
  readonly step: number
  /** A `message-start` without its end. */
  readonly openMessageId?: string
  /** Of the open step; settled ones too, until their results are in the transcript. */
  readonly calls: readonly CallRow[]
  readonly usage: Usage
  /** What the `turn-start` of the next segment says. */
  readonly resume?: { readonly cause: ResumeCause; readonly attempt: number }
}
