import type { CallKey } from '../../contract/batch.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { refuseUnless } from '../refused.ts'
import { callRow } from './calls.ts'
import { columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { ToolCallTable } from './tables.ts'
import { recordText, requireRun, sessionOf } from './work.ts'
import type { HeldRun, Work } from './work.ts'

const keyColumns = ['run', 'step', 'tool_call_id', 'session'] as const
const changingColumns = [
  ...['state', 'status', 'index', 'name', 'effect', 'idempotency_key', 'input_hash', 'attempt'],
  ...['started_at', 'deadline_at', 'approval_id', 'rest', 'outcome'],
] as const satisfies readonly (keyof ToolCallTable)[]

const stateOf = statement((db, slots: { readonly run: number; readonly step: number; readonly toolCallId: string }) =>
  db.selectFrom('tool_call').select('state').where('run', '=', slots.run).where('step', '=', slots.step).where('tool_call_id', '=', slots.toolCallId),
)

const insertCall = statement((db, slots: ToolCallTable) =>
  db.insertInto('tool_call').values(columnsOf(slots, [...keyColumns, ...changingColumns])),
)

const updateCall = statement((db, slots: ToolCallTable) =>
  db
    .updateTable('tool_call')
    .set(columnsOf(slots, changingColumns))
    .where('run', '=', slots.run)
    .where('step', '=', slots.step)
    .where('tool_call_id', '=', slots.tool_call_id),
)

/** Undefined: there is no such call. */
export function* callState({ callsPut }: Work, run: HeldRun, { step, toolCallId }: Omit<CallKey, 'runId'>): Steps<string | undefined> {
  const put = callsPut.get(nameOf(run, step, toolCallId))
  return put ?? (yield* first(stateOf, { run: run.row, step, toolCallId }))?.state
}

export function* putCall(work: Work, call: ToolCallRecord): Steps<void> {
  const session = sessionOf(work)
  const run = yield* requireRun(work, call.runId)
  const before = yield* callState(work, run, call)
  refuseUnless(before !== 'settled', 'conflict')
  const outcome = call.outcome ? recordText(work, call.outcome, `The outcome of call ${call.toolCallId}`) : null
  yield* execute(before === undefined ? insertCall : updateCall, callRow(call, run.row, session.row, outcome))
  run.openCalls += (call.state === 'settled' ? 0 : 1) - (before === undefined ? 0 : 1)
  run.changed = true
  work.callsPut.set(nameOf(run, call.step, call.toolCallId), call.state)
}

function nameOf({ row }: HeldRun, step: number, toolCallId: string): string {
  return `${row} ${step} ${toolCallId}`
}
