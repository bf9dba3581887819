import type { CallKey } from '../../contract/batch.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { refuseUnless } from '../../core/refused.ts'
import { callRow } from './calls.ts'
import { callName } from './known.ts'
import { columnsOf, statement } from './statement.ts'
import type { ToolCallTable } from './tables.ts'
import { recordText, requireRun, sessionOf, write } from './work.ts'
import type { HeldRun, Work } from './work.ts'

const keyColumns = ['run', 'step', 'tool_call_id', 'session'] as const
const changingColumns = [
  ...['state', 'status', 'index', 'name', 'effect', 'idempotency_key', 'input_hash', 'attempt'],
  ...['started_at', 'deadline_at', 'approval_id', 'rest', 'outcome'],
] as const satisfies readonly (keyof ToolCallTable)[]

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

/** Returns the state of a call, or undefined if there is none. */
export function callState({ callsPut, known }: Work, run: HeldRun, { step, toolCallId }: Omit<CallKey, 'runId'>): string | undefined {
  const name = callName(run.row, step, toolCallId)
  return callsPut.get(name) ?? known.calls.get(name)
}

export function putCall(work: Work, call: ToolCallRecord): void {
  const session = sessionOf(work)
  const run = requireRun(work, call.runId)
  const before = callState(work, run, call)
  refuseUnless(before !== 'settled', 'conflict')
  const outcome = call.outcome ? recordText(work.context, call.outcome, `The outcome of call ${call.toolCallId}`) : null
  write(work, before === undefined ? insertCall : updateCall, callRow(call, run.row, session.row, outcome))
  run.openCalls += (call.state === 'settled' ? 0 : 1) - (before === undefined ? 0 : 1)
  run.changed = true
  work.callsPut.set(callName(run.row, call.step, call.toolCallId), call.state)
}
