import type { Write } from '../../contract/batch.ts'
import { columnsOf, statement } from './statement.ts'
import type { Statement } from './statement.ts'
import type { TombstoneTable } from './tables.ts'
import { sessionOf, write } from './work.ts'
import type { Work } from './work.ts'

type OfSession = { readonly session: number }

/** In this order no row refers to a deleted one. */
const deletions: readonly Statement<OfSession, unknown>[] = [
  statement((db, slots: OfSession) => db.deleteFrom('event').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('entry').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('tool_call').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('inbox').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('notice').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('timer').where('session', '=', slots.session)),
  statement((db, slots: OfSession) =>
    db.deleteFrom('run_input').where('run', 'in', db.selectFrom('run').select('row').where('session', '=', slots.session)),
  ),
  statement((db, slots: OfSession) =>
    db.deleteFrom('run_state').where('run', 'in', db.selectFrom('run').select('row').where('session', '=', slots.session)),
  ),
  statement((db, slots: OfSession) => db.deleteFrom('run').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('session_state').where('session', '=', slots.session)),
  statement((db, slots: OfSession) => db.deleteFrom('session').where('row', '=', slots.session)),
]

const insertTombstone = statement((db, slots: TombstoneTable) =>
  db.insertInto('tombstone').values(columnsOf(slots, ['namespace', 'key', 'version', 'next_seq', 'next_run', 'deleted_at'])),
)

export const deleteTombstone = statement((db, slots: { readonly namespace: string; readonly key: string }) =>
  db.deleteFrom('tombstone').where('namespace', '=', slots.namespace).where('key', '=', slots.key),
)

/** Deletes a session. Keeps only the numbers that a later session with this key continues. */
export function deleteSession(work: Work, { at, leavesNothing }: Extract<Write, { op: 'session.delete' }>): void {
  const session = sessionOf(work)
  for (const deletion of deletions) write(work, deletion, { session: session.row })
  const { version, nextSeq, nextRun } = session.record
  const { key, context } = work
  // One number is consumed by the event that ends readers.
  const numbers = { version: version + 1, next_seq: nextSeq + 1, next_run: nextRun }
  if (!leavesNothing) write(work, insertTombstone, { namespace: context.namespace, key, ...numbers, deleted_at: at })
  session.isGone = true
  work.runs.clear()
  work.runsMoved = false
}
