import { sql } from 'kysely'
import type { PruneReport, PruneRules } from '../../contract/session-store.ts'
import { findSessionByRow, sessionRecord, sessionState } from './sessions.ts'
import { all, execute, statement } from './statement.ts'
import type { Steps } from './statement.ts'

interface CutSlots {
  readonly namespace: string
  readonly before: number
  readonly limit: number
}

/** Sessions whose first run that is there has ended before then. */
const sessionsToCut = statement((db, { namespace, before, limit }: CutSlots) =>
  db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .select('run.session')
    .where('run.namespace', '=', namespace)
    .where('run.ended_at', '<', before)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .innerJoin('run_state as other_state', 'other_state.run', 'other.row')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.n', '<', 'run.n'),
        ),
      ),
    )
    .orderBy('run.session')
    .limit(limit),
)

interface RunsSlots {
  readonly session: number
  readonly before: number
}

/** In order of acceptance. */
const runsOf = statement((db, { session }: { readonly session: number }) =>
  db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .select(['run.row', 'run.first_seq', 'run.ended_at'])
    .where('run.session', '=', session)
    .orderBy('run.n'),
)

const forgetState = statement((db, slots: { readonly row: number }) => db.deleteFrom('run_state').where('run', '=', slots.row))
const forgetInput = statement((db, slots: { readonly row: number }) => db.deleteFrom('run_input').where('run', '=', slots.row))
/** The row stays: rows of the ledger and of the transcript refer to it. */
const forgetName = statement((db, slots: { readonly row: number }) =>
  db.updateTable('run').set({ input_id: null, parent_run: null, parent_session: null }).where('row', '=', slots.row),
)

const forgetEvents = statement((db, { session, before }: RunsSlots) => db.deleteFrom('event').where('session', '=', session).where('seq', '<', before))

const forgetTaken = statement((db, { session, before }: RunsSlots) =>
  db.deleteFrom('inbox').where('session', '=', session).where('kind', '=', sql.lit('taken')).where('at', '<', before),
)

const saveState = statement((db, slots: { readonly session: number; readonly body: string }) =>
  db.updateTable('session_state').set({ body: slots.body }).where('session', '=', slots.session),
)

const forgetDefinitions = statement((db, slots: { readonly namespace: string }) =>
  db.deleteFrom('definition').where('namespace', '=', slots.namespace).where('hash', 'not in', (used) =>
    used
      .selectFrom('run_state')
      .innerJoin('run', 'run.row', 'run_state.run')
      .select(sql<string>`coalesce(json_extract(${sql.ref('run_state.body')}, '$.definition'), '')`.as('hash'))
      .where('run.namespace', '=', slots.namespace),
  ),
)

/** Removes what nobody needs any more, from at most `limit` sessions. */
export function* pruneTables({ runsEndedBefore }: PruneRules, limit: number, namespace: string): Steps<PruneReport> {
  const toCut = yield* all(sessionsToCut, { namespace, before: runsEndedBefore, limit: limit + 1 })
  let [runs, events] = [0, 0]
  for (const { session } of toCut.slice(0, limit)) {
    const cut = yield* cutSession(session, runsEndedBefore)
    runs += cut.runs
    events += cut.events
  }
  yield* execute(forgetDefinitions, { namespace })
  return { runs, events, more: toCut.length > limit }
}

/** Forgets the runs before the first one that is kept, and the log before its first event. */
function* cutSession(session: number, endedBefore: number): Steps<Pick<PruneReport, 'runs' | 'events'>> {
  const row = yield* findSessionByRow(session)
  if (!row) return { runs: 0, events: 0 }
  const record = sessionRecord(row)
  const inOrder = yield* all(runsOf, { session })
  const firstKept = inOrder.findIndex((run) => run.ended_at === null || run.ended_at >= endedBefore)
  const gone = firstKept === -1 ? inOrder : inOrder.slice(0, firstKept)
  for (const run of gone) for (const forget of [forgetState, forgetInput, forgetName]) yield* execute(forget, { row: run.row })
  const kept = inOrder.slice(gone.length).map((run) => run.first_seq)
  const firstSeq = Math.max(record.firstSeq, Math.min(record.nextSeq, ...kept))
  yield* execute(forgetEvents, { session, before: firstSeq })
  yield* execute(forgetTaken, { session, before: endedBefore })
  yield* execute(saveState, { session, body: sessionState({ ...record, firstSeq }).body })
  return { runs: gone.length, events: firstSeq - record.firstSeq }
}
