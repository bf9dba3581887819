import type { Generated, Insertable, Kysely, Selectable, Transaction } from 'kysely'
import type { EntryRecord, InboxKind, RunKind, RunStatus, SessionStatus, ToolCallRecord } from '../../store/records.ts'

/** The tables. A column of type `Json` holds the JSON text of a value. */
export interface Tables {
  readonly session: SessionTable
  readonly entry: EntryTable
  readonly event: EventTable
  readonly run: RunTable
  readonly run_input: RunInputTable
  readonly tool_call: ToolCallTable
  readonly inbox: InboxTable
  readonly meta: MetaTable
}

export type Database = Kysely<Tables>
export type Connection = Transaction<Tables>

type Json = string

/** Rows of other tables refer to `row`: it is shorter than the key, and no other namespace has it. */
interface SessionTable {
  readonly row: Generated<number>
  readonly namespace: string
  readonly key: string
  readonly id: string
  readonly agent: string
  readonly owner: string | null
  readonly status: SessionStatus
  readonly version: number
  readonly first_seq: number
  readonly next_seq: number
  readonly next_run: number
  readonly next_entry: number
  readonly leaf: string | null
  readonly turns: number
  readonly usage: Json
  readonly metadata: Json
  readonly created_at: number
  readonly active_at: number
  readonly last_batch: Json | null
}

/** Either `body` or the ledger row of `call_…` holds the message; a compaction is its `body`. */
interface EntryTable {
  readonly session: number
  readonly id: string
  readonly n: number
  readonly parent_id: string | null
  readonly type: EntryRecord['type']
  readonly at: number
  readonly run_id: string | null
  readonly body: Json | null
  readonly call_run: number | null
  readonly call_step: number | null
  readonly call_id: string | null
}

/** `body` lacks what the entry, the ledger row or the input of the run fills in. */
interface EventTable {
  readonly session: number
  readonly seq: number
  readonly body: Json
  readonly entry_id: string | null
  readonly call_run: number | null
  readonly call_step: number | null
  readonly call_id: string | null
  readonly input_run: number | null
}

interface RunTable {
  readonly row: Generated<number>
  readonly session: number
  readonly namespace: string
  readonly id: string
  readonly n: number
  readonly first_seq: number
  readonly kind: RunKind
  readonly status: RunStatus
  readonly reason: string | null
  readonly epoch: number
  readonly owner: string | null
  readonly lease_until: number | null
  readonly attempts: number
  readonly total_attempts: number
  readonly input_id: string | null
  readonly input_hash: string
  readonly turn: number | null
  readonly step: number
  readonly open_message_id: string | null
  readonly stop: Json | null
  readonly pending_tool_calls: Json
  readonly pending_approvals: Json | null
  readonly turn_state: Json | null
  readonly rest: Json | null
  readonly error: Json | null
  readonly usage: Json
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly last_batch: Json | null
}

/** Apart from the run, whose row is written again with every commit. */
interface RunInputTable {
  readonly run: number
  readonly body: Json
}

export interface ToolCallTable {
  readonly run: number
  readonly step: number
  readonly tool_call_id: string
  readonly session: number
  readonly index: number
  readonly name: string
  readonly effect: ToolCallRecord['effect']
  readonly idempotency_key: string
  readonly input_hash: string
  readonly state: ToolCallRecord['state']
  readonly status: NonNullable<ToolCallRecord['status']> | null
  readonly outcome: Json | null
  readonly answer_hash: string | null
  readonly attempt: number
  readonly started_at: number | null
  readonly deadline_at: number | null
  readonly terminate: 1 | null
  readonly input: Json | null
  readonly approval: Json | null
  /** That of `approval`, to be found by. */
  readonly approval_id: string | null
}

/** In the order of `version` and `place`: that of the commits that put the rows there. */
export interface InboxTable {
  readonly session: number
  readonly id: string
  readonly kind: InboxKind
  readonly at: number
  readonly body: Json
  readonly version: number
  readonly place: number
}

interface MetaTable {
  readonly name: string
  readonly value: string
}

export type SessionRow = Selectable<SessionTable>
export type RunRow = Selectable<RunTable>
export type NewRunRow = Insertable<RunTable>
