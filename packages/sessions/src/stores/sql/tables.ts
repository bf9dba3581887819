import type { Generated, Kysely, Selectable, Transaction } from 'kysely'
import type { NoticeState, NoticeType } from '../../contract/notices.ts'
import type { EntryRecord, InboxKind, RunKind, RunStatus, Status, TimerKind, ToolCallRecord } from '../../contract/records.ts'

/** The tables. A column of type `Json` holds the JSON text of a value. */
export interface Tables {
  readonly session: SessionTable
  readonly session_state: SessionStateTable
  readonly entry: EntryTable
  readonly event: EventTable
  readonly run: RunTable
  readonly run_state: RunStateTable
  readonly run_input: RunInputTable
  readonly tool_call: ToolCallTable
  readonly inbox: InboxTable
  readonly timer: TimerTable
  readonly notice: NoticeTable
  readonly tombstone: TombstoneTable
  readonly definition: DefinitionTable
  readonly state: StateTable
  readonly meta: MetaTable
  readonly process: ProcessTable
  readonly delta: DeltaTable
}

/** The query builder over the tables of a store. */
export type Database = Kysely<Tables>
/** The query builder inside a transaction. */
export type Connection = Transaction<Tables>

type Json = string

/**
 * Columns of a session that seldom change, and those that lists filter and sort by; every commit writes its `session_state`. Other
 * tables refer to `row`, which is shorter than the key and unique across namespaces.
 */
interface SessionTable {
  readonly row: Generated<number>
  readonly namespace: string
  readonly key: string
  readonly id: string
  readonly agent: string
  readonly owner: string | null
  readonly metadata: Json
  readonly parent: string | null
  readonly created_at: number
  /** Tenant that the key names. */
  readonly tenant: string | null
  /** Section of its lists. */
  readonly section: number
  readonly status: Status | null
  readonly active_at: number
}

/** `body` holds the fields of the record without a column. */
interface SessionStateTable {
  readonly session: number
  /** Copy of the column in `session`, for the index by expiry. */
  readonly namespace: string
  readonly version: number
  readonly expires_at: number | null
  readonly expired_at: number | null
  readonly next_entry: number
  readonly body: Json
  readonly batch_id: string | null
  readonly batch: Json | null
}

/**
 * The message is in `body`, or in the outcome of the call that `call_…` names; a compaction is in `body`. `run` is the row of a run
 * of this session; `run_id` is the id of a run of another one.
 */
interface EntryTable {
  readonly session: number
  readonly id: string
  readonly n: number
  readonly parent_id: string | null
  readonly type: EntryRecord['type']
  readonly at: number
  readonly run: number | null
  readonly run_id: string | null
  readonly body: Json | null
  readonly call_run: number | null
  readonly call_step: number | null
  readonly call_id: string | null
}

/** All events of one commit. `seq` is the number of the last one, `run` the row of the run if all name the same. */
interface EventTable {
  readonly session: number
  readonly seq: number
  readonly run: number | null
  readonly body: Json
}

/** Columns of a run that seldom change; a commit of the run writes its `run_state`. */
interface RunTable {
  readonly row: Generated<number>
  readonly session: number
  readonly namespace: string
  readonly id: string
  readonly n: number
  readonly first_seq: number
  readonly kind: RunKind
  readonly place: number
  readonly status: RunStatus
  readonly not_before: number | null
  /** Null: no tenant, or the run has a parent. */
  readonly tenant: string | null
  readonly parent_run: string | null
  readonly parent_session: string | null
  readonly input_id: string | null
  readonly input_hash: string
  readonly created_at: number
  readonly ended_at: number | null
}

/** `body` holds the fields of the record without a column here or in `run`. */
interface RunStateTable {
  readonly run: number
  readonly epoch: number
  readonly owner: string | null
  readonly lease_until: number | null
  readonly stop: Json | null
  readonly attempts: number
  readonly definition: string | null
  readonly open_calls: number
  readonly body: Json
  readonly batch_id: string | null
  readonly batch: Json | null
}

interface RunInputTable {
  readonly run: number
  readonly body: Json
}

/** `rest` holds the fields of the record without a column. Null: none. */
interface ToolCallTable {
  readonly run: number
  readonly step: number
  readonly tool_call_id: string
  readonly session: number
  readonly index: number
  readonly name: string
  readonly effect: ToolCallRecord['effect']
  /** Null: derived from run, step and id. */
  readonly idempotency_key: string | null
  readonly input_hash: string
  readonly state: ToolCallRecord['state']
  readonly status: NonNullable<ToolCallRecord['status']> | null
  readonly attempt: number
  readonly started_at: number | null
  readonly deadline_at: number | null
  /** Id of the approval, for lookups. */
  readonly approval_id: string | null
  readonly rest: Json | null
  readonly outcome: Json | null
}

/** Ordered by `version` and `place`: the order of the commits that added the rows. */
interface InboxTable {
  readonly session: number
  readonly id: string
  readonly kind: InboxKind
  readonly at: number
  readonly body: Json
  readonly version: number
  readonly place: number
}

interface TimerTable {
  readonly namespace: string
  readonly session: number
  /** Copy of the column in `session`, for lists. */
  readonly key: string
  readonly id: string
  readonly kind: TimerKind
  readonly due_at: number | null
  readonly body: Json
}

/** `due_at` is null if the notice is settled or waits for an earlier one. */
interface NoticeTable {
  readonly namespace: string
  readonly session: number
  readonly n: number
  readonly hook: string
  /** The receiver when the notice was queued. */
  readonly receiver: string
  readonly type: NoticeType
  readonly at: number
  readonly body: Json
  readonly state: NoticeState
  readonly attempts: number
  readonly queued_at: number
  readonly due_at: number | null
  readonly settled_at: number | null
  readonly error: string | null
}

/** Numbers of a deleted session, which a new session with its key continues. */
interface TombstoneTable {
  readonly namespace: string
  readonly key: string
  readonly version: number
  readonly next_seq: number
  readonly next_run: number
  readonly deleted_at: number
}

interface DefinitionTable {
  readonly namespace: string
  readonly hash: string
  readonly body: Json
}

/** Without a value, only the version remains, so that it is not used again. */
export interface StateTable {
  readonly namespace: string
  readonly space: string
  readonly id: string
  readonly version: number
  readonly value: Json | null
  readonly used_at: number
  readonly expires_at: number | null
  /** Set only if the record can be searched. */
  readonly search_group: string | null
  readonly words: string | null
}

/** Processes that are alive, or died and are not taken over yet. Used only if several processes share a database. */
interface ProcessTable {
  readonly namespace: string
  readonly name: string
  readonly owner: string
  readonly lock_key: string
  readonly started_at: number
}

/** Live deltas of running runs. Used only if several processes share a database. */
interface DeltaTable {
  readonly session: number
  readonly base: number
  readonly n: number
  readonly run: number
  readonly epoch: number
  /** Number of events in the body. */
  readonly events: number
  readonly body: Json
}

export interface MetaTable {
  readonly name: string
  readonly value: string
}

export type NewSessionRow = Omit<SessionTable, 'row'> & { readonly row: number }
export type NewRunRow = Omit<RunTable, 'row'> & { readonly row: number }
export type SessionRow = Selectable<SessionTable> & Omit<SessionStateTable, 'session' | 'namespace'>
export type RunRow = Selectable<RunTable> & Omit<RunStateTable, 'run'>
export type {
  DefinitionTable,
  DeltaTable,
  EntryTable,
  EventTable,
  InboxTable,
  NoticeTable,
  ProcessTable,
  RunInputTable,
  RunStateTable,
  RunTable,
  SessionStateTable,
  SessionTable,
  TimerTable,
  TombstoneTable,
  ToolCallTable,
}
