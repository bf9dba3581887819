import type { JSONValue } from '@bowline/llm'
import type { Insertable, Selectable } from 'kysely'
import type { InboxRecord, RunRecord, SessionRecord, ToolCallRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import type { RunState } from '../rules.ts'
import type { InboxTable, NewRunRow, RunRow, SessionRow, ToolCallTable } from './tables.ts'

/** Absent fields of a record are null in its row. */
type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> }

function withoutNulls<T extends object>(fields: T): Partial<WithoutNulls<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<WithoutNulls<T>>
}

function optionalText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

function optionalValue<T>(text: string | null, where: string): T | null {
  return text === null ? null : parseStored<T>(text, where)
}

export function sessionRecord(row: SessionRow): SessionRecord {
  const where = `The session ${row.key}`
  return {
    key: row.key,
    id: row.id,
    agent: row.agent,
    ...withoutNulls({ owner: row.owner }),
    status: row.status,
    version: row.version,
    firstSeq: row.first_seq,
    nextSeq: row.next_seq,
    nextRun: row.next_run,
    leaf: row.leaf,
    turns: row.turns,
    usage: parseStored(row.usage, where),
    metadata: parseStored(row.metadata, where),
    createdAt: row.created_at,
    activeAt: row.active_at,
  }
}

/** The columns of a session that commits change. */
export function sessionColumns(record: SessionRecord) {
  return {
    status: record.status,
    version: record.version,
    first_seq: record.firstSeq,
    next_seq: record.nextSeq,
    next_run: record.nextRun,
    leaf: record.leaf,
    turns: record.turns,
    usage: JSON.stringify(record.usage),
    metadata: JSON.stringify(record.metadata),
    active_at: record.activeAt,
  }
}

export function runState(row: RunRow, session: string): RunState {
  const where = `The run ${row.id}`
  const optional = {
    reason: row.reason as RunRecord['reason'] | null,
    owner: row.owner,
    leaseUntil: row.lease_until,
    inputId: row.input_id,
    turn: row.turn,
    openMessageId: row.open_message_id,
    stop: optionalValue<NonNullable<RunRecord['stop']>>(row.stop, where),
    error: optionalValue<NonNullable<RunRecord['error']>>(row.error, where),
    turnState: optionalValue<NonNullable<RunRecord['turnState']>>(row.turn_state, where),
    rest: optionalValue<NonNullable<RunRecord['rest']>>(row.rest, where),
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
  return {
    id: row.id,
    session,
    n: row.n,
    firstSeq: row.first_seq,
    kind: row.kind,
    status: row.status,
    epoch: row.epoch,
    attempts: row.attempts,
    totalAttempts: row.total_attempts,
    inputHash: row.input_hash,
    step: row.step,
    pendingToolCalls: parseStored(row.pending_tool_calls, where),
    pendingApprovals: optionalValue<RunRecord['pendingApprovals']>(row.pending_approvals, where) ?? [],
    usage: parseStored(row.usage, where),
    createdAt: row.created_at,
    ...(withoutNulls(optional) as Partial<RunRecord>),
  }
}

/** The columns of a run that commits and claims change. */
export function runColumns(run: RunState) {
  return {
    status: run.status,
    reason: run.reason ?? null,
    epoch: run.epoch,
    owner: run.owner ?? null,
    lease_until: run.leaseUntil ?? null,
    attempts: run.attempts,
    total_attempts: run.totalAttempts,
    turn: run.turn ?? null,
    step: run.step,
    open_message_id: run.openMessageId ?? null,
    stop: optionalText(run.stop),
    pending_tool_calls: JSON.stringify(run.pendingToolCalls),
    pending_approvals: run.pendingApprovals.length > 0 ? JSON.stringify(run.pendingApprovals) : null,
    turn_state: optionalText(run.turnState),
    rest: optionalText(run.rest),
    error: optionalText(run.error),
    usage: JSON.stringify(run.usage),
    started_at: run.startedAt ?? null,
    ended_at: run.endedAt ?? null,
  }
}

export function newRunRow(run: RunState, session: number, namespace: string): NewRunRow {
  return {
    session,
    namespace,
    id: run.id,
    n: run.n,
    first_seq: run.firstSeq,
    kind: run.kind,
    input_id: run.inputId ?? null,
    input_hash: run.inputHash,
    created_at: run.createdAt,
    ...runColumns(run),
  }
}

export function callRecord(row: Selectable<ToolCallTable>, runId: string, session: string): ToolCallRecord {
  const where = `The call ${row.tool_call_id} of run ${runId}`
  const optional = {
    status: row.status,
    outcome: optionalValue<NonNullable<ToolCallRecord['outcome']>>(row.outcome, where),
    approval: optionalValue<NonNullable<ToolCallRecord['approval']>>(row.approval, where),
    answerHash: row.answer_hash,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    terminate: row.terminate === null ? null : (true as const),
  }
  return {
    runId,
    step: row.step,
    toolCallId: row.tool_call_id,
    session,
    index: row.index,
    name: row.name,
    effect: row.effect,
    idempotencyKey: row.idempotency_key,
    inputHash: row.input_hash,
    state: row.state,
    attempt: row.attempt,
    // Its value may be null itself.
    ...(row.input === null ? {} : { input: parseStored<JSONValue>(row.input, where) }),
    ...(withoutNulls(optional) as Partial<ToolCallRecord>),
  }
}

export function callRow(call: ToolCallRecord, run: number, session: number, outcome: string | null): Insertable<ToolCallTable> {
  return {
    run,
    step: call.step,
    tool_call_id: call.toolCallId,
    session,
    index: call.index,
    name: call.name,
    effect: call.effect,
    idempotency_key: call.idempotencyKey,
    input_hash: call.inputHash,
    state: call.state,
    status: call.status ?? null,
    outcome,
    answer_hash: call.answerHash ?? null,
    attempt: call.attempt,
    started_at: call.startedAt ?? null,
    deadline_at: call.deadlineAt ?? null,
    terminate: call.terminate ? 1 : null,
    input: optionalText(call.input),
    approval: optionalText(call.approval),
    approval_id: call.approval?.approvalId ?? null,
  }
}

export function inboxRecord(row: Selectable<InboxTable>): InboxRecord {
  const { id, kind, at, body } = row
  return { id, kind, at, body: parseStored<InboxRecord['body']>(body, `The inbox row ${id}`) } as InboxRecord
}
