import { sql } from 'kysely'
import type { NewRun, RunPatch } from '../../store/contract.ts'
import { refuseUnless } from '../refused.ts'
import { isHolding, newRun, patchRun } from '../rules.ts'
import type { RunState } from '../rules.ts'
import { columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { RunInputTable, RunTable } from './tables.ts'
import { recordText, requireRun, sessionOf } from './work.ts'
import type { Work } from './work.ts'

type NewRow = Omit<RunTable, 'row'>

const insertRow = statement((db, slots: NewRow) =>
  db
    .insertInto('run')
    .values(
      columnsOf(slots, [
        ...(['session', 'namespace', 'id', 'n', 'first_seq', 'kind', 'status'] as const),
        ...(['input_id', 'input_hash', 'created_at', 'ended_at'] as const),
      ]),
    )
    .returning('row'),
)

const insertInput = statement((db, slots: RunInputTable) => db.insertInto('run_input').values(columnsOf(slots, ['run', 'body'])))

/** In any session: the id of a run is its own in the whole namespace. */
const anyRun = statement((db, slots: { readonly namespace: string; readonly id: string }) =>
  db.selectFrom('run').select('row').where('namespace', '=', slots.namespace).where('id', '=', slots.id),
)

const holdingRun = statement((db, slots: { readonly session: number }) =>
  db
    .selectFrom('run')
    .select('row')
    .where('session', '=', slots.session)
    .where('ended_at', 'is', null)
    .where('status', '<>', sql.lit('queued'))
    .limit(1),
)

export const updateRunStatus = statement((db, slots: Pick<RunTable, 'status' | 'ended_at'> & { readonly row: number }) =>
  db.updateTable('run').set(columnsOf(slots, ['status', 'ended_at'])).where('row', '=', slots.row),
)

export function* insertRun(work: Work, run: NewRun): Steps<void> {
  const session = sessionOf(work)
  const { namespace } = work
  refuseUnless((yield* first(anyRun, { namespace, id: run.id })) === undefined, 'conflict')
  const { input, ...state } = newRun(session.record, run)
  const body = recordText(work, input, `The input of run ${run.id}`)
  const inserted = yield* first(insertRow, newRow(state, session.row, namespace))
  if (!inserted) throw new TypeError('The database gave no number to a new run.')
  const { row } = inserted
  yield* execute(insertInput, { run: row, body })
  work.runs.set(state.id, { row, isNew: true, state, openCalls: 0, changed: true, batchId: null, lastResult: null })
  work.runsMoved = true
  session.record = { ...session.record, nextRun: session.record.nextRun + 1 }
}

function newRow(run: RunState, session: number, namespace: string): NewRow {
  const { id, n, firstSeq, kind, status, inputId = null, inputHash, createdAt, endedAt = null } = run
  return { session, namespace, id, n, first_seq: firstSeq, kind, status, input_id: inputId, input_hash: inputHash, created_at: createdAt, ended_at: endedAt }
}

export function* applyRunPatch(work: Work, runId: string, patch: RunPatch): Steps<void> {
  const run = yield* requireRun(work, runId)
  const before = run.state.status
  const next = patchRun(run.state, patch, work.now)
  if (isHolding(next.status) && !isHolding(before)) {
    refuseUnless((yield* first(holdingRun, { session: sessionOf(work).row })) === undefined, 'busy')
  }
  run.state = next
  run.changed = true
  if (next.status === before) return
  yield* execute(updateRunStatus, { row: run.row, status: next.status, ended_at: next.endedAt ?? null })
  work.runsMoved = true
}
