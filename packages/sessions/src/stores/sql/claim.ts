import { sql } from 'kysely'
import type { Claim, ClaimRequest, Lease, LeaseState } from '../../contract/session-store.ts'
import { statusOfRun } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { claimableAt, claimRun } from '../rules.ts'
import { readWaiting } from './inbox.ts'
import { runState, runStateColumns, selectRuns, withInput } from './runs.ts'
import { findSessionByRow, sessionRecord, sessionState } from './sessions.ts'
import { all, columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, RunRow, RunStateTable, SessionStateTable } from './tables.ts'
import { statusColumns, updateRunStatus } from './write-runs.ts'

export interface ClaimContext {
  readonly namespace: string
  readonly now: number
}

interface CandidateSlots {
  readonly namespace: string
  readonly agents: string
  /** Null: any. */
  readonly runId: string | null
  readonly now: number
  readonly max: number
}

/** Each by an index that holds the runs of this status alone, in the order of acceptance. */
const queuedRuns = statement((db, slots: CandidateSlots, { listed }) =>
  selectCandidates(db, slots, listed<string>(slots.agents))
    .where('run.status', '=', sql.lit('queued'))
    .where((where) => where.or([where('run.not_before', 'is', null), where('run.not_before', '<=', slots.now)]))
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            .where((other) => other.or([other('other.place', '<', other.ref('run.place')), other('other.status', '<>', sql.lit('queued'))])),
        ),
      ),
    ),
)

/** A running run holds its session: it is the first, whatever the place of those that wait. */
const lostRuns = statement((db, slots: CandidateSlots & { readonly owner: string; readonly holds: string }, { listed }) =>
  selectCandidates(db, slots, listed<string>(slots.agents))
    .where('run.status', '=', sql.lit('running'))
    .where((where) => where.or([where('run_state.owner', 'is distinct from', slots.owner), where('run.id', 'not in', listed<string>(slots.holds))])),
)

/** Runs of living sessions, the oldest first. */
function selectCandidates(db: Database, { namespace, runId, now, max }: CandidateSlots, agents: ReturnType<typeof sql<string>>) {
  return selectRuns(db)
    .innerJoin('session', 'session.row', 'run.session')
    .innerJoin('session_state', 'session_state.session', 'run.session')
    .where('session_state.expired_at', 'is', null)
    .where((where) => where.or([where('session_state.expires_at', 'is', null), where('session_state.expires_at', '>', now)]))
    .where('run.namespace', '=', namespace)
    .where('session.agent', 'in', agents)
    .where('run.id', '=', (where) => where.fn.coalesce(sql<string>`${runId}`, 'run.id'))
    .orderBy('run.created_at')
    .orderBy('run.row')
    .limit(max)
}

/**
 * The claim of a store that one process holds: what runs under another owner, or is not among what the owner holds, is
 * lost, whatever its lease says.
 */
export function* claimRuns(request: ClaimRequest, context: ClaimContext): Steps<readonly Claim[]> {
  const { owner, max, agents, holds, runId = null } = request
  if (max < 1 || agents.length === 0) return []
  const slots = { namespace: context.namespace, agents: JSON.stringify(agents), runId, now: context.now, max }
  const lost = yield* all(lostRuns, { ...slots, owner, holds: JSON.stringify(holds), max: Number.MAX_SAFE_INTEGER })
  const due = lost.filter((row) => claimableAt(runState(row, ''), context.now) <= context.now)
  const found = [...due, ...(yield* all(queuedRuns, slots))]
  const claims: Claim[] = []
  for (const row of found.sort((a, b) => a.created_at - b.created_at).slice(0, max)) claims.push(yield* claimRow(row, request, context))
  return claims
}

const inputOf = statement((db, slots: { readonly run: number }) => db.selectFrom('run_input').select('body').where('run', '=', slots.run))

type ClaimedState = Omit<RunStateTable, 'open_calls' | 'batch_id' | 'batch'>

const updateRunState = statement((db, slots: ClaimedState) =>
  db
    .updateTable('run_state')
    .set(columnsOf(slots, ['epoch', 'owner', 'lease_until', 'stop', 'body']))
    .where('run', '=', slots.run),
)

const updateSessionState = statement(
  (db, slots: Pick<SessionStateTable, 'session' | 'status' | 'version'>) =>
    db.updateTable('session_state').set(columnsOf(slots, ['status', 'version'])).where('session', '=', slots.session),
)

function* claimRow(row: RunRow, request: ClaimRequest, { now }: ClaimContext): Steps<Claim> {
  const sessionRow = yield* findSessionByRow(row.session)
  const input = yield* first(inputOf, { run: row.row })
  if (!sessionRow || !input) throw new TypeError(`The run ${row.id} has no session or no input.`)
  const before = sessionRecord(sessionRow)
  const state = claimRun(runState(row, before.key), request, now)
  const session = { ...before, status: statusOfRun(state), version: before.version + 1 }
  yield* execute(updateRunState, { run: row.row, ...runStateColumns(state) })
  yield* execute(updateRunStatus, { row: row.row, ...statusColumns(state) })
  yield* execute(updateSessionState, { session: row.session, ...sessionState(session) })
  return { run: withInput(state, input.body), session, previous: row.status === 'queued' ? 'queued' : 'running', inbox: yield* readWaiting(row.session) }
}

const heldRun = statement((db, slots: { readonly namespace: string; readonly id: string; readonly epoch: number }) =>
  db
    .selectFrom('run')
    .innerJoin('run_state', 'run_state.run', 'run.row')
    .select(['run.row', 'run_state.stop'])
    .where('run.namespace', '=', slots.namespace)
    .where('run.id', '=', slots.id)
    .where('run.status', '=', sql.lit('running'))
    .where('run_state.epoch', '=', slots.epoch),
)

const updateLease = statement((db, slots: { readonly run: number; readonly lease_until: number }) =>
  db.updateTable('run_state').set(columnsOf(slots, ['lease_until'])).where('run', '=', slots.run),
)

export function* renewLeases(leases: readonly Lease[], leaseUntil: number, namespace: string): Steps<readonly LeaseState[]> {
  const states: LeaseState[] = []
  for (const { runId, epoch } of leases) {
    const held = yield* first(heldRun, { namespace, id: runId, epoch })
    if (!held) {
      states.push({ runId, held: false })
      continue
    }
    yield* execute(updateLease, { run: held.row, lease_until: leaseUntil })
    const stopping = held.stop === null ? {} : { stopping: parseStored<NonNullable<LeaseState['stopping']>>(held.stop, `The run ${runId}`) }
    states.push({ runId, held: true, ...stopping })
  }
  return states
}
