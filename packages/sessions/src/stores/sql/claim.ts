import { sql } from 'kysely'
import type { Claim, ClaimRequest, Lease, LeaseState } from '../../store/contract.ts'
import { parseStored } from '../json.ts'
import { claimRun } from '../rules.ts'
import { runState, runStateColumns, selectRuns, withInput } from './runs.ts'
import { findSessionByRow, sessionRecord, sessionState } from './sessions.ts'
import { all, columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, RunRow, RunStateTable, SessionStateTable } from './tables.ts'
import { updateRunStatus } from './write-runs.ts'

export interface ClaimContext {
  readonly namespace: string
  readonly now: number
}

interface CandidateSlots {
  readonly namespace: string
  readonly agents: string
  /** Null: any. */
  readonly runId: string | null
  readonly max: number
}

/** Each by an index that holds the runs of this status alone, in the order of acceptance. */
const queuedRuns = statement((db, slots: CandidateSlots, { listed }) =>
  selectCandidates(db, slots, listed<string>(slots.agents)).where('run.status', '=', sql.lit('queued')),
)

const runsOfOthers = statement((db, slots: CandidateSlots & { readonly owner: string }, { listed }) =>
  selectCandidates(db, slots, listed<string>(slots.agents))
    .where('run.status', '=', sql.lit('running'))
    .where('run_state.owner', 'is distinct from', slots.owner),
)

/** Runs of which no other one of their session is open and was accepted earlier, or holds it. */
function selectCandidates(db: Database, { namespace, runId, max }: CandidateSlots, agents: ReturnType<typeof sql<string>>) {
  return selectRuns(db)
    .innerJoin('session', 'session.row', 'run.session')
    .where('run.namespace', '=', namespace)
    .where('session.agent', 'in', agents)
    .where('run.id', '=', (where) => where.fn.coalesce(sql<string>`${runId}`, 'run.id'))
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            .where((other) => other.or([other('other.n', '<', other.ref('run.n')), other('other.status', '<>', sql.lit('queued'))])),
        ),
      ),
    )
    .orderBy('run.created_at')
    .orderBy('run.row')
    .limit(max)
}

/**
 * The claim of a store that one process holds: who runs under another owner than the one that asks has lost it, whatever
 * its lease says.
 */
export function* claimRuns(request: ClaimRequest, context: ClaimContext): Steps<readonly Claim[]> {
  const { owner, max, agents, runId = null } = request
  if (max < 1 || agents.length === 0) return []
  const slots = { namespace: context.namespace, agents: JSON.stringify(agents), runId, max }
  const found = [...(yield* all(runsOfOthers, { ...slots, owner })), ...(yield* all(queuedRuns, slots))]
  const claims: Claim[] = []
  for (const row of found.sort(byAcceptance).slice(0, max)) claims.push(yield* claimRow(row, request, context))
  return claims
}

function byAcceptance(a: RunRow, b: RunRow): number {
  return a.created_at - b.created_at || a.row - b.row
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
  const session = { ...before, status: 'busy', version: before.version + 1 } as const
  const state = claimRun(runState(row, session.key), request, now)
  yield* execute(updateRunState, { run: row.row, ...runStateColumns(state) })
  yield* execute(updateRunStatus, { row: row.row, status: state.status, ended_at: null })
  yield* execute(updateSessionState, { session: row.session, ...sessionState(session) })
  return { run: withInput(state, input.body), session, previous: row.status === 'queued' ? 'queued' : 'running' }
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
