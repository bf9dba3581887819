import type { NewRun, RunPatch } from '../../contract/batch.ts'
import { noticesOfRun } from '../../contract/draft-notices.ts'
import { isHolding, statusOfRun } from '../../contract/run-status.ts'
import { refuseUnless } from '../../core/refused.ts'
import { newRun, patchRun, tenantOfRun, withOutcome } from '../../core/rules.ts'
import type { RunState } from '../../core/rules.ts'
import { nameIn } from './known.ts'
import { putNotices } from './notices.ts'
import { columnsOf, statement } from './statement.ts'
import type { NewRunRow, RunInputTable, RunTable } from './tables.ts'
import { isHeld, recordText, requireRun, sessionOf, write } from './work.ts'
import type { Work } from './work.ts'

type StatusColumns = Pick<RunTable, 'place' | 'status' | 'not_before' | 'ended_at'>

const insertRow = statement((db, slots: NewRunRow) =>
  db
    .insertInto('run')
    .values(
      columnsOf(slots, [
        ...(['row', 'session', 'namespace', 'id', 'n', 'first_seq', 'kind', 'place', 'status'] as const),
        ...(['not_before', 'tenant', 'parent_run', 'parent_session'] as const),
        ...(['input_id', 'input_hash', 'created_at', 'ended_at'] as const),
      ]),
    ),
)

const insertInput = statement((db, slots: RunInputTable) => db.insertInto('run_input').values(columnsOf(slots, ['run', 'body'])))

export const updateRunStatus = statement((db, slots: StatusColumns & { readonly row: number }) =>
  db
    .updateTable('run')
    .set(columnsOf(slots, ['place', 'status', 'not_before', 'ended_at']))
    .where('row', '=', slots.row),
)

export function insertRun(work: Work, run: NewRun): void {
  const session = sessionOf(work)
  const { known, runs, inputsPut } = work
  refuseUnless(!known.runs.has(run.id) && !runs.get(run.id), 'conflict')
  if (run.inputId !== undefined) {
    refuseUnless(!known.inputs.has(nameIn(session.row, run.inputId)) && !inputsPut.has(run.inputId), 'id-reused')
    inputsPut.add(run.inputId)
  }
  const { input, ...state } = newRun(session.record, run)
  const body = recordText(work.context, input, `The input of run ${run.id}`)
  const row = takeRow(known.newRuns)
  write(work, insertRow, { ...newRow(work, state, session.row), row })
  write(work, insertInput, { run: row, body })
  runs.set(state.id, { row, before: undefined, state, openCalls: 0, changed: true, batchId: null, lastResult: null })
  work.runsMoved = true
  session.record = { ...session.record, nextRun: session.record.nextRun + 1 }
}

/** Takes one of the requested row numbers. */
export function takeRow(numbers: number[]): number {
  const row = numbers.shift()
  if (row === undefined) throw new TypeError('The database gave too few numbers for new rows.')
  return row
}

function newRow({ key, context: { namespace } }: Work, run: RunState, session: number): Omit<NewRunRow, 'row'> {
  const { id, n, firstSeq, kind, inputId = null, inputHash, createdAt, parent } = run
  const parents = { tenant: tenantOfRun(key, run), parent_run: parent?.runId ?? null, parent_session: parent?.session ?? null }
  return {
    ...statusColumns(run),
    ...parents,
    session,
    namespace,
    id,
    n,
    first_seq: firstSeq,
    kind,
    input_id: inputId,
    input_hash: inputHash,
    created_at: createdAt,
  }
}

/** Returns the columns that a change of status writes. */
export function statusColumns({ place, status, notBefore, endedAt }: RunState): StatusColumns {
  return { place, status, not_before: notBefore ?? null, ended_at: endedAt ?? null }
}

export function applyRunPatch(work: Work, runId: string, patch: RunPatch): void {
  const run = requireRun(work, runId)
  const before = run.state
  const next = patchRun(before, patch, work.now)
  if (isHolding(next.status) && !isHolding(before.status)) refuseUnless(!isHeld(work), 'busy')
  run.state = next
  run.changed = true
  const session = sessionOf(work)
  session.record = withOutcome(session.record, before, next)
  putNotices(work, (record) => noticesOfRun(record, before, next))
  work.runsMoved ||= statusOfRun(next) !== statusOfRun(before)
  if (next.status === before.status && patch.notBefore === undefined) return
  write(work, updateRunStatus, { row: run.row, ...statusColumns(next) })
  work.runsMoved = true
}
