import type { DurableEvent, StoredMessage } from '@bowline/agent-loop'
import type { CommitMark } from '@bowline/agent-loop/events'
import type { Cost, JSONObject, JSONValue, Usage } from '@bowline/llm'
import type { NoticeHook } from './notices.ts'
import type {
  EntryBody,
  EntryNode,
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
  StopRequest,
  TimerRecord,
  ToolCallRecord,
} from './records.ts'

/**
 * Writes to one session, applied atomically. The store must return `ok` and change nothing if the batch has the same id as the
 * last batch of the session, of a run that the batch inserts, or of a run that its fence names. A repeat of the batch that
 * deleted its session is refused as `deleted` (`missing` if it left nothing).
 */
export interface Batch {
  readonly id: string
  readonly key: string
  readonly expect: readonly Expect[]
  readonly writes: readonly Write[]
  /** Writes to other sessions. */
  readonly deliver?: readonly Delivery[]
  /**
   * Webhooks to notify, in addition to the one in the settings of the session. For each, the store must create the notices that
   * `noticesOfRun`, `noticesOfEvents` and `noticeOfExpiry` return, in the order of the writes.
   */
  readonly notify?: readonly NoticeHook[]
}

/**
 * Writes to another session, applied exactly once and in one atomic step, together with their batch. A store that cannot write
 * two sessions together applies them before the commit returns, and after a crash when it is opened again. The delivery is
 * dropped if a condition does not hold, if the session is deleted, or if an `inputId` is repeated. The batch stays valid.
 */
export interface Delivery {
  /** Unique among all deliveries. */
  readonly id: string
  readonly to: string
  readonly when?: readonly Expect[]
  readonly writes: readonly Write[]
  readonly notify?: readonly NoticeHook[]
}

/** A condition of a batch. If it does not hold, the store writes nothing and refuses the batch with the reason that the variant names. */
export type Expect =
  /**
   * `id` is the incarnation; null: the session must not exist. Else `conflict` (or `missing`, `deleted`), also if the version
   * differs. `alive`: it must not have expired. Else `expired`, which is returned only if id and version match.
   */
  | { readonly that: 'session'; readonly id: string | null; readonly version?: number; readonly alive?: true }
  /** The run is running under exactly this epoch. Else `fenced`. */
  | { readonly that: 'fence'; readonly runId: string; readonly epoch: number }
  /** No run of the session is open; with `exceptCompaction`, compactions do not count. Else `busy`. */
  | { readonly that: 'idle'; readonly exceptCompaction?: true }
  /** The active path ends here. Else `conflict`. */
  | { readonly that: 'leaf'; readonly entryId: string | null }
  /** The inbox has no row of these kinds. Else `inputs-waiting`. */
  | { readonly that: 'inbox-empty'; readonly kinds: readonly InboxKind[] }
  /** The inbox has fewer than `max` rows of this kind. Else `queue-full`. */
  | { readonly that: 'inbox-below'; readonly kind: InboxKind; readonly max: number }
  /** The timer exists and, if `dueAt` is given, is due at that time. Else `conflict`. */
  | { readonly that: 'timer'; readonly id: string; readonly dueAt?: number | null }
  /** No run but this one is open. Else `runs-queued`. */
  | { readonly that: 'none-queued'; readonly except: string }
  /** A run other than this one is open. Else `nothing-queued`. */
  | { readonly that: 'some-queued'; readonly except: string }
  /** Fewer than `max` runs are queued. Else `queue-full`. */
  | { readonly that: 'queue-below'; readonly max: number }
  /** The run has one of these statuses. Else `conflict`. With `notStopping`, it has no stop request. Else `stopping`. */
  | { readonly that: 'run'; readonly runId: string; readonly status: readonly RunStatus[]; readonly notStopping?: true }

/** One change of a session in a batch. A store applies all writes of a batch in order, or none. */
export type Write =
  /** Creates the session, if it does not exist. The numbers of an earlier session under the key continue. */
  | { readonly op: 'session.ensure'; readonly session: NewSession }
  /**
   * Deletes the session. Its numbers stay, so that a later session under the key continues with them; with `leavesNothing` they
   * are deleted too. Uses up one more number: readers get it as the event at which they end. Must be the last write of its
   * batch.
   */
  | { readonly op: 'session.delete'; readonly at: number; readonly leavesNothing?: true }
  /** Marks the session as expired: sets `expiredAt` to `expiresAt`, or to now if that is earlier or if there is none. */
  | { readonly op: 'session.expire' }
  /** Must refuse a leaf that is not an entry of the session (`conflict`). */
  | { readonly op: 'session.patch'; readonly patch: SessionPatch }
  /** Parents must exist or precede the entry in the batch. A repeated id is refused with `conflict`. The leaf moves to the last entry. */
  | { readonly op: 'entry.append'; readonly entries: readonly NewEntry[] }
  /** The store assigns consecutive numbers, in order. */
  | { readonly op: 'event.append'; readonly events: readonly NewEvent[] }
  /**
   * The store assigns `n`. If the session has a run with the same `inputId`, or the inbox row `steer:<inputId>` that this batch
   * does not take, the whole batch is a no-op: equal hashes return `ok` with `existing`, other hashes `id-reused`. Two runs
   * with one `inputId` in a batch are refused (`id-reused`).
   */
  | { readonly op: 'run.insert'; readonly run: NewRun }
  /**
   * Must refuse a move that is not in `runMoves` (`conflict`), a second holding run (`busy`), and the end of a run that has a
   * call without an outcome (`open-calls`). The `status` and `outcome` of the session follow, as `SessionRecord` describes
   * them.
   */
  | { readonly op: 'run.patch'; readonly runId: string; readonly patch: RunPatch }
  /** Inserts or replaces rows. Must refuse to change a settled one (`conflict`). */
  | { readonly op: 'call.put'; readonly calls: readonly ToolCallRecord[] }
  /** Must refuse an id that exists (`inbox`). The `inputId` of steering with a `hash` is checked for repeats like that of a run. */
  | { readonly op: 'inbox.put'; readonly rows: readonly InboxRecord[] }
  /** Ignores ids that do not exist. */
  | { readonly op: 'inbox.take'; readonly ids: readonly string[] }
  /** Replaces existing rows, including their kind; their place and time stay. Ignores ids that do not exist. */
  | { readonly op: 'inbox.patch'; readonly rows: readonly InboxRecord[] }
  /** Content-addressed: does nothing if the hash exists. */
  | { readonly op: 'definition.put'; readonly hash: string; readonly body: JSONObject }
  /** Inserts or replaces. The id of a timer belongs to its session. */
  | { readonly op: 'timer.put'; readonly timers: readonly NewTimer[] }
  /** Ignores ids that do not exist. */
  | { readonly op: 'timer.drop'; readonly ids: readonly string[] }

/** Values of a session that `session.ensure` creates. `at` is epoch milliseconds. */
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

/** A timer of the session of the batch. `dueAt` is epoch milliseconds. */
export type NewTimer = Omit<TimerRecord, 'session'>

/**
 * Changed fields of a session. Usage and cost are added to the stored totals. A cost is ignored if its currency differs from
 * that of the first cost.
 */
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

/** An entry to append to the transcript tree. A tool result refers to its ledger row and does not repeat the output. */
export type NewEntry = Omit<EntryNode, 'n'> &
  ({ readonly type: 'message'; readonly message: StoredMessage } | { readonly type: 'message'; readonly call: CallKey } | EntryBody)

/** Identity of a tool call in the ledger: run, step (from 0) and call id. */
export interface CallKey {
  readonly runId: string
  readonly step: number
  readonly toolCallId: string
}

/** An event without the fields that are stored in another record. Readers get the complete event. */
export interface NewEvent {
  readonly event: PartialEvent
  /** `entryId` and `call` fill in `message`, `runInput` fills in `input`. */
  readonly refers?: { readonly entryId: string } | { readonly call: CallKey } | { readonly runInput: string }
}

/** A durable event that may lack the field that its reference fills in. */
export type PartialEvent = { readonly type: DurableEvent['type']; readonly at: number } & JSONObject

/** Values of a run that `run.insert` queues. The store assigns its order `n`. Times are epoch milliseconds. */
export interface NewRun {
  readonly id: string
  readonly kind: RunKind
  /** Default: the lane of the kind (`laneOf`). */
  readonly lane?: Lane
  readonly inputId?: string
  readonly inputHash: string
  readonly input: JSONValue
  readonly options?: RunOptionsRecord
  readonly parent?: RunParent
  readonly origin?: RunParent
  readonly notBefore?: number
  readonly at: number
}

/**
 * Changed fields of a run. Null removes a field. A terminal status sets `endedAt`; a status other than `running` releases owner
 * and lease.
 */
export interface RunPatch {
  readonly status?: RunStatus
  readonly reason?: RunRecord['reason'] | null
  readonly turn?: number
  readonly step?: number
  readonly openMessageId?: string | null
  readonly stop?: StopRequest
  readonly pendingToolCalls?: RunRecord['pendingToolCalls']
  readonly pendingApprovals?: RunRecord['pendingApprovals']
  /** Removes questions from both lists: ids of approvals, and ids of calls with their path in front (`a/b/c`). */
  readonly answered?: readonly string[]
  readonly turnState?: RunRecord['turnState'] | null
  readonly rest?: RunRecord['rest'] | null
  readonly error?: RunRecord['error'] | null
  readonly usage?: Usage
  readonly cost?: Cost | null
  /** Hash of the definition. Null: the run uses the definition that its agent has when the run starts. */
  readonly definition?: string | null
  readonly notBefore?: number | null
  readonly startedAt?: number
  readonly endedAt?: number
  /** Resets the count, because the run has made progress. */
  readonly attempts?: 0
}

/** Result of a commit: the new version and the event numbers, or the reason of a refusal. After a refusal nothing was written. */
export type CommitResult =
  | {
      readonly ok: true
      readonly sessionId: string
      readonly version: number
      /** Numbers of the events of this batch; `lastSeq < firstSeq` when it has none. */
      readonly firstSeq: number
      readonly lastSeq: number
      /** Mark of the first of these events. The runtime that set the mark adds it; stores return none. */
      readonly mark?: CommitMark
      readonly existing?: { readonly runId: string }
      /** The commit created notices, in this session or by a delivery. A hint to send them, which a repeated commit may omit. */
      readonly notices?: true
    }
  | { readonly ok: false; readonly reason: CommitRefusal }

/** Reason for which a store refuses a batch. `Expect` and `Write` say which condition gives which reason. */
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
  | 'nothing-queued'
  | 'queue-full'
