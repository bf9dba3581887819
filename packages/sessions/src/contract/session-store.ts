import type { DeltaEvent } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { Batch, CommitResult } from './batch.ts'
import type { NoticeClaimRequest, NoticeClaims, NoticeOutcome, NoticeQuery, NoticeRecord } from './notices.ts'
import type { Page, PageRequest } from './paging.ts'
import type {
  EntryRecord,
  InboxKind,
  InboxRecord,
  RunRecord,
  RunStatus,
  SessionRecord,
  Status,
  StopRequest,
  StoredEvent,
  TimerKind,
  TimerRecord,
  ToolCallRecord,
} from './records.ts'
import type { StateStore } from './state-store.ts'

/**
 * Storage of sessions. Every write goes through `commit`; every value read or written must be a copy. Refusals are returned,
 * not thrown. If a store cannot be reached, it throws `store-unavailable` and the outcome of a commit is unknown: the caller
 * retries the batch under the same id. A store must not hold a transaction open across anything but its own queries.
 */
export interface SessionStore {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Must check, migrate and lock. Called once by each runtime. Several runtimes may open one memory store. */
  open(options: StoreOpenOptions): Promise<void>
  close(): Promise<void>
  /** Must apply the batch completely or not at all, and test its expectations in the same atomic step. */
  commit(batch: Batch): Promise<CommitResult>
  /**
   * Makes the first open run of up to `max` sessions `running`, with `epoch + 1`, this owner and a lease. The first run is the
   * one that holds the session, else the one with the smallest `place`; if it cannot be claimed, neither can the runs after it.
   * A queued run can be claimed from its `notBefore` on. A running one can be claimed if its lease has ended by the store's
   * clock (on an exclusive store: if it has another owner) and `takeoverDelayMs` have passed since its last claim (0, then 1 s,
   * 2, 4 … 30 s, as its `attempts` rise). Its session must not have expired, and its agent must be in `agents`. Taking over a
   * running run must raise `attempts` and `totalAttempts` by one. The session's `version` rises; its expiry stays. If two
   * owners claim at once, one must get the run. Must return the claims that it knows to be stored, even if it then fails.
   */
  claim(request: ClaimRequest): Promise<readonly Claim[]>
  /** Must renew the leases that are still held under their epoch. Returns for each whether it is held, and its stop request. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseState[]>
  readSession(key: string): Promise<Read<SessionRecord>>
  /** Returns the path from the leaf (default: the session's own) to the root, newest first. */
  readPath(key: string, options?: PathOptions): Promise<Page<EntryRecord>>
  /** Returns events with `seq > after`, oldest first. */
  readEvents(key: string, after: number, limit: number): Promise<EventPage>
  readRun(runId: string): Promise<Found<RunRecord>>
  /** Returns the ledger of a run in order of step and index; `step` limits it to one step. */
  readCalls(runId: string, step?: number): Promise<readonly ToolCallRecord[]>
  /** Returns the newest call of the session with this id. */
  readCall(key: string, toolCallId: string): Promise<Found<ToolCallRecord>>
  /** Returns the call for which this approval was requested, in any session. */
  readApproval(approvalId: string): Promise<Found<ToolCallRecord>>
  readInbox(key: string, kinds: readonly InboxKind[]): Promise<readonly InboxRecord[]>
  readDefinition(hash: string): Promise<JSONObject | undefined>
  /** Lists sessions, newest activity first, each as `readSession` returns it: an expired one has `expiredAt`. */
  listSessions(query: SessionQuery): Promise<Page<SessionRecord>>
  listRuns(key: string, query?: RunQuery): Promise<Page<RunRecord>>
  /** Lists the runs with this parent, even if it is deleted, ordered by `createdAt` and then by id. */
  listChildren(query: ChildQuery): Promise<Page<RunRecord>>
  /** Lists the last entries of all paths, in order of creation. A path that grows between two pages is listed again. */
  listBranches(key: string, query?: PageRequest): Promise<Page<BranchRecord>>
  /** Lists timers of one kind, due or not, ordered by session key and then by id. */
  listTimers(query: TimerQuery): Promise<Page<TimerRecord>>
  /**
   * Returns due work by the store's clock, the earliest first, at most `limit` of each kind, and the time of the next. With
   * `limit` 0 it returns only that time.
   */
  due(limit: number): Promise<DueReport>
  /** Lists keys of sessions whose first run can be claimed now, agents and tenants apart: lost runs first, then the longest waiting. */
  listClaimable(query?: PageRequest): Promise<Page<string>>
  /**
   * Must delete records by the rules in one small step: at most `limit` sessions are changed. This is no commit: `version` and
   * `activeAt` stay.
   */
  prune(rules: PruneRules, limit: number): Promise<PruneReport>
  /**
   * Returns up to `max` due notices, the earliest first, each with one more attempt, and makes each due again after `leaseMs`.
   * For each session and webhook, only the first pending notice is due, and any that are to be sent again. If two processes
   * claim at once, one gets the notice. This and the next three methods are no commits: `version` and `activeAt` stay.
   */
  claimNotices(request: NoticeClaimRequest): Promise<NoticeClaims>
  /**
   * Must store the outcome of the claimed attempt and return true. If the notice was claimed again or deleted, returns false.
   * When a notice is settled, the next one of its session and webhook becomes due.
   */
  settleNotice(notice: Pick<NoticeRecord, 'session' | 'id' | 'attempts'>, outcome: NoticeOutcome): Promise<boolean>
  /** Lists notices, the newest first. Notices of a deleted session are deleted too. */
  listNotices(query: NoticeQuery): Promise<Page<NoticeRecord>>
  /** Makes a settled notice pending and due now, under the same id. A pending notice stays as it is. */
  resendNotice(key: string, id: string): Promise<Found<NoticeRecord>>
  /**
   * Calls the listener after commits in the namespace, by any owner, including deliveries. Hints may be lost. Returns a dispose
   * function.
   */
  subscribe(listener: (hint: StoreHint) => void): () => void
  /** Live deltas for readers in other processes. Absent: they get a message only when it is complete. */
  readonly deltas?: DeltaStore
  /** Small records of other components, in the same namespace. Usable while the store is open. */
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
  /** Another process has written. A store for one process never sets it. */
  readonly elsewhere?: true
}

/** Live deltas. They are not durable: they may be lost at any time, and only readers may rely on them. */
export interface DeltaStore {
  /**
   * Must drop the batch unless its run is running under its epoch. Each commit of the run must remove the deltas before it.
   * Must notify subscribers.
   */
  push(batch: DeltaBatch): Promise<void>
  /** Returns the batches after this position, in order: those of the same `base` that reach beyond `n`, and all of a later `base`. */
  read(key: string, after: DeltaPlace): Promise<readonly DeltaBatch[]>
}

/** A position among the deltas of a session: after the `n`-th one since `base`, the last durable event of the active run itself. */
export interface DeltaPlace {
  readonly base: number
  readonly n: number
}

/** Consecutive deltas. The first one is the `n`-th since `base`. */
export interface DeltaBatch extends DeltaPlace {
  readonly key: string
  readonly runId: string
  readonly epoch: number
  readonly events: readonly DeltaEvent[]
}

/** Promises of a store: what its commits survive, how many processes may share it, and its largest record in bytes. */
export interface StoreCapabilities {
  /** The failure that commits survive: `none`, death of the process, or loss of power. */
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
  /** `host`: others decide what this process claims, so it neither shows that it is alive nor watches other processes. Default `own`. */
  readonly placement?: Placement
}

/**
 * Decides which process works on a session. `own`: the processes on a store claim work by themselves and take over from dead
 * ones. `host`: an engine tells a process when to work on which session.
 */
export type Placement = 'own' | 'host'

/**
 * Result of a read. An expired session can be read, but batches that expect it `alive` are refused. It is expired from its
 * `expiresAt` on, marked by `session.expire` or not, and cannot be revived.
 */
export type Read<T> =
  | { readonly status: 'found'; readonly value: T }
  | { readonly status: 'missing' }
  | { readonly status: 'expired'; readonly at: number; readonly value: T }
  | { readonly status: 'deleted'; readonly at: number }

/** Result of a read of records that cannot expire: the value, or `missing`. */
export type Found<T> = Extract<Read<T>, { status: 'found' | 'missing' }>

/** End, start and page size of a path through the transcript tree. */
export interface PathOptions {
  /** Last entry of the path; null is the root. Default: the leaf of the session. */
  readonly leaf?: string | null
  /** Starts with the parent of this entry. */
  readonly before?: string
  /** Highest number of entries of a page. */
  readonly limit?: number
}

/** Consecutive events of a log, with the range that is stored. Numbers begin at 1. */
export interface EventPage {
  readonly events: readonly StoredEvent[]
  readonly firstSeq: number
  /** Number of the newest event; 0 if there is none. */
  readonly lastSeq: number
  /** Id of the incarnation of the session; absent if there is none. */
  readonly sessionId?: string
  /** Set if the session was deleted together with its events. `firstSeq` is then the number of the next event. */
  readonly deletedAt?: number
}

/** Filters of a list of sessions. Filters are combined; an absent one matches all. */
export interface SessionQuery extends PageRequest {
  readonly agent?: string
  /** Only sessions with one of these statuses; null: only sessions that have had no run. */
  readonly status?: readonly Status[] | null
  /** True: only expired sessions. False: only sessions that have not expired. */
  readonly expired?: boolean
  /** The keys of a tenant begin with `tenant:<id>:`. Only these prefixes are fast for more than 500 sessions. */
  readonly keyPrefix?: string
  /** Only child sessions of this key; null: only sessions without a parent. */
  readonly parent?: string | null
  /** Only sessions with activity at this time or later. */
  readonly activeSince?: number
}

export interface RunQuery extends PageRequest {
  readonly status?: readonly RunStatus[]
  /** Default false: in order of acceptance. */
  readonly newestFirst?: boolean
}

/** Filters of the runs of a session, by public status. */
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
  /**
   * Keys of sessions that have passed their `expiresAt` and have no `expiredAt` (set by `session.expire`) yet. Ordered by
   * `expiresAt`, then key.
   */
  readonly expired: readonly string[]
  /** Keys of sessions without an open run, but with waiting steering or notifications of children in the inbox. */
  readonly unread: readonly string[]
  /**
   * The present time if something is due. Else the earliest time at which a timer is due, a session expires, or the first run
   * of a session can be claimed: its `notBefore`, or the end of its takeover delay. Ends of leases do not count.
   */
  readonly nextAt: number | null
  /** Time at which the first notice of any webhook is due. Absent: none is pending. It is not part of `nextAt`. */
  readonly noticesAt?: number
}

/** Times (epoch milliseconds) before which finished records are deleted. */
export interface PruneRules {
  /**
   * Deletes runs that ended before this time and were accepted before the first run that is kept, with their inputs and input
   * ids. Deletes the log before the first event of that kept run (the whole log if no run is kept), and `taken` rows of the
   * inbox from before this time. Entries and ledger rows stay as long as their session, definitions as long as a run refers to
   * them.
   */
  readonly runsEndedBefore: number
  /**
   * Deletes pending notices that were queued before this time and never sent. Settled notices are deleted as runs are, by the
   * time of their end.
   */
  readonly noticesQueuedBefore?: number
}

/** Counts of deleted records. */
export interface PruneReport {
  readonly runs: number
  readonly events: number
  /** True: the limit was reached, and there may be more. */
  readonly more: boolean
}

/** Owner, lease (ms) and filters of a claim of queued and lost runs. */
export interface ClaimRequest {
  readonly owner: string
  readonly max: number
  readonly leaseMs: number
  readonly agents: readonly string[]
  /**
   * Runs that the owner executes. It must not get one of them, even if the lease has ended: a process that slept goes on with what
   * no other process has claimed. A running run of this owner that is not in the list counts as lost, like one of another owner.
   */
  readonly holds: readonly string[]
  /** Claims only this run. */
  readonly runId?: string
  /**
   * Claims only runs of these sessions. The cost must not grow with the number of other sessions. A claim may skip any other
   * session while a commit writes to it, but a session of this list only if that commit takes long.
   */
  readonly keys?: readonly string[]
  /** With `keys`: claims runs of other sessions too. Default false. */
  readonly others?: boolean
  /**
   * Version of the one session in `keys`, as read: its running run is lost, although its lease has not ended, if the session still
   * has this version. For a host that lets one worker at a time work on a session.
   */
  readonly lostAt?: number
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
