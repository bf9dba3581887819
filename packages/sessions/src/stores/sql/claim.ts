import { sql } from 'kysely'
import type { Claim, ClaimRequest, Lease, LeaseState } from '../../contract/session-store.ts'
import { isHolding, statusOfRun } from '../../contract/run-status.ts'
import { parseStored } from '../../json.ts'
import { claimableAt, claimRun, hasExpired, TenantCounts } from '../../core/rules.ts'
import type { RunState } from '../../core/rules.ts'
import type { SqlDialect } from './dialect.ts'
import { askWaiting, inboxRecord } from './inbox.ts'
import type { WaitingRow } from './inbox.ts'
import { leaseColumns, progressColumns, runState, selectRuns, withInput } from './runs.ts'
import type { RunLease, RunProgress } from './runs.ts'
import { askSessionRows, sessionRecord, updateStatus } from './sessions.ts'
import type { StoreView } from './sessions.ts'
import { all, ask, columnsOf, execute, executeAll, statement, together } from './statement.ts'
import type { Call, RowOf, Steps } from './statement.ts'
import type { Database, RunRow, SessionRow, SessionStateTable } from './tables.ts'
import { statusColumns, updateRunStatus } from './write-runs.ts'
import { atMost, numberValue, textValue } from './values.ts'

/** Way of detecting the loss of a run: by its lease or, in a store of one process, by its owner. */
export type ClaimContext = StoreView & {
  readonly loss: 'lease' | 'owner'
  readonly processCheck?: ProcessCheck | undefined
  /** Whether to wait for or skip named sessions that other processes are writing to. A claim always skips other locked sessions. */
  readonly kept: Kept
}

export type Kept = 'wait' | 'skip'

/** Stops a process from claiming after another one has declared it dead. */
export interface ProcessCheck {
  /** Waits for a takeover of this process that is in progress. A later takeover waits until the claim is stored. */
  readonly keep: Call
  /** Returns no row if this process was taken over. */
  readonly find: Call
}

interface CandidateSlots {
  readonly namespace: string
  readonly agents: readonly string[]
  /** Id of the only run to claim. Null: any run. */
  readonly runId: string | null
  readonly now: number | null
  readonly max: number
}

type QueuedSlots = CandidateSlots & { readonly fullTenants: readonly string[] }

/** Uses an index of queued runs only, in order of acceptance. The statements below use one of running runs. */
const queuedSessions = statement((db, slots: QueuedSlots, dialect) =>
  selectCandidates(db, slots, dialect)
    .where('run.status', '=', sql.lit('queued'))
    .where((where) =>
      where.or([
        where('run.tenant', 'is', null),
        where.not(dialect.isOneOf(where.ref('run.tenant').$notNull(), slots.fullTenants, 'text')),
      ]),
    )
    .where((where) => where.or([where('run.not_before', 'is', null), where('run.not_before', '<=', dialect.time(slots.now))]))
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            .where((other) =>
              other.or([other('other.place', '<', other.ref('run.place')), other('other.status', '<>', sql.lit('queued'))]),
            ),
        ),
      ),
    ),
)

type OwnerSlots = CandidateSlots & { readonly owner: string; readonly holds: readonly string[] }

/** A running run holds its session, so it is the first open one, whatever the place of the queued runs. */
const sessionsOfOthers = statement((db, slots: OwnerSlots, dialect) =>
  selectCandidates(db, slots, dialect)
    .where('run.status', '=', sql.lit('running'))
    .where((where) =>
      where.or([
        where('run_state.owner', 'is distinct from', slots.owner),
        where.not(dialect.isOneOf(where.ref('run.id'), slots.holds, 'text')),
      ]),
    ),
)

/** Includes runs of the caller that it does not know of: the answer to its claim was lost. */
const sessionsWithoutLease = statement((db, slots: OwnerSlots, dialect) =>
  selectCandidates(db, slots, dialect)
    .where('run.status', '=', sql.lit('running'))
    .where((where) =>
      where.or([
        where.and([
          where('run_state.owner', 'is distinct from', slots.owner),
          where('run_state.lease_until', '<=', dialect.time(slots.now)),
        ]),
        where.and([where('run_state.owner', '=', slots.owner), where.not(dialect.isOneOf(where.ref('run.id'), slots.holds, 'text'))]),
      ]),
    ),
)

type NamedSlots = Pick<CandidateSlots, 'namespace' | 'agents'> & { readonly keys: readonly string[] }

/**
 * Locks the named sessions, in the order that every transaction with several sessions uses. Whether they can be claimed is checked
 * after.
 */
const namedSessions = {
  wait: statement((db, slots: NamedSlots, dialect) => dialect.lock(selectNamed(db, slots, dialect), 'session_state')),
  skip: statement((db, slots: NamedSlots, dialect) => dialect.lock(selectNamed(db, slots, dialect), 'session_state', 'skip')),
} as const

/** Starts from the keys, whatever the number of sessions: the order of cross joins is kept. */
function selectNamed(db: Database, { namespace, agents, keys }: NamedSlots, { isOneOf, rowsOf }: SqlDialect) {
  return db
    .selectFrom(rowsOf(keys).as('wanted'))
    .crossJoin('session')
    .crossJoin('session_state')
    .select('session.row as session')
    .where('session.namespace', '=', namespace)
    .whereRef('session.key', '=', 'wanted.value')
    .whereRef('session_state.session', '=', 'session.row')
    .where(isOneOf(agentOfSession, agents, 'text'))
    .orderBy('session.row')
}

/** No column: the index of the lists of an agent holds all of its sessions. */
const agentOfSession = sql<string>`coalesce(${sql.ref('session.agent')}, '')`

/** Selects sessions that have not expired and are not locked by others, those with the oldest runs first. */
function selectCandidates(db: Database, { namespace, runId, agents, now, max }: CandidateSlots, { isOneOf, lock, time }: SqlDialect) {
  const candidates = db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .innerJoin('session', 'session.row', 'run.session')
    .innerJoin('session_state', 'session_state.session', 'run.session')
    .select('run.session')
    .where('session_state.expired_at', 'is', null)
    .where((where) => where.or([where('session_state.expires_at', 'is', null), where('session_state.expires_at', '>', time(now))]))
    .where('run.namespace', '=', namespace)
    .where(isOneOf(agentOfSession, agents, 'text'))
    .where('run.id', '=', (where) => where.fn.coalesce(textValue(runId), 'run.id'))
    .orderBy('run.created_at')
    .orderBy('run.row')
    .limit(atMost(max))
  return lock(candidates, 'session_state', 'skip')
}

const runningPerTenant = statement((db, slots: { readonly namespace: string }) =>
  db
    .selectFrom('run')
    .select((select) => ['tenant', select.fn.countAll<number>().as('runs')])
    .where('namespace', '=', slots.namespace)
    .where('status', '=', sql.lit('running'))
    .where('tenant', 'is not', null)
    .groupBy('tenant'),
)

interface LeaseSlots {
  readonly namespace: string
  readonly now: number | null
  readonly leaseMs: number
}

/** Shortens leases that end later than one given now: they were given before the clock was set back. */
const boundLeases = statement((db, slots: LeaseSlots, { time }) =>
  db
    .updateTable('run_state')
    .set({ lease_until: untilFrom(time(slots.now), slots.leaseMs) })
    .where('run', 'in', (runs) =>
      runs.selectFrom('run').select('row').where('namespace', '=', slots.namespace).where('status', '=', sql.lit('running')),
    )
    .where('lease_until', '>', untilFrom(time(slots.now), slots.leaseMs)),
)

function untilFrom(now: ReturnType<SqlDialect['time']>, ms: number) {
  return sql<number>`${now} + ${numberValue(ms)}`
}

/** Locks in the order in which leases are renewed. */
const holdingRuns = statement((db, { sessions }: { readonly sessions: readonly number[] }, { isOneOf, lock }) =>
  lock(
    selectOpen(db)
      .where('run.status', '<>', sql.lit('queued'))
      .where((where) => isOneOf(where.ref('run.session'), sessions, 'number'))
      .orderBy('run.row'),
    'run_state',
  ),
)

const nextRun = statement((db, { session }: { readonly session: number }, { lock }) =>
  lock(
    selectOpen(db).where('run.status', '=', sql.lit('queued')).where('run.session', '=', session).orderBy('run.place').limit(sql.lit(1)),
    'run_state',
  ),
)

/** Selects open runs to be locked: the leases of locked runs cannot be renewed. */
function selectOpen(db: Database) {
  return selectRuns(db)
    .innerJoin('run_input', 'run_input.run', 'run.row')
    .select('run_input.body as input')
    .where('run.ended_at', 'is', null)
}

/** Claims runs. Reads the candidates again under the lock of their sessions, which decides. */
export function* claimRuns(request: ClaimRequest, context: ClaimContext): Steps<readonly Claim[]> {
  const { max, agents, maxRunsPerTenant } = request
  if (max < 1 || agents.length === 0) return []
  const tenants = maxRunsPerTenant === undefined ? undefined : yield* countTenants(context, maxRunsPerTenant)
  const claims: Claim[] = []
  const seen = new Set<number>()
  for (;;) {
    const sessions = (yield* candidates({ ...request, max: max - claims.length }, context, tenants?.full() ?? [])).filter(
      (session) => !seen.has(session),
    )
    for (const session of sessions) seen.add(session)
    if (sessions.length === 0) return claims
    const { states, runs, waiting } = yield* together({
      runs: [ask(holdingRuns, { sessions }), ...sessions.map((session) => ask(nextRun, { session }))],
      // Read after the locks are taken.
      states: askSessionRows(context.now, sessions),
      waiting: askWaiting(sessions),
    })
    const found = states.flatMap((session) => claimable(session, runs, request, context))
    const inOrder = found.sort((a, b) => a.run.created_at - b.run.created_at || a.run.row - b.run.row)
    const taken = inOrder.filter(({ run }) => tenants?.take(run) ?? true).slice(0, max - claims.length)
    for (const each of taken) claims.push(yield* claimOne(each, request, waiting))
    // If a tenant has reached its limit, runs queued after those of the tenant were not considered yet.
    if (claims.length === max || taken.length === inOrder.length) return claims
  }
}

function* countTenants({ namespace }: ClaimContext, most: number): Steps<TenantCounts> {
  const rows = yield* all(runningPerTenant, { namespace })
  return new TenantCounts(
    most,
    rows.flatMap(({ tenant, runs }) => (tenant === null ? [] : [[tenant, runs] as const])),
  )
}

function* candidates(
  request: ClaimRequest,
  { namespace, now, loss, processCheck, kept }: ClaimContext,
  fullTenants: readonly string[],
): Steps<readonly number[]> {
  const { owner, max, agents, holds, leaseMs, runId = null, keys, others = keys === undefined } = request
  const slots = { namespace, agents, runId, now, max }
  if (loss === 'lease' && others) yield* execute(boundLeases, { namespace, now, leaseMs })
  if (processCheck) yield* executeAll([processCheck.keep])
  const { named, lost, queued, living } = yield* together({
    // First, so that the claim holds no other session locked while it waits for these.
    named: keys?.length ? ask(namedSessions[kept], { namespace, agents, keys }) : undefined,
    // Without a limit: a lost run may have to wait for its backoff, and must not hide others.
    lost: others
      ? ask(loss === 'lease' ? sessionsWithoutLease : sessionsOfOthers, { ...slots, owner, holds, max: Number.MAX_SAFE_INTEGER })
      : undefined,
    queued: others ? ask(queuedSessions, { ...slots, fullTenants }) : undefined,
    living: processCheck?.find,
  })
  if (processCheck && living.length === 0) return []
  return [...new Set([...named, ...lost, ...queued].map(({ session }) => session))]
}

type OpenRunRow = RowOf<typeof nextRun>

interface Claimable {
  readonly session: SessionRow
  readonly run: OpenRunRow
  readonly state: RunState
  readonly now: number
}

/** Returns the first open run of the session, if it can be claimed. */
function claimable(
  session: SessionRow & { readonly now: number },
  runs: readonly OpenRunRow[],
  request: ClaimRequest,
  context: ClaimContext,
): readonly Claimable[] {
  const { now } = session
  const open = runs.filter((row) => row.session === session.row)
  const run = open.find(({ status }) => isHolding(status)) ?? open[0]
  const isWanted = run !== undefined && request.agents.includes(session.agent) && (request.runId ?? run.id) === run.id
  if (!isWanted || hasExpired(sessionRecord(session), now) || !(run.status === 'queued' || isLost(session, run, request, context)))
    return []
  const state = runState(run, session.key)
  return claimableAt(state, now) <= now ? [{ session, run, state, now }] : []
}

function isLost(
  { version, now }: SessionRow & { readonly now: number },
  { status, id, owner, lease_until: leaseUntil }: RunRow,
  request: ClaimRequest,
  { loss }: ClaimContext,
): boolean {
  if (status !== 'running') return false
  if (owner === request.owner) return !request.holds.includes(id)
  return loss === 'owner' || (leaseUntil ?? now) <= now || version === request.lostAt
}

const updateRunState = statement((db, slots: RunProgressSlots & RunLease) =>
  db
    .updateTable('run_state')
    .set(columnsOf(slots, ['stop', 'attempts', 'definition', 'body', 'epoch', 'owner', 'lease_until']))
    .where('run', '=', slots.run),
)

type RunProgressSlots = RunProgress & { readonly run: number }

const updateVersion = statement((db, slots: Pick<SessionStateTable, 'session' | 'version'>) =>
  db.updateTable('session_state').set({ version: slots.version }).where('session', '=', slots.session),
)

function* claimOne(
  { session: row, run, state: before, now }: Claimable,
  request: ClaimRequest,
  waiting: readonly WaitingRow[],
): Steps<Claim> {
  const state = claimRun(before, request, now)
  const record = sessionRecord(row)
  const session = { ...record, status: statusOfRun(state), version: record.version + 1 }
  yield* execute(updateRunState, { run: run.row, ...progressColumns(state), ...leaseColumns(state) })
  yield* execute(updateRunStatus, { row: run.row, ...statusColumns(state) })
  yield* execute(updateVersion, { session: row.row, version: session.version })
  yield* execute(updateStatus, { row: row.row, status: session.status })
  const inbox = waiting.filter((each) => each.session === row.row).map(inboxRecord)
  return { run: withInput(state, run.input), session, previous: run.status === 'queued' ? 'queued' : 'running', inbox }
}

const runningRuns = statement((db, slots: { readonly namespace: string; readonly ids: readonly string[] }, { isOneOf, lock }) =>
  lock(
    db
      .selectFrom('run')
      .innerJoin('run_state', 'run_state.run', 'run.row')
      .select(['run.row', 'run.id', 'run_state.epoch', 'run_state.stop'])
      .where('run.namespace', '=', slots.namespace)
      .where((where) => isOneOf(where.ref('run.id'), slots.ids, 'text'))
      .where('run.status', '=', sql.lit('running'))
      // Excludes runs that end concurrently: they have no owner, and after a wait for the lock only the locked row is read again.
      .where('run_state.owner', 'is not', null)
      .orderBy('run.row'),
    'run_state',
  ),
)

const updateLeases = statement(
  (db, slots: { readonly runs: readonly number[]; readonly now: number | null; readonly leaseMs: number }, { isOneOf, time }) =>
    db
      .updateTable('run_state')
      .set({ lease_until: untilFrom(time(slots.now), slots.leaseMs) })
      .where((where) => isOneOf(where.ref('run'), slots.runs, 'number')),
)

export function* renewLeases(leases: readonly Lease[], leaseMs: number, { namespace, now }: StoreView): Steps<readonly LeaseState[]> {
  const rows = yield* all(runningRuns, { namespace, ids: leases.map(({ runId }) => runId) })
  const heldBy = ({ runId, epoch }: Lease) => rows.find((row) => row.id === runId && row.epoch === epoch)
  const held = leases.map(heldBy)
  const runs = held.flatMap((row) => (row ? [row.row] : []))
  if (runs.length > 0) yield* execute(updateLeases, { runs, now, leaseMs })
  return leases.map(({ runId }, place) => {
    const row = held[place]
    if (!row) return { runId, held: false }
    const stopping = row.stop === null ? {} : { stopping: parseStored<NonNullable<LeaseState['stopping']>>(row.stop, `The run ${runId}`) }
    return { runId, held: true, ...stopping }
  })
}
