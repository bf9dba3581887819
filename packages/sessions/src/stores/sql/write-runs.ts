import { sql } from 'kysely'
import type { NewRun, RunPatch } from '../../contract/batch.ts'
import { statusOfRun } from '../../contract/records.ts'
import { refuseUnless } from '../refused.ts'
import { newRun, patchRun, withOutcome } from '../rules.ts'
import { isHolding } from '../../contract/run-status.ts'
import type { RunState } from '../rules.ts'
import { columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { RunInputTable, RunTable } from './tables.ts'
import { findRun, recordText, requireRun, sessionOf } from './work.ts'
import type { Work } from './work.ts'

type StatusColumns = Pick<RunTable, 'place' | 'status' | 'not_before' | 'ended_at'>
type NewRow = Omit<RunTable, 'row'>

const insertRow = statement((db, slots: NewRow) =>
  db
    .insertInto('run')
    .values(
      columnsOf(slots, [
        ...(['session', 'namespace', 'id', 'n', 'first_seq', 'kind', 'place', 'status'] as const),
        ...(['not_before', 'parent_run', 'parent_session'] as const),
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
    .select('id')
    .where('session', '=', slots.session)
    .where('ended_at', 'is', null)
    .where('status', '<>', sql.lit('queued'))
    .limit(1),
)

const nextRun = statement((db, slots: { readonly session: number }) =>
  db
    .selectFrom('run')
    .select('id')
    .where('session', '=', slots.session)
    .where('ended_at', 'is', null)
    .where('status', '=', sql.lit('queued'))
    .orderBy('place')
    .limit(1),
)

/** The run that holds the session, else the next one of its queue. */
export function* firstOpenRun(work: Work): Steps<RunState | undefined> {
  const slots = { session: sessionOf(work).row }
  const found = (yield* first(holdingRun, slots)) ?? (yield* first(nextRun, slots))
  return found && (yield* findRun(work, found.id))?.state
}

export const runOfInput = statement((db, slots: { readonly session: number; readonly inputId: string }) =>
  db.selectFrom('run').select(['id', 'input_hash']).where('session', '=', slots.session).where('input_id', '=', slots.inputId),
)

export const updateRunStatus = statement((db, slots: StatusColumns & { readonly row: number }) =>
  db.updateTable('run').set(columnsOf(slots, ['place', 'status', 'not_before', 'ended_at'])).where('row', '=', slots.row),
)

export function* insertRun(work: Work, run: NewRun): Steps<void> {
  const session = sessionOf(work)
  const { namespace } = work
  refuseUnless((yield* first(anyRun, { namespace, id: run.id })) === undefined, 'conflict')
  if (run.inputId !== undefined) refuseUnless((yield* first(runOfInput, { session: session.row, inputId: run.inputId })) === undefined, 'id-reused')
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
  const { id, n, firstSeq, kind, inputId = null, inputHash, createdAt, parent } = run
  const parents = { parent_run: parent?.runId ?? null, parent_session: parent?.session ?? null }
  return { ...statusColumns(run), ...parents, session, namespace, id, n, first_seq: firstSeq, kind, input_id: inputId, input_hash: inputHash, created_at: createdAt }
}

/** What a move of the run changes in its row. */
export function statusColumns({ place, status, notBefore, endedAt }: RunState): StatusColumns {
  return { place, status, not_before: notBefore ?? null, ended_at: endedAt ?? null }
}

export function* applyRunPatch(work: Work, runId: string, patch: RunPatch): Steps<void> {
  const run = yield* requireRun(work, runId)
  const before = run.state
  const next = patchRun(before, patch, work.now)
  if (isHolding(next.status) && !isHolding(before.status)) {
    refuseUnless((yield* first(holdingRun, { session: sessionOf(work).row })) === undefined, 'busy')
  }
  run.state = next
  run.changed = true
  const session = sessionOf(work)
  session.record = withOutcome(session.record, before, next)
  work.runsMoved ||= statusOfRun(next) !== statusOfRun(before)
  if (next.status === before.status && patch.notBefore === undefined) return
  yield* execute(updateRunStatus, { row: run.row, ...statusColumns(next) })
  work.runsMoved = true
}
