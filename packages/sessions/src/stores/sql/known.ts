import { sql } from 'kysely'
import type { Expression, RawBuilder, SqlBool } from 'kysely'
import type { InboxKind, RunKind, RunStatus } from '../../contract/records.ts'
import { openStatuses } from '../../contract/run-status.ts'
import type { SqlDialect } from './dialect.ts'
import type { Needs } from './needs.ts'
import { runColumns, runStateColumns, selectRuns } from './runs.ts'
import { askPlaces, placesOf } from './sessions.ts'
import type { Place, StoreView } from './sessions.ts'
import { ask, isOnlyItem, statement, together } from './statement.ts'
import type { RowOf, Steps } from './statement.ts'
import type { Database, RunRow } from './tables.ts'
import { atMost } from './values.ts'

interface KeysSlots {
  readonly namespace: string
  readonly keys: readonly string[]
}

type IdsSlots = KeysSlots & { readonly ids: readonly string[] }

/**
 * Locks the sessions, so that commits of one session run one after the other. All transactions with several sessions use this
 * order.
 */
const keepSessions = statement((db, slots: KeysSlots, dialect) =>
  dialect.lock(
    db
      .selectFrom('session_state')
      .select('session_state.session')
      .where((where) => isOfSessions(where.ref('session_state.session'), db, slots, dialect))
      .orderBy('session_state.session'),
    'session_state',
  ),
)

/** Finds runs of any session: run ids are unique in a namespace. A forgotten run has no state. */
const runsById = statement((db, { namespace, ids }: { readonly namespace: string; readonly ids: readonly string[] }, { isOneOf }) =>
  db
    .selectFrom('run')
    .leftJoin('run_state', 'run_state.run', 'run.row')
    .select([...runColumns, ...runStateColumns])
    .where('run.namespace', '=', namespace)
    .where((where) => isOneOf(where.ref('run.id'), ids, 'text')),
)

const runsOfInputs = statement((db, slots: IdsSlots, dialect) =>
  db
    .selectFrom('run')
    .select(['run.session', 'run.id', 'run.input_id', 'run.input_hash'])
    .where((where) => isOfSessions(where.ref('run.session'), db, slots, dialect))
    .where((where) => dialect.isOneOf(where.ref('run.input_id').$notNull(), slots.ids, 'text')),
)

const inboxRows = statement((db, slots: IdsSlots, dialect) =>
  db
    .selectFrom('inbox')
    .select(['inbox.session', 'inbox.id', 'inbox.body'])
    .where((where) => isOfSessions(where.ref('inbox.session'), db, slots, dialect))
    .where((where) => dialect.isOneOf(where.ref('inbox.id'), slots.ids, 'text')),
)

const entryRows = statement((db, slots: IdsSlots, dialect) =>
  db
    .selectFrom('entry')
    .select(['entry.session', 'entry.id'])
    .where((where) => isOfSessions(where.ref('entry.session'), db, slots, dialect))
    .where((where) => dialect.isOneOf(where.ref('entry.id'), slots.ids, 'text')),
)

const timerRows = statement((db, slots: IdsSlots, dialect) =>
  db
    .selectFrom('timer')
    .select(['timer.session', 'timer.id', 'timer.due_at'])
    .where((where) => isOfSessions(where.ref('timer.session'), db, slots, dialect))
    .where((where) => dialect.isOneOf(where.ref('timer.id'), slots.ids, 'text')),
)

interface CallsSlots {
  readonly namespace: string
  readonly runs: readonly string[]
  readonly from: number
  readonly to: number
}

const callStates = statement((db, { namespace, runs, from, to }: CallsSlots, { isOneOf }) =>
  db
    .selectFrom('run')
    .innerJoin('tool_call', 'tool_call.run', 'run.row')
    .select(['tool_call.run', 'tool_call.step', 'tool_call.tool_call_id', 'tool_call.state'])
    .where('run.namespace', '=', namespace)
    .where((where) => isOneOf(where.ref('run.id'), runs, 'text'))
    .where('tool_call.step', '>=', from)
    .where('tool_call.step', '<=', to),
)

const openCounts = statement((db, slots: KeysSlots, dialect) =>
  db
    .selectFrom('run')
    .select((select) => ['run.session', 'run.status', 'run.kind', select.fn.countAll<number>().as('runs')])
    .where((where) => isOfSessions(where.ref('run.session'), db, slots, dialect))
    .where('run.ended_at', 'is', null)
    // Uses an index of open runs only.
    .where(
      'run.status',
      'in',
      openStatuses.map((status) => sql.lit(status)),
    )
    .groupBy(['run.session', 'run.status', 'run.kind']),
)

const inboxCounts = statement((db, slots: KeysSlots & { readonly kinds: readonly InboxKind[] }, dialect) =>
  db
    .selectFrom('inbox')
    .select((select) => ['inbox.session', 'inbox.kind', select.fn.countAll<number>().as('rows')])
    .where((where) => isOfSessions(where.ref('inbox.session'), db, slots, dialect))
    .where((where) => dialect.isOneOf(where.ref('inbox.kind'), slots.kinds, 'text'))
    .groupBy(['inbox.session', 'inbox.kind']),
)

const holdingRuns = statement((db, slots: KeysSlots, dialect) =>
  selectRuns(db)
    .where((where) => isOfSessions(where.ref('run.session'), db, slots, dialect))
    .where('run.ended_at', 'is', null)
    .where('run.status', '<>', sql.lit('queued')),
)

const queuedRuns = statement(
  (db, { namespace, key, limit }: { readonly namespace: string; readonly key: string; readonly limit: number }) =>
    selectRuns(db)
      .where('run.session', '=', (rows) =>
        rows.selectFrom('session').select('session.row').where('session.namespace', '=', namespace).where('session.key', '=', key),
      )
      .where('run.ended_at', 'is', null)
      .where('run.status', '=', sql.lit('queued'))
      .orderBy('run.place')
      .limit(atMost(limit)),
)

const sessionNumbers = statement((db, { rows }: { readonly rows: readonly number[] }, { newRows }) =>
  db.selectFrom(newRows('session', rows).as('numbers')).select('numbers.row'),
)

const runNumbers = statement((db, { rows }: { readonly rows: readonly number[] }, { newRows }) =>
  db.selectFrom(newRows('run', rows).as('numbers')).select('numbers.row'),
)

/**
 * True if this is the row of one of the sessions. A single session is looked up first: while the server has no statistics, a join
 * may scan the index of all sessions.
 */
function isOfSessions(
  session: Expression<number>,
  db: Database,
  { namespace, keys }: KeysSlots,
  { isOneOf }: SqlDialect,
): RawBuilder<SqlBool> {
  const rows = db
    .selectFrom('session')
    .select('session.row')
    .where('session.namespace', '=', namespace)
    .where((where) => isOneOf(where.ref('session.key'), keys, 'text'))
  return isOnlyItem(keys) ? sql`${session} = ${rows}` : sql`${session} in ${rows}`
}

/** Data of the database that a commit needs, read under the lock of its sessions. All lookups were requested before. */
export interface Known {
  readonly places: ReadonlyMap<string, Place>
  /** By run id. A forgotten run has only its row. */
  readonly runs: ReadonlyMap<string, RunRow | 'forgotten'>
  /** By session and input id. */
  readonly inputs: ReadonlyMap<string, { readonly runId: string; readonly hash: string }>
  /** Bodies by session and row id. */
  readonly inbox: ReadonlyMap<string, string>
  readonly entries: ReadonlySet<string>
  /** Due times. */
  readonly timers: ReadonlyMap<string, number | null>
  /** States by run, step and call id. */
  readonly calls: ReadonlyMap<string, string>
  readonly openRuns: readonly { readonly session: number; readonly status: RunStatus; readonly kind: RunKind; readonly runs: number }[]
  readonly inboxCounts: readonly { readonly session: number; readonly kind: InboxKind; readonly rows: number }[]
  /** By key: ids of the run that holds the session and of the next ones in its queue. */
  readonly heads: ReadonlyMap<string, readonly string[]>
  /** Numbers for new rows. Each may be used once. */
  readonly newSessions: number[]
  readonly newRuns: number[]
}

/** `isShared` is true if other processes may write at the same time: then the sessions are locked. */
export type KnownContext = StoreView & { readonly isShared: boolean }

export function* learn(context: KnownContext, needs: Needs): Steps<Known> {
  for (;;) {
    const answers = yield* together(reads(context, needs))
    const places = placesOf(answers.places)
    const kept = new Set(answers.kept.map(({ session }) => session))
    const isKept = [...places.values()].every(({ session }) => !session || kept.has(session.row))
    // A session that was created meanwhile is not locked yet: read again.
    if (isKept || !context.isShared) return knownFrom(answers, places, needs)
  }
}

function reads({ namespace, now, isShared }: KnownContext, needs: Needs) {
  const keys = [...needs.keys]
  const ofIds = (ids: ReadonlySet<string>) => (ids.size > 0 ? { namespace, keys, ids: [...ids] } : undefined)
  const [inputs, inbox, entries, timers] = [needs.inputs, needs.inboxRows, needs.entries, needs.timers].map(ofIds)
  const heads = [...needs.heads.keys()]
  return {
    kept: isShared ? ask(keepSessions, { namespace, keys }) : undefined,
    // After the lock, so that earlier commits of others are visible.
    places: askPlaces({ namespace, now }, keys),
    runs: needs.runs.size > 0 ? ask(runsById, { namespace, ids: [...needs.runs] }) : undefined,
    inputs: inputs && ask(runsOfInputs, inputs),
    inbox: inbox && ask(inboxRows, inbox),
    entries: entries && ask(entryRows, entries),
    timers: timers && ask(timerRows, timers),
    calls: needs.callRuns.size > 0 ? ask(callStates, { namespace, runs: [...needs.callRuns], ...rangeOf(needs.callSteps) }) : undefined,
    openRuns: needs.countsRuns ? ask(openCounts, { namespace, keys }) : undefined,
    inboxCounts: needs.inboxKinds.size > 0 ? ask(inboxCounts, { namespace, keys, kinds: [...needs.inboxKinds] }) : undefined,
    holding: heads.length > 0 ? ask(holdingRuns, { namespace, keys: heads }) : undefined,
    queued: heads.map((key) => ask(queuedRuns, { namespace, key, limit: (needs.heads.get(key) ?? 0) + 1 })),
    newSessions: needs.newSessions.length > 0 ? ask(sessionNumbers, { rows: needs.newSessions }) : undefined,
    newRuns: needs.newRuns.length > 0 ? ask(runNumbers, { rows: needs.newRuns }) : undefined,
  } as const
}

type Rows = { readonly [K in keyof ReturnType<typeof reads>]: readonly RowOfRead<ReturnType<typeof reads>[K]>[] }
type RowOfRead<A> = A extends { readonly statement: infer S }
  ? RowOf<S>
  : A extends readonly { readonly statement: infer S }[]
    ? RowOf<S>
    : never

function knownFrom(rows: Rows, places: Known['places'], needs: Needs): Known {
  const headRows = [...rows.holding, ...rows.queued]
  return {
    places,
    runs: new Map([
      ...rows.runs.map((row) => [row.id, row.epoch === null ? 'forgotten' : (row as RunRow)] as const),
      ...headRows.map((row) => [row.id, row] as const),
    ]),
    inputs: new Map(rows.inputs.map((row) => [nameIn(row.session, row.input_id ?? ''), { runId: row.id, hash: row.input_hash }])),
    inbox: new Map(rows.inbox.map((row) => [nameIn(row.session, row.id), row.body])),
    entries: new Set(rows.entries.map((row) => nameIn(row.session, row.id))),
    timers: new Map(rows.timers.map((row) => [nameIn(row.session, row.id), row.due_at])),
    calls: new Map(rows.calls.map((row) => [callName(row.run, row.step, row.tool_call_id), row.state])),
    openRuns: rows.openRuns,
    inboxCounts: rows.inboxCounts,
    heads: new Map(
      [...needs.heads.keys()].map((key) => [
        key,
        headRows.filter((row) => row.session === places.get(key)?.session?.row).map(({ id }) => id),
      ]),
    ),
    newSessions: rows.newSessions.map(({ row }) => row),
    newRuns: rows.newRuns.map(({ row }) => row),
  }
}

/** Returns a map key for something within a session. */
export function nameIn(session: number, id: string): string {
  return `${session} ${id}`
}

export function callName(run: number, step: number, toolCallId: string): string {
  return `${run} ${step} ${toolCallId}`
}

function rangeOf(steps: ReadonlySet<number>): { readonly from: number; readonly to: number } {
  return { from: [...steps].reduce((a, b) => Math.min(a, b)), to: [...steps].reduce((a, b) => Math.max(a, b)) }
}
