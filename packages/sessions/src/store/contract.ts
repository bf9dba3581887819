import type { DurableEvent, StoredMessage } from '@bowline/agent-loop'
import type { Clock, Cost, JSONObject, JSONValue, Usage } from '@bowline/llm'
import type { StateStore } from '../state/contract.ts'
import type {
  EntryBody,
  EntryNode,
  EntryRecord,
  InboxKind,
  InboxRecord,
  Lane,
  RunKind,
  RunOptionsRecord,
  RunParent,
  RunRecord,
  RunStatus,
  SessionRecord,
  SessionSettings,
  SessionStatus,
  StoredEvent,
  StopRequest,
  TimerRecord,
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
   * Makes the first open run of up to `max` sessions `running`, with `epoch + 1`, this owner and a lease. First is the run
   * that holds the session, else the one with the smallest `place`: what keeps it back keeps back the runs behind it.
   * Claimable is a queued run whose `notBefore` has come, and a running one whose lease is over by the store's clock (on an
   * exclusive store: whose owner is another) and that was claimed `takeoverDelayMs` ago (0, then 1 s, 2, 4 … 30 s, as its
   * `attempts` rise), of a session that has not expired, of an agent in `agents`. Taking over a running run must raise
   * `attempts` and `totalAttempts` by one. The session's `version` rises, its life is not prolonged. Of two claimers one
   * must get the run.
   */
  claim(request: ClaimRequest): Promise<readonly Claim[]>
  /** Must prolong the leases that are still held under their epoch, and say which are not and which are to stop. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseState[]>
  readSession(key: string): Promise<Read<SessionRecord>>
  /** The path from the leaf (default: the session's own) to the root, newest first. */
  readPath(key: string, options?: PathOptions): Promise<Page<EntryRecord>>
  /** Events with `seq > after`, oldest first. */
  readEvents(key: string, after: number, limit: number): Promise<EventPage>
  readRun(runId: string): Promise<Found<RunRecord>>
  /** The ledger of a run in order of step and index; `step` narrows it to one step. */
  readCalls(runId: string, step?: number): Promise<readonly ToolCallRecord[]>
  /** The newest call of the session with this id. */
  readCall(key: string, toolCallId: string): Promise<Found<ToolCallRecord>>
  /** The call for which this approval was asked, in whichever session. */
  readApproval(approvalId: string): Promise<Found<ToolCallRecord>>
  readInbox(key: string, kinds: readonly InboxKind[]): Promise<readonly InboxRecord[]>
  readDefinition(hash: string): Promise<JSONObject | undefined>
  /** Newest activity first, each as `readSession` gives it: one whose time is over has the status `expired`. */
  listSessions(query: SessionQuery): Promise<Page<SessionRecord>>
  listRuns(key: string, query?: RunQuery): Promise<Page<RunRecord>>
  /** The runs that name this parent, whether it is still there or not, in the order of `createdAt`, then of their ids. */
  listChildren(query: ChildQuery): Promise<Page<RunRecord>>
  /** The ends of all paths, in the order in which they came into being: one that grows between two pages is met again. */
  listBranches(key: string, query?: PageRequest): Promise<Page<BranchRecord>>
  /** What is due by the store's clock, the earliest first and at most `limit` of each, and when the next thing is. */
  due(limit: number): Promise<DueReport>
  /**
   * Must remove what the rules let go, in one small step: at most `limit` sessions are changed. This is no commit: neither
   * `version` nor `activeAt` rises.
   */
  prune(rules: PruneRules, limit: number): Promise<PruneReport>
  /** Tells of commits in the namespace, of any owner, and of their deliveries. Hints only: they may be lost. Returns what ends it. */
  subscribe(listener: (hint: StoreHint) => void): () => void
  /** Small records of other parts, in the same namespace; usable while the store is open. */
  readonly state: StateStore
}

/** `wake`: there may be something to claim. */
export interface StoreHint {
  readonly key: string
  readonly wake: boolean
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

/**
 * An expired session can be read; batches that expect it `alive` are refused. From its time on it is expired, whether it
 * was marked (`session.expire`) or not, and nothing brings it back.
 */
export type Read<T> =
  | { readonly status: 'found'; readonly value: T }
  | { readonly status: 'missing' }
  | { readonly status: 'expired'; readonly at: number; readonly value: T }
  | { readonly status: 'deleted'; readonly at: number }

export type Found<T> = Extract<Read<T>, { status: 'found' | 'missing' }>

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
  /** The incarnation of the session; absent when there is none. */
  readonly sessionId?: string
  /** There is no session any more, and none of its events: `firstSeq` is the number that the next one would get. */
  readonly deletedAt?: number
}

export interface SessionQuery extends PageRequest {
  readonly agent?: string
  readonly status?: SessionStatus
  readonly keyPrefix?: string
  /** Child sessions of this key. */
  readonly parent?: string
  /** Something happened at this time or later. */
  readonly activeSince?: number
}

export interface RunQuery extends PageRequest {
  readonly status?: readonly RunStatus[]
  /** Default false: in order of acceptance. */
  readonly newestFirst?: boolean
}

export interface ChildQuery extends PageRequest {
  /** Of one run, or of all runs of a session. */
  readonly parent: { readonly runId: string } | { readonly session: string }
  readonly status?: readonly RunStatus[]
}

export interface BranchRecord {
  /** An entry that is nobody's parent. */
  readonly leaf: string
  /** On the path from the root. */
  readonly entries: number
  /** Of the leaf. */
  readonly at: number
}

export interface DueReport {
  /** By time, then by id. */
  readonly timers: readonly TimerRecord[]
  /** Keys of sessions whose life is over, by the time of its end, and that nobody has marked (`session.expire`) yet. */
  readonly expired: readonly string[]
  /** Keys of sessions without an open run in whose inbox steering or word of children waits. */
  readonly unread: readonly string[]
  /**
   * Now, when something is due. Else the earliest time at which a timer is, a session's life ends, or the first run of a
   * session may be claimed: its `notBefore`, or the end of its takeover delay. Ends of leases are no part of it.
   */
  readonly nextAt: number | null
}

export interface PruneRules {
  /**
   * Runs that ended before then and were accepted before the first run that is kept, with their inputs and input ids, and
   * the log before the first event of that run (all of it, when no run is kept). With them `taken` rows of the inbox from
   * before then. Entries and rows of the ledger stay as long as their session, definitions as long as a run refers to them.
   */
  readonly runsEndedBefore: number
  /** Sessions that were marked as expired, whose time was over before then, and that have no open run, are deleted. */
  readonly expiredBefore: number
}

export interface PruneReport {
  /** Of sessions that go on. */
  readonly runs: number
  readonly events: number
  readonly sessions: number
  /** The limit was reached: there may be more. */
  readonly more: boolean
}

/**
 * A batch touches one session. Its id makes a repeat of the last batch of the session, or of a run that it is fenced by or
 * inserts, a no-op that answers `ok`. A repeat of the batch that deleted its session is refused as `deleted` (`missing`
 * where it left nothing).
 */
export interface Batch {
  readonly id: string
  readonly key: string
  readonly expect: readonly Expect[]
  readonly writes: readonly Write[]
  /** What concerns other sessions. */
  readonly deliver?: readonly Delivery[]
}

/**
 * Writes to another session, applied exactly once: with their batch or, where sessions cannot be written together, before
 * the commit answers, and after a crash when the store is opened again. Its writes are one step, as if they were a batch.
 * What would refuse a batch drops the delivery and nothing else: a `when` that does not hold, a session that is gone, an
 * `inputId` that the session has had.
 */
export interface Delivery {
  /** No other delivery may have it. */
  readonly id: string
  readonly to: string
  readonly when?: readonly Expect[]
  readonly writes: readonly Write[]
}

export type Expect =
  /**
   * `id` is the incarnation; null: the session must not exist. Else `conflict` (or `missing`, `deleted`), also for another
   * version. `alive`: it must not have expired (`expired`, only where id and version hold).
   */
  | { readonly that: 'session'; readonly id: string | null; readonly version?: number; readonly alive?: true }
  /** The run is running under exactly this epoch. Else `fenced`. */
  | { readonly that: 'fence'; readonly runId: string; readonly epoch: number }
  /** No run of the session is open, compactions apart if so asked. Else `busy`. */
  | { readonly that: 'idle'; readonly exceptCompaction?: true }
  /** The active path ends here. Else `conflict`. */
  | { readonly that: 'leaf'; readonly entryId: string | null }
  /** Nothing of these kinds waits. Else `inputs-waiting`. */
  | { readonly that: 'inbox-empty'; readonly kinds: readonly InboxKind[] }
  /** Fewer rows of this kind than that wait. Else `queue-full`. */
  | { readonly that: 'inbox-below'; readonly kind: InboxKind; readonly max: number }
  /** The timer has not fired. Else `conflict`. */
  | { readonly that: 'timer'; readonly id: string }
  /** No run but this one is open. Else `runs-queued`. */
  | { readonly that: 'none-queued'; readonly except: string }
  /** Fewer than `max` runs are queued. Else `queue-full`. */
  | { readonly that: 'queue-below'; readonly max: number }
  /** The run has one of these statuses, and, if asked, no stop request. Else `conflict` (or `stopping`). */
  | { readonly that: 'run'; readonly runId: string; readonly status: readonly RunStatus[]; readonly notStopping?: true }

export type Write =
  /** Creates the session; nothing happens when it exists. The numbers of an earlier one under the key go on. */
  | { readonly op: 'session.ensure'; readonly session: NewSession }
  /**
   * Takes everything away but the numbers, so that a later session under the key can go on from them; with
   * `leavesNothing` these too. One more number is used up: that of the event with which readers end. Must be the last
   * write of its batch.
   */
  | { readonly op: 'session.delete'; readonly at: number; readonly leavesNothing?: true }
  /** Marks the session as expired, at the latest from now on: `expiresAt` is not later than this. */
  | { readonly op: 'session.expire' }
  /** Must refuse a leaf that is no entry of the session (`conflict`). */
  | { readonly op: 'session.patch'; readonly patch: SessionPatch }
  /** Parents must exist or come earlier in the batch; a repeated id is refused with `conflict`. The leaf moves to the last one. */
  | { readonly op: 'entry.append'; readonly entries: readonly NewEntry[] }
  /** The store gives consecutive numbers, in order. */
  | { readonly op: 'event.append'; readonly events: readonly NewEvent[] }
  /**
   * The store gives `n`. A run of the session with the same `inputId`, or the inbox row `steer:<inputId>` unless the batch
   * takes it, makes the whole batch a no-op: equal hashes answer `ok` with `existing`, others `id-reused`. Two runs with one
   * `inputId` in a batch are refused (`id-reused`).
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
  /** Must refuse an id that is there (`inbox`). The `inputId` of steering with a `hash` counts as that of a run does. */
  | { readonly op: 'inbox.put'; readonly rows: readonly InboxRecord[] }
  /** Rows that are not there are no fault. */
  | { readonly op: 'inbox.take'; readonly ids: readonly string[] }
  /** Replaces rows that are there, their kind too; they keep their place and time. Rows that are not there are no fault. */
  | { readonly op: 'inbox.patch'; readonly rows: readonly InboxRecord[] }
  /** Content-addressed: nothing happens when it is there. */
  | { readonly op: 'definition.put'; readonly hash: string; readonly body: JSONObject }
  /** Inserts or replaces. The id of a timer belongs to its session. */
  | { readonly op: 'timer.put'; readonly timers: readonly NewTimer[] }
  /** Timers that are not there are no fault. */
  | { readonly op: 'timer.drop'; readonly ids: readonly string[] }

export interface NewSession {
  readonly id: string
  readonly agent: string
  readonly owner?: string
  readonly metadata: JSONObject
  readonly settings?: SessionSettings
  readonly parent?: string
  readonly forkedFrom?: NonNullable<SessionRecord['forkedFrom']>
  readonly at: number
}

export type NewTimer = Omit<TimerRecord, 'session'>

/** Usage and cost are added to what stands; a cost in another currency than the first is left out. */
export interface SessionPatch {
  readonly turns?: number
  /** Moves the end of the active path, without deleting anything. */
  readonly leaf?: string | null
  readonly usage?: Usage
  readonly cost?: Cost
  readonly childUsage?: Usage
  readonly childCost?: Cost
  readonly metadata?: JSONObject
}

/** A tool-result entry refers to its ledger row instead of holding the output a second time. */
export type NewEntry = Omit<EntryNode, 'n'> &
  (
    | { readonly type: 'message'; readonly message: StoredMessage }
    | { readonly type: 'message'; readonly call: CallKey }
    | EntryBody
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
  /** Default: that of the kind (`laneOf`). */
  readonly lane?: Lane
  readonly inputId?: string
  readonly inputHash: string
  readonly input: JSONValue
  readonly options?: RunOptionsRecord
  readonly parent?: RunParent
  readonly notBefore?: number
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
  /** Takes these out of both lists: ids of approvals, and of calls with their path before them (`a/b/c`). */
  readonly answered?: readonly string[]
  readonly turnState?: RunRecord['turnState'] | null
  readonly rest?: RunRecord['rest'] | null
  readonly error?: RunRecord['error'] | null
  readonly usage?: Usage
  readonly cost?: Cost
  /** Null: whichever its agent has. */
  readonly definition?: string | null
  readonly notBefore?: number | null
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
  | 'expired'
  | 'deleted'
  | 'inputs-waiting'
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
  /** Runs that the owner executes: one of its own that is not among them is lost, as one of another owner is. */
  readonly holds: readonly string[]
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
