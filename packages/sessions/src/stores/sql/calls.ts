import { usualKey } from '../../core/packed-events.ts'
import { sql } from 'kysely'
import type { Found } from '../../contract/session-store.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { all, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, ToolCallTable } from './tables.ts'

/** Returns the record of a row. Fields without a column are in `rest`. */
function callRecord(row: ToolCallTable & { readonly run_id: string; readonly session_key: string }): ToolCallRecord {
  const { run_id: runId, step, tool_call_id: toolCallId } = row
  const where = `The call ${toolCallId} of run ${runId}`
  return {
    runId,
    step,
    toolCallId,
    session: row.session_key,
    index: row.index,
    name: row.name,
    effect: row.effect,
    idempotencyKey: row.idempotency_key ?? usualKey({ runId, step, toolCallId }),
    inputHash: row.input_hash,
    state: row.state,
    ...(row.status === null ? {} : { status: row.status }),
    attempt: row.attempt,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.deadline_at === null ? {} : { deadlineAt: row.deadline_at }),
    ...(row.rest === null ? {} : parseStored<object>(row.rest, where)),
    ...(row.outcome === null ? {} : { outcome: parseStored(row.outcome, where) }),
  }
}

export function callRow(call: ToolCallRecord, run: number, session: number, outcome: string | null): ToolCallTable {
  const { runId, step, toolCallId, session: _key, index, name, effect, idempotencyKey, inputHash, state, ...further } = call
  const { status = null, attempt, startedAt = null, deadlineAt = null, outcome: _outcome, ...rest } = further
  return {
    run,
    step,
    tool_call_id: toolCallId,
    session,
    index,
    name,
    effect,
    idempotency_key: idempotencyKey === usualKey({ runId, step, toolCallId }) ? null : idempotencyKey,
    input_hash: inputHash,
    state,
    status,
    attempt,
    started_at: startedAt,
    deadline_at: deadlineAt,
    approval_id: rest.approval?.approvalId ?? null,
    rest: Object.keys(rest).length === 0 ? null : JSON.stringify(rest),
    outcome,
  }
}

const ofRun = statement((db, slots: { readonly namespace: string; readonly runId: string; readonly from: number; readonly to: number }) =>
  selectCalls(db, slots.namespace)
    .where('run.id', '=', slots.runId)
    .where('tool_call.step', '>=', slots.from)
    .where('tool_call.step', '<=', slots.to)
    .orderBy('tool_call.step')
    .orderBy('tool_call.index'),
)

const newestOfSession = statement((db, slots: { readonly namespace: string; readonly key: string; readonly toolCallId: string }) =>
  selectCalls(db, slots.namespace)
    .whereRef('tool_call.session', '=', 'session.row')
    .where('session.key', '=', slots.key)
    .where('tool_call.tool_call_id', '=', slots.toolCallId)
    .orderBy('run.n', 'desc')
    .orderBy('tool_call.step', 'desc')
    .limit(sql.lit(1)),
)

const ofApproval = statement((db, slots: { readonly namespace: string; readonly approvalId: string }) =>
  selectCalls(db, slots.namespace).where('tool_call.approval_id', '=', slots.approvalId),
)

function selectCalls(db: Database, namespace: string) {
  return db
    .selectFrom('tool_call')
    .innerJoin('run', 'run.row', 'tool_call.run')
    .innerJoin('session', 'session.row', 'run.session')
    .selectAll('tool_call')
    .select(['run.id as run_id', 'session.key as session_key'])
    .where('run.namespace', '=', namespace)
    .where('session.namespace', '=', namespace)
}

export function* readCalls(namespace: string, runId: string, step?: number): Steps<readonly ToolCallRecord[]> {
  const rows = yield* all(ofRun, { namespace, runId, from: step ?? 0, to: step ?? Number.MAX_SAFE_INTEGER })
  return rows.map(callRecord)
}

export function* readCall(namespace: string, key: string, toolCallId: string): Steps<Found<ToolCallRecord>> {
  return foundCall(yield* first(newestOfSession, { namespace, key, toolCallId }))
}

export function* readApproval(namespace: string, approvalId: string): Steps<Found<ToolCallRecord>> {
  return foundCall(yield* first(ofApproval, { namespace, approvalId }))
}

function foundCall(row: Parameters<typeof callRecord>[0] | undefined): Found<ToolCallRecord> {
  return row ? { status: 'found', value: callRecord(row) } : { status: 'missing' }
}
