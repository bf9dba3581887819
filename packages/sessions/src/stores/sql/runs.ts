import { sql } from 'kysely'
import type { JSONValue } from '@bowline/llm'
import type { ChildQuery, Found, RunQuery } from '../../contract/session-store.ts'
import type { Page } from '../../contract/paging.ts'
import type { RunRecord, RunStatus } from '../../contract/records.ts'
import { bodyText, parseStored } from '../../json.ts'
import { pageLimit, pageOf, parseCreationPosition, parseNumberPosition, printCreationPosition } from '../../contract/paging.ts'
import { everyStatus, isOpen } from '../../contract/run-status.ts'
import type { RunState } from '../../core/rules.ts'
import type { SqlDialect } from './dialect.ts'
import { usualStatus } from './indexes.ts'
import { all, ask, first, statement, statementsFor, together } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, RunRow, RunStateTable } from './tables.ts'
import { atMost } from './values.ts'

/** Returns the record of a row, without its input. Fields without a column are in `body`. */
export function runState(row: RunRow, session: string): RunState {
  const where = `The run ${row.id}`
  return {
    id: row.id,
    session,
    n: row.n,
    firstSeq: row.first_seq,
    kind: row.kind,
    place: row.place,
    status: row.status,
    ...(row.not_before === null ? {} : { notBefore: row.not_before }),
    ...(row.input_id === null ? {} : { inputId: row.input_id }),
    inputHash: row.input_hash,
    createdAt: row.created_at,
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    epoch: row.epoch,
    ...(row.owner === null ? {} : { owner: row.owner }),
    ...(row.lease_until === null ? {} : { leaseUntil: row.lease_until }),
    ...(row.stop === null ? {} : { stop: parseStored(row.stop, where) }),
    attempts: row.attempts,
    ...(row.definition === null ? {} : { definition: row.definition }),
    ...parseStored<object>(row.body, where),
  } as RunState
}

/** Fields of the record with a column in `run` or `run_state`. */
const columnFields: ReadonlySet<string> = new Set<keyof RunState>([
  ...(['id', 'session', 'n', 'firstSeq', 'kind', 'place', 'status', 'inputId', 'inputHash', 'createdAt', 'endedAt', 'notBefore'] as const),
  ...(['epoch', 'owner', 'leaseUntil', 'stop', 'attempts', 'definition'] as const),
])

/** Columns that each commit of a run writes. */
export type RunProgress = Pick<RunStateTable, 'stop' | 'attempts' | 'definition' | 'body'>
/** Columns that a claim and its end change. In between, only renewals write the lease. */
export type RunLease = Pick<RunStateTable, 'epoch' | 'owner' | 'lease_until'>

export function progressColumns(run: RunState): RunProgress {
  const { stop, attempts, definition = null } = run
  return { stop: stop === undefined ? null : JSON.stringify(stop), attempts, definition, body: bodyText(run, columnFields) }
}

export function leaseColumns({ epoch, owner, leaseUntil }: RunState): RunLease {
  return { epoch, owner: owner ?? null, lease_until: leaseUntil ?? null }
}

const find = statement((db, slots: { readonly namespace: string; readonly id: string }) =>
  selectRecords(db).where('run.namespace', '=', slots.namespace).where('run.id', '=', slots.id),
)

interface ListSlots {
  readonly namespace: string
  readonly key: string
  readonly beyond: number
  readonly statuses: readonly RunStatus[]
  readonly status: RunStatus
  readonly limit: number
}

/** `open` and `ended` use indexes of open runs, and of runs that ended otherwise than usual. */
const listOf = statementsFor((db, slots: ListSlots, { isOneOf }, names: readonly ('newestFirst' | 'open' | 'ended')[]) => {
  const has = (name: (typeof names)[number]): boolean => names.includes(name)
  // Open runs are few: they are sorted, instead of searched in the index of all runs by number.
  const n = has('open') ? sql<number>`coalesce(${sql.ref('run.n')}, 0)` : sql.ref<number>('run.n')
  // One value, not a join: else the server may sort all runs of the session.
  const ofKey = db
    .selectFrom('session as wanted')
    .select('wanted.row')
    .where('wanted.namespace', '=', slots.namespace)
    .where('wanted.key', '=', slots.key)
  return selectRecords(db)
    .where('run.session', '=', ofKey)
    .where(n, has('newestFirst') ? '<' : '>', slots.beyond)
    .$if(!has('ended'), (list) => list.where((where) => isOneOf(where.ref('run.status'), slots.statuses, 'text')))
    .$if(has('open'), (list) => list.where('run.ended_at', 'is', null))
    .$if(has('ended'), (list) =>
      list.where('run.status', '=', slots.status).where('run.status', '<>', sql.lit(usualStatus)).where('run.ended_at', 'is not', null),
    )
    .orderBy(n, has('newestFirst') ? 'desc' : 'asc')
    .limit(atMost(slots.limit))
})

/** Columns by name: a column that a later version adds must not change the result of a prepared statement. */
export const runColumns = [
  ...(['run.row', 'run.session', 'run.namespace', 'run.id', 'run.n', 'run.first_seq', 'run.kind', 'run.place', 'run.status'] as const),
  ...([
    'run.not_before',
    'run.tenant',
    'run.parent_run',
    'run.parent_session',
    'run.input_id',
    'run.input_hash',
    'run.created_at',
    'run.ended_at',
  ] as const),
]

export const runStateColumns = [
  ...([
    'run_state.epoch',
    'run_state.owner',
    'run_state.lease_until',
    'run_state.stop',
    'run_state.attempts',
    'run_state.definition',
  ] as const),
  ...(['run_state.open_calls', 'run_state.body', 'run_state.batch_id', 'run_state.batch'] as const),
]

export function selectRuns(db: Database) {
  return db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .select([...runColumns, ...runStateColumns])
}

function selectRecords(db: Database) {
  return selectRuns(db)
    .innerJoin('session', 'session.row', 'run.session')
    .innerJoin('run_input', 'run_input.run', 'run.row')
    .select(['session.key as session_key', 'run_input.body as input'])
}

function runRecord(row: RunRow & { readonly session_key: string; readonly input: string }): RunRecord {
  return withInput(runState(row, row.session_key), row.input)
}

export function withInput(state: RunState, text: string): RunRecord {
  return { ...state, input: parseStored<JSONValue>(text, `The run ${state.id}`) }
}

export function* readRun(namespace: string, id: string): Steps<Found<RunRecord>> {
  const row = yield* first(find, { namespace, id })
  return row ? { status: 'found', value: runRecord(row) } : { status: 'missing' }
}

export function* listRuns(namespace: string, key: string, query: RunQuery): Steps<Page<RunRecord>> {
  const { newestFirst = false, page, status = everyStatus } = query
  const limit = pageLimit(query.limit)
  const start = newestFirst ? Number.MAX_SAFE_INTEGER : 0
  const beyond = page === undefined ? start : parseNumberPosition(page)
  const slots = { namespace, key, beyond, statuses: status, status: usualStatus, limit: limit + 1 } as const
  const [open, ended] = [status.filter(isOpen), status.filter((each) => !isOpen(each))]
  const parts = [
    ...(open.length > 0 ? [ask(listOf({ newestFirst, open: true }), slots)] : []),
    ...[...new Set(ended)].map((each) => ask(listOf({ newestFirst, ended: true }), { ...slots, status: each })),
  ]
  const { rows } = yield* together({ rows: status.includes(usualStatus) ? [ask(listOf({ newestFirst }), slots)] : parts })
  // A run that has ended between two reads is in both.
  const found = [...new Map(rows.map((row) => [row.row, row])).values()]
  const inOrder = found.sort((a, b) => (newestFirst ? b.n - a.n : a.n - b.n)).slice(0, limit + 1)
  return pageOf(inOrder.map(runRecord), limit, (last) => String(last.n))
}

interface ChildrenSlots {
  readonly namespace: string
  readonly parent: string
  readonly statuses: readonly RunStatus[]
  readonly createdAt: number
  readonly id: string
  readonly limit: number
}

const childrenOfRun = statement((db, slots: ChildrenSlots, dialect) =>
  selectChildren(db, slots, dialect).where('run.parent_run', '=', slots.parent),
)

const childrenOfSession = statement((db, slots: ChildrenSlots, dialect) =>
  selectChildren(db, slots, dialect).where('run.parent_session', '=', slots.parent),
)

function selectChildren(db: Database, { namespace, statuses, createdAt, id, limit }: ChildrenSlots, { isOneOf }: SqlDialect) {
  return selectRecords(db)
    .where('run.namespace', '=', namespace)
    .where((where) => isOneOf(where.ref('run.status'), statuses, 'text'))
    .where('run.created_at', '>=', createdAt)
    .where((where) => where.or([where('run.created_at', '>', createdAt), where('run.id', '>', id)]))
    .orderBy('run.created_at')
    .orderBy('run.id')
    .limit(atMost(limit))
}

export function* listChildren(namespace: string, { parent, status = everyStatus, page, ...query }: ChildQuery): Steps<Page<RunRecord>> {
  const limit = pageLimit(query.limit)
  const position = page === undefined ? { createdAt: -1, id: '' } : parseCreationPosition(page)
  const slots = { namespace, statuses: status, ...position, limit: limit + 1 }
  const rows =
    'runId' in parent
      ? yield* all(childrenOfRun, { ...slots, parent: parent.runId })
      : yield* all(childrenOfSession, { ...slots, parent: parent.session })
  return pageOf(rows.map(runRecord), limit, printCreationPosition)
}
