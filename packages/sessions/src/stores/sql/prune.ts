import { sql } from 'kysely'
import type { PruneReport, PruneRules } from '../../contract/session-store.ts'
import { removeLeftDeltas } from './deltas.ts'
import type { SqlDriver } from './driver.ts'
import { pruneNotices } from './notices.ts'
import { askSessionRows, sessionRecord, sessionState } from './sessions.ts'
import { all, ask, execute, statement, together } from './statement.ts'
import type { RowOf, Steps } from './statement.ts'
import type { Database, SessionRow } from './tables.ts'
import { atMost } from './values.ts'

interface CutSlots {
  readonly namespace: string
  readonly before: number
  readonly limit: number
}

/** Sessions whose oldest run ended before that time. */
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
    .limit(atMost(limit)),
)

interface SessionsSlots {
  readonly sessions: readonly number[]
}

/** Locks the sessions and skips those in use: a later call prunes them. */
const keepSessions = statement((db, { sessions }: SessionsSlots, { isOneOf, lock }) =>
  lock(
    db
      .selectFrom('session_state')
      .select('session_state.session')
      .where((where) => isOneOf(where.ref('session_state.session'), sessions, 'number'))
      .orderBy('session_state.session'),
    'session_state',
    'skip',
  ),
)

/** In order of acceptance. */
const runsOf = statement((db, { sessions }: SessionsSlots, { isOneOf }) =>
  db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .select(['run.row', 'run.session', 'run.first_seq', 'run.ended_at'])
    .where((where) => isOneOf(where.ref('run.session'), sessions, 'number'))
    .orderBy('run.n'),
)

interface RowsSlots {
  readonly rows: readonly number[]
}

const forgetStates = statement((db, { rows }: RowsSlots, { isOneOf }) =>
  db.deleteFrom('run_state').where((where) => isOneOf(where.ref('run'), rows, 'number')),
)
const forgetInputs = statement((db, { rows }: RowsSlots, { isOneOf }) =>
  db.deleteFrom('run_input').where((where) => isOneOf(where.ref('run'), rows, 'number')),
)
/** Keeps the row: the ledger and the transcript refer to it. */
const forgetNames = statement((db, { rows }: RowsSlots, { isOneOf }) =>
  db
    .updateTable('run')
    .set({ input_id: null, parent_run: null, parent_session: null })
    .where((where) => isOneOf(where.ref('row'), rows, 'number')),
)

interface RestSlots {
  readonly session: number
  readonly before: number
}

const forgetEvents = statement((db, { session, before }: RestSlots) =>
  db.deleteFrom('event').where('session', '=', session).where('seq', '<', before),
)

const forgetTaken = statement((db, { session, before }: RestSlots) =>
  db.deleteFrom('inbox').where('session', '=', session).where('kind', '=', sql.lit('taken')).where('at', '<', before),
)

const saveState = statement((db, slots: { readonly session: number; readonly body: string }) =>
  db.updateTable('session_state').set({ body: slots.body }).where('session', '=', slots.session),
)

const unusedDefinitions = statement((db, { namespace }: { readonly namespace: string }, { isUnusedDefinition }) =>
  db
    .selectFrom('definition')
    .select('definition.hash')
    .where('definition.namespace', '=', namespace)
    .where('definition.hash', 'not in', usedIn(db, namespace))
    .where((where) => isUnusedDefinition(where.ref('definition.hash'))),
)

/** Checks again that they are unused: a commit may have used one before the statement above locked them. */
const forgetDefinitions = statement(
  (db, { namespace, hashes }: { readonly namespace: string; readonly hashes: readonly string[] }, { isOneOf }) =>
    db
      .deleteFrom('definition')
      .where('definition.namespace', '=', namespace)
      .where((where) => isOneOf(where.ref('definition.hash'), hashes, 'text'))
      .where('definition.hash', 'not in', usedIn(db, namespace)),
)

function usedIn(db: Database, namespace: string) {
  return db
    .selectFrom('run_state')
    .innerJoin('run', 'run.row', 'run_state.run')
    .select((where) => where.ref('run_state.definition').$notNull().as('definition'))
    .where('run.namespace', '=', namespace)
    .where('run_state.definition', 'is not', null)
}

/** Removes data that is no longer needed from at most `limit` sessions. */
export function* pruneTables(
  rules: PruneRules,
  limit: number,
  { namespace, isShared, now }: Pick<SqlDriver, 'namespace' | 'isShared' | 'now'>,
): Steps<PruneReport> {
  const { runsEndedBefore } = rules
  if (isShared) yield* removeLeftDeltas()
  const toCut = yield* all(sessionsToCut, { namespace, before: runsEndedBefore, limit: limit + 1 })
  const kept = yield* all(keepSessions, { sessions: toCut.slice(0, limit).map(({ session }) => session) })
  const sessions = kept.map(({ session }) => session)
  const { states, runs } = yield* together({ states: askSessionRows(null, sessions), runs: ask(runsOf, { sessions }) })
  const report = { runs: 0, events: 0 }
  for (const state of states) {
    const cut = yield* cutSession(
      state,
      runs.filter((run) => run.session === state.row),
      runsEndedBefore,
    )
    report.runs += cut.runs
    report.events += cut.events
  }
  const hashes = (yield* all(unusedDefinitions, { namespace })).map(({ hash }) => hash)
  if (hashes.length > 0) yield* execute(forgetDefinitions, { namespace, hashes })
  const moreNotices = yield* pruneNotices(rules, limit, { namespace, now: now() })
  return { ...report, more: toCut.length > limit || moreNotices }
}

/** Forgets the runs before the first one that is kept, and the events before its first event. */
function* cutSession(
  row: SessionRow,
  inOrder: readonly RowOf<typeof runsOf>[],
  endedBefore: number,
): Steps<Pick<PruneReport, 'runs' | 'events'>> {
  const record = sessionRecord(row)
  const session = row.row
  const firstKept = inOrder.findIndex((run) => run.ended_at === null || run.ended_at >= endedBefore)
  const gone = firstKept === -1 ? inOrder : inOrder.slice(0, firstKept)
  const rows = gone.map((run) => run.row)
  for (const forget of [forgetStates, forgetInputs, forgetNames]) yield* execute(forget, { rows })
  const kept = inOrder.slice(gone.length).map((run) => run.first_seq)
  const firstSeq = Math.max(record.firstSeq, Math.min(record.nextSeq, ...kept))
  yield* execute(forgetEvents, { session, before: firstSeq })
  yield* execute(forgetTaken, { session, before: endedBefore })
  yield* execute(saveState, { session, body: sessionState({ ...record, firstSeq }).body })
  return { runs: gone.length, events: firstSeq - record.firstSeq }
}
