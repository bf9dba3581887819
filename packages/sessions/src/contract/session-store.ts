import type { DeltaEvent } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { Batch, CommitResult } from './batch.ts'
import type { NoticeClaimRequest, NoticeClaims, NoticeOutcome, NoticeQuery, NoticeRecord } from './notices.ts'
import type { Page, PageRequest } from './paging.ts'
import type { EntryRecord, InboxKind, InboxRecord, RunRecord, RunStatus, SessionRecord, Status, StopRequest, StoredEvent, TimerKind, TimerRecord, ToolCallRecord } from './records.ts'
import type { StateStore } from './state-store.ts'

/**
 * Storage of sessions. Every write goes through `commit`; every value read or written must be a copy. Refusals are returned,
 * not thrown. If a store cannot be reached, it throws `store-unavailable` and the outcome of a commit is unknown: the caller
 * repeats the batch under the same id. A store must not hold a transaction open across anything but its own queries.
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
   * Makes the first open run of up to `max` sessions `running`, with `epoch + 1`, this owner and a lease. The first run is the
   * one that holds the session, else the one with the smallest `place`; if it cannot be claimed, neither can the runs after it.
   * A queued run can be claimed once its `notBefore` has come. A running one can if its lease is over by the store's clock (on
   * an exclusive store: if its owner is another) and it was claimed `takeoverDelayMs` ago (0, then 1 s, 2, 4 … 30 s, as its
   * `attempts` rise). Its session must not have expired, and its agent must be in `agents`. Taking over a running run must
   * raise `attempts` and `totalAttempts` by one. The session's `version` rises; its expiry stays. If two owners claim, one must
   * get the run.
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
  /** Timers of one kind, due or not, in the order of the keys of their sessions, then of their ids. */
  listTimers(query: TimerQuery): Promise<Page<TimerRecord>>
  /**
   * Returns due work by the store's clock, the earliest first, at most `limit` of each kind, and the time of the next. With
   * `limit` 0 it returns only that time.
   */
  due(limit: number): Promise<DueReport>
  /**
   * Must delete records by the rules in one small step: at most `limit` sessions are changed. This is no commit: `version` and
   * `activeAt` stay.
   */
  prune(rules: PruneRules, limit: number): Promise<PruneReport>
  /**
   * Returns up to `max` due notices, the earliest first, each with one more attempt, and makes each due again after `leaseMs`.
   * Of the pending notices of a session for one webhook, only the first is due, and those to be sent again. If two processes
   * claim, one gets the notice. This and the next three methods are no commits: `version` and `activeAt` stay.
   */
  claimNotices(request: NoticeClaimRequest): Promise<NoticeClaims>
  /**
   * Must store the outcome of the claimed attempt, unless the notice was claimed again or deleted: then it returns false. Once
   * it is settled, the next notice of its session and webhook is due.
   */
  settleNotice(notice: Pick<NoticeRecord, 'session' | 'id' | 'attempts'>, outcome: NoticeOutcome): Promise<boolean>
  /** Lists notices, the newest first. Notices of a deleted session are deleted too. */
  listNotices(query: NoticeQuery): Promise<Page<NoticeRecord>>
  /** Makes a settled notice pending and due, as it was. One that is pending stays as it is. */
  resendNotice(key: string, id: string): Promise<Found<NoticeRecord>>
  /**
   * Calls the listener after commits in the namespace, by any owner, deliveries included. Hints may be lost. Returns a dispose
   * function.
   */
  subscribe(listener: (hint: StoreHint) => void): () => void
  /** Live deltas for readers in other processes. Absent: those get a message when it is whole. */
  readonly deltas?: DeltaStore
  /** Small records of other parts, in the same namespace; usable while the store is open. */
  readonly state: StateStore
}

/** Notification that something may have changed. Hints may be lost, repeated or early, so readers read the store again. */
export interface StoreHint {
  /** Absent: hints were lost, and anything may have happened in any session. */
  readonly key?: string
  /** There may be something to claim. */
  readonly wake: boolean
  /** Live deltas were pushed, and nothing else happened. */
  readonly deltas?: true
  /** Another process has written. A store of one process never says so. */
  readonly elsewhere?: true
}

/** Deltas are never durable: they may be lost at any time, and nothing but readers may rely on them. */
export interface DeltaStore {
  /**
   * Must drop the batch unless its run is running under its epoch. Each commit of the run must remove the deltas that came
   * before it. Subscribers are told.
   */
  push(batch: DeltaBatch): Promise<void>
  /** The batches after this place, in order: of the same `base` those that reach beyond `n`, of a later one all. */
  read(key: string, after: DeltaPlace): Promise<readonly DeltaBatch[]>
}

/** A place among the deltas of a session: after the `n`-th one since `base`, the active run's own last durable event. */
export interface DeltaPlace {
  readonly base: number
  readonly n: number
}

/** Deltas that follow each other. The first one is the `n`-th since `base`. */
export interface DeltaBatch extends DeltaPlace {
  readonly key: string
  readonly runId: string
  readonly epoch: number
  readonly events: readonly DeltaEvent[]
}

/** Promises of a store: what its commits survive, how many processes may share it, and its largest record in bytes. */
export interface StoreCapabilities {
  /** The event that a commit survives: `none`, the death of the process, or the loss of power. */
  readonly durable: 'none' | 'process' | 'power'
  readonly processes: 'one' | 'many'
  readonly maxRecordBytes: number
}

/** Namespace, clock and process name with which a runtime opens a store. */
export interface StoreOpenOptions {
  /** Part of every key: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly namespace: string
  /** Clock for stored times, and for the order of due work. */
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

/** Result of a read of records without a life of their own: the value, or `missing`. */
export type Found<T> = Extract<Read<T>, { status: 'found' | 'missing' }>

/** End, start and page size of a path through the transcript tree. */
export interface PathOptions {
  /** The entry at which the path ends; null is the root. Default: the leaf of the session. */
  readonly leaf?: string | null
  /** Start with the parent of this entry. */
  readonly before?: string
  /** Entries of one page at most. */
  readonly limit?: number
}

/** Consecutive events of a log, with the range that is stored. Numbers begin at 1. */
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

/** Filters of a list of sessions. Filters are combined; an absent one matches all. */
export interface SessionQuery extends PageRequest {
  readonly agent?: string
  /** Only sessions with one of these statuses; null: only sessions without a run so far. */
  readonly status?: readonly Status[] | null
  /** True: only expired sessions; false: only the others. */
  readonly expired?: boolean
  readonly keyPrefix?: string
  /** Child sessions of this key; null: sessions that are no child. */
  readonly parent?: string | null
  /** Only sessions with activity at this time or later. */
  readonly activeSince?: number
}

export interface RunQuery extends PageRequest {
  readonly status?: readonly RunStatus[]
  /** Default false: in order of acceptance. */
  readonly newestFirst?: boolean
}

/** Filters of the runs of a session, by the status that people see. */
export interface RunsQuery extends Omit<RunQuery, 'status'> {
  readonly status?: readonly Status[]
}

/** Parent and statuses of the child runs to list. */
export interface ChildQuery extends PageRequest {
  /** One parent run, or a session for the children of all its runs. */
  readonly parent: { readonly runId: string } | { readonly session: string }
  readonly status?: readonly RunStatus[]
}

/** Kind and session of the timers to list. */
export interface TimerQuery extends PageRequest {
  readonly kind: TimerKind
  /** Only timers of this session. */
  readonly key?: string
}

/** A path of the transcript tree, named by its last entry. `at` is epoch milliseconds. */
export interface BranchRecord {
  /** Id of an entry that has no children. */
  readonly leaf: string
  /** Number of entries from the root to the leaf. */
  readonly entries: number
  /** Time of the leaf. */
  readonly at: number
}

/** Due work in a store at one time, and the time at which more is due (epoch milliseconds). */
export interface DueReport {
  /** Due timers, ordered by time and then by id. */
  readonly timers: readonly TimerRecord[]
  /** Keys of sessions that have passed their `expiresAt` and have no `expiredAt` (set by `session.expire`) yet. Ordered by `expiresAt`, then key. */
  readonly expired: readonly string[]
  /** Keys of sessions without an open run in whose inbox steering or word of children waits. */
  readonly unread: readonly string[]
  /**
   * Now, when something is due. Else the earliest time at which a timer is, a session's life ends, or the first run of a
   * session may be claimed: its `notBefore`, or the end of its takeover delay. Ends of leases are no part of it.
   */
  readonly nextAt: number | null
  /** Time at which the first notice of any webhook is due. Absent: none is pending. It is not part of `nextAt`. */
  readonly noticesAt?: number
}

/** Times (epoch milliseconds) before which finished records are deleted. */
export interface PruneRules {
  /**
   * Runs that ended before then and were accepted before the first run that is kept, with their inputs and input ids, and
   * the log before the first event of that run (all of it, when no run is kept). With them `taken` rows of the inbox from
   * before then. Entries and rows of the ledger stay as long as their session, definitions as long as a run refers to them.
   */
  readonly runsEndedBefore: number
  /** Pending notices that were queued before then: no process has sent them. Settled ones go as runs do, by the time of their end. */
  readonly noticesQueuedBefore?: number
}

/** Counts of deleted records. */
export interface PruneReport {
  readonly runs: number
  readonly events: number
  /** The limit was reached: there may be more. */
  readonly more: boolean
}

/** Owner, lease (ms) and filters of a claim of queued and lost runs. */
export interface ClaimRequest {
  readonly owner: string
  readonly max: number
  readonly leaseMs: number
  readonly agents: readonly string[]
  /** Runs that the owner executes: one of its own that is not among them is lost, as one of another owner is. */
  readonly holds: readonly string[]
  /** Only this run. */
  readonly runId?: string
  /**
   * Only runs of these sessions. The cost must not grow with the number of other sessions. A claim may pass over other
   * sessions that are being written to; over these it may only if such a write takes long.
   */
  readonly keys?: readonly string[]
  /** With `keys`: runs of other sessions too. Default false. */
  readonly others?: boolean
  /**
   * Limit of running runs per tenant. Queued runs above it stay queued and must not block other tenants. The session key
   * `tenant:<id>:…` names the tenant. Runs with a parent neither count nor are limited, because their parents wait for them.
   */
  readonly maxRunsPerTenant?: number
}

/** A claimed run with its fencing token. A commit under an older token is refused as `fenced`. */
export interface Lease {
  readonly runId: string
  readonly epoch: number
}

/** A run that was claimed, with its session and inbox as of the claim. */
export interface Claim {
  readonly run: RunRecord
  readonly session: SessionRecord
  /** Status before the claim. `running`: its owner was lost. */
  readonly previous: 'queued' | 'running'
  /** Inbox rows of the session in order of acceptance, without `taken` rows. */
  readonly inbox: readonly InboxRecord[]
}

/** Result of renewing one lease: whether it is still held, and a stop request if there is one. */
export interface LeaseState {
  readonly runId: string
  readonly held: boolean
  readonly stopping?: StopRequest
}
