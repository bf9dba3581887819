import type { Compaction, DurableEvent, StoredMessage } from '@bowline/agent-loop'
import type { Clock, JSONObject, JSONValue, Usage } from '@bowline/llm'
import type { StateStore } from '../state/contract.ts'
import type {
  EntryNode,
  EntryRecord,
  InboxKind,
  InboxRecord,
  RunKind,
  RunRecord,
  RunStatus,
  SessionRecord,
  SessionStatus,
  StoredEvent,
  StopRequest,
  ToolCallRecord,
} from './records.ts'

/**
 * Where sessions live. Every write goes through `commit`; every value read or written must be a copy. Expected refusals
 * are data. A store that cannot be reached throws `store-unavailable`, and then the outcome of a commit is unknown: the
 * caller repeats the batch under the same id. No store may hold a transaction open across anything but its own queries.
 */
export interface SessionStore {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Must check, migrate and lock. Called once by each runtime; a memory store may be opened by several. */
  open(options: StoreOpenOptions): Promise<void>
  close(): Promise<void>
  /** Must apply the batch completely or not at all, with its expectations tested inside the same atomic step. */
  commit(batch: Batch): Promise<CommitResult>
  /**
   * Makes the first open run of up to `max` sessions `running`, with `epoch + 1`, this owner and a lease. Claimable is a
   * queued run, and a running one whose lease is over by the store's clock (on an exclusive store: whose owner is
   * another), of a session that no other run holds, of an agent in `agents`. Taking over a running run must raise
   * `attempts` and `totalAttempts` by one. Of two claimers one must get the run.
   */
  claim(request: ClaimRequest): Promise<readonly Claim[]>
  /** Must prolong the leases that are still held under their epoch, and say which are not and which are to stop. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseState[]>
  readSession(key: string): Promise<Read<SessionRecord>>
  /** The path from the leaf (default: the session's own) to the root, newest first. */
  readPath(key: string, options?: PathOptions): Promise<Page<EntryRecord>>
  /** Events with `seq > after`, oldest first. */
  readEvents(key: string, after: number, limit: number): Promise<EventPage>
  readRun(runId: string): Promise<Read<RunRecord>>
  /** The ledger of a run in order of step and index; `step` narrows it to one step. */
  readCalls(runId: string, step?: number): Promise<readonly ToolCallRecord[]>
  /** The newest call of the session with this id. */
  readCall(key: string, toolCallId: string): Promise<Read<ToolCallRecord>>
  /** The call of the session for which this approval was asked. */
  readApproval(key: string, approvalId: string): Promise<Read<ToolCallRecord>>
  readInbox(key: string, kinds: readonly InboxKind[]): Promise<readonly InboxRecord[]>
  /** Newest activity first. */
  listSessions(query: SessionQuery): Promise<Page<SessionRecord>>
  listRuns(key: string, query?: RunQuery): Promise<Page<RunRecord>>
  /** Small records of other parts, in the same namespace; usable while the store is open. */
  readonly state: StateStore
}

export interface StoreCapabilities {
  /** What a commit outlives: nothing, the death of the process, the loss of power. */
  readonly durable: 'none' | 'process' | 'power'
  readonly processes: 'one' | 'many'
  readonly maxRecordBytes: number
}

export interface StoreOpenOptions {
  /** Part of every key: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly namespace: string
  readonly clock: Clock
  /** Names the process that opens the store. */
  readonly owner: string
}

export type Read<T> = { readonly status: 'found'; readonly value: T } | { readonly status: 'missing' }

export interface Page<T> {
  readonly items: readonly T[]
  /** Hand it back as `page` for the items after these. */
  readonly next?: string
}

export interface PageRequest {
  /** Default 100, at most 1,000. */
  readonly limit?: number
  readonly page?: string
}

export interface PathOptions {
  readonly leaf?: string | null
  /** Start with the parent of this entry. */
  readonly before?: string
  readonly limit?: number
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  readonly firstSeq: number
  /** The number of the newest event; 0 when there is none. */
  readonly lastSeq: number
}

export interface SessionQuery extends PageRequest {
  readonly agent?: string
  readonly status?: SessionStatus
  readonly keyPrefix?: string
}

export interface RunQuery extends PageRequest {
  readonly status?: readonly RunStatus[]
  /** Default false: in order of acceptance. */
  readonly newestFirst?: boolean
}

/** A batch touches one session. Its id makes a repeat of the session's last batch a no-op that answers `ok`. */
export interface Batch {
  readonly id: string
  readonly key: string
  readonly expect: readonly Expect[]
  readonly writes: readonly Write[]
}

export type Expect =
  /** `id` is the incarnation; null: the session must not exist. Else `conflict` (or `missing`), also for another version. */
  | { readonly that: 'session'; readonly id: string | null; readonly version?: number }
  /** The run is running under exactly this epoch. Else `fenced`. */
  | { readonly that: 'fence'; readonly runId: string; readonly epoch: number }
  /** No run of the session is open. Else `busy`. */
  | { readonly that: 'idle' }
  /** No run but this one is open. Else `runs-queued`. */
  | { readonly that: 'none-queued'; readonly except: string }
  /** Fewer than `max` runs are queued. Else `queue-full`. */
  | { readonly that: 'queue-below'; readonly max: number }
  /** The run has one of these statuses, and, if asked, no stop request. Else `conflict` (or `stopping`). */
  | { readonly that: 'run'; readonly runId: string; readonly status: readonly RunStatus[]; readonly notStopping?: true }

export type Write =
  /** Creates the session; nothing happens when it exists. */
  | { readonly op: 'session.ensure'; readonly session: NewSession }
  /** Must refuse a leaf that is no entry of the session (`conflict`). */
  | { readonly op: 'session.patch'; readonly patch: SessionPatch }
  /** Parents must exist or come earlier in the batch; a repeated id is refused with `conflict`. The leaf moves to the last one. */
  | { readonly op: 'entry.append'; readonly entries: readonly NewEntry[] }
  /** The store gives consecutive numbers, in order. */
  | { readonly op: 'event.append'; readonly events: readonly NewEvent[] }
  /**
   * The store gives `n`. A run of the session with the same `inputId` makes the whole batch a no-op: equal `inputHash`
   * answers `ok` with `existing`, another one `id-reused`.
   */
  | { readonly op: 'run.insert'; readonly run: NewRun }
  /**
   * Must refuse a move that `runMoves` does not have (`conflict`), a second holding run (`busy`), and the end of a run
   * with a call that has no outcome (`open-calls`). The session's status follows: `busy` with an open run, `failed` with
   * one that is `needs-recovery`, else `idle`.
   */
  | { readonly op: 'run.patch'; readonly runId: string; readonly patch: RunPatch }
  /** Inserts or replaces rows. Must refuse to change a settled one (`conflict`). */
  | { readonly op: 'call.put'; readonly calls: readonly ToolCallRecord[] }
  /** Must refuse an id that is there (`inbox`). */
  | { readonly op: 'inbox.put'; readonly rows: readonly InboxRecord[] }
  /** Rows that are not there are no fault. */
  | { readonly op: 'inbox.take'; readonly ids: readonly string[] }

export interface NewSession {
  readonly id: string
  readonly agent: string
  readonly owner?: string
  readonly metadata: JSONObject
  readonly at: number
}

/** `usage` is added to what stands. */
export interface SessionPatch {
  readonly turns?: number
  /** Moves the end of the active path, without deleting anything. */
  readonly leaf?: string | null
  readonly usage?: Usage
  readonly metadata?: JSONObject
}

/** A tool-result entry refers to its ledger row instead of holding the output a second time. */
export type NewEntry = Omit<EntryNode, 'n'> &
  (
    | { readonly type: 'message'; readonly message: StoredMessage }
    | { readonly type: 'message'; readonly call: CallKey }
    | { readonly type: 'compaction'; readonly compaction: Compaction }
  )

export interface CallKey {
  readonly runId: string
  readonly step: number
  readonly toolCallId: string
}

/** The event without what another record already holds; a reader gets it whole. */
export interface NewEvent {
  readonly event: PartialEvent
  /** `entryId` and `call` fill in `message`, `runInput` fills in `input`. */
  readonly refers?: { readonly entryId: string } | { readonly call: CallKey } | { readonly runInput: string }
}

/** A durable event that may lack the field that its reference fills in. */
export type PartialEvent = { readonly type: DurableEvent['type']; readonly at: number } & JSONObject

export interface NewRun {
  readonly id: string
  readonly kind: RunKind
  readonly inputId?: string
  readonly inputHash: string
  readonly input: JSONValue
  readonly at: number
}

/** Null removes a field. A terminal status sets `endedAt`; a status other than `running` gives up owner and lease. */
export interface RunPatch {
  readonly status?: RunStatus
  readonly reason?: RunRecord['reason'] | null
  readonly turn?: number
  readonly step?: number
  readonly openMessageId?: string | null
  readonly stop?: StopRequest
  readonly pendingToolCalls?: RunRecord['pendingToolCalls']
  readonly pendingApprovals?: RunRecord['pendingApprovals']
  readonly turnState?: RunRecord['turnState'] | null
  readonly rest?: RunRecord['rest'] | null
  readonly error?: RunRecord['error'] | null
  readonly usage?: Usage
  readonly startedAt?: number
  readonly endedAt?: number
  /** Progress was made: starts to count anew. */
  readonly attempts?: 0
}

export type CommitResult =
  | {
      readonly ok: true
      readonly sessionId: string
      readonly version: number
      /** Numbers of the events of this batch; `lastSeq < firstSeq` when it has none. */
      readonly firstSeq: number
      readonly lastSeq: number
      readonly existing?: { readonly runId: string }
    }
  | { readonly ok: false; readonly reason: CommitRefusal }

export type CommitRefusal =
  | 'fenced'
  | 'conflict'
  | 'busy'
  | 'missing'
  | 'open-calls'
  | 'id-reused'
  | 'inbox'
  | 'stopping'
  | 'runs-queued'
  | 'queue-full'

export interface ClaimRequest {
  readonly owner: string
  readonly max: number
  readonly leaseMs: number
  readonly agents: readonly string[]
  /** Only this run. */
  readonly runId?: string
}

export interface Lease {
  readonly runId: string
  readonly epoch: number
}

export interface Claim {
  readonly run: RunRecord
  readonly session: SessionRecord
  /** What the run was before: `running` means that its owner was lost. */
  readonly previous: 'queued' | 'running'
}

export interface LeaseState {
  readonly runId: string
  readonly held: boolean
  readonly stopping?: StopRequest
}
