import type { Claim, ClaimRequest, Lease, LeaseState } from '../../store/contract.ts'
import type { RunRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import { claimRun } from '../rules.ts'
import { runColumns, runState, sessionColumns, sessionRecord } from './rows.ts'
import type { Connection, Database, RunRow } from './tables.ts'

interface ClaimContext {
  readonly namespace: string
  readonly now: number
}

/**
 * The claim of a store that one process holds: who runs under another owner than the one that asks has lost it, whatever
 * its lease says.
 */
export async function claimRuns(db: Database, request: ClaimRequest, context: ClaimContext): Promise<readonly Claim[]> {
  if (request.max < 1 || request.agents.length === 0) return []
  return db.transaction().execute(async (connection) => {
    const claims: Claim[] = []
    for (const row of await findClaimable(connection, request, context)) {
      claims.push(await claimRow(connection, row, request, context))
    }
    return claims
  })
}

function findClaimable(connection: Connection, request: ClaimRequest, { namespace }: ClaimContext): Promise<RunRow[]> {
  const { owner, max, agents, runId } = request
  let query = connection
    .selectFrom('run')
    .innerJoin('session', 'session.row', 'run.session')
    .selectAll('run')
    .where('run.namespace', '=', namespace)
    .where('run.ended_at', 'is', null)
    .where('session.agent', 'in', agents)
    .where((where) =>
      where.or([
        where('run.status', '=', 'queued'),
        where.and([where('run.status', '=', 'running'), where('run.owner', 'is distinct from', owner)]),
      ]),
    )
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            // Open and accepted earlier, or holding the session.
            .where((other) => other.or([other('other.n', '<', other.ref('run.n')), other('other.status', '<>', 'queued')])),
        ),
      ),
    )
    .orderBy('run.created_at')
    .orderBy('run.row')
    .limit(max)
  if (runId !== undefined) query = query.where('run.id', '=', runId)
  return query.execute()
}

async function claimRow(
  connection: Connection,
  row: RunRow,
  request: ClaimRequest,
  { now }: ClaimContext,
): Promise<Claim> {
  const sessionRow = await connection.selectFrom('session').selectAll().where('row', '=', row.session).executeTakeFirstOrThrow()
  const input = await connection.selectFrom('run_input').select('body').where('run', '=', row.row).executeTakeFirstOrThrow()
  const before = sessionRecord(sessionRow)
  const session = { ...before, status: 'busy', version: before.version + 1 } as const
  const state = claimRun(runState(row, session.key), request, now)
  await connection.updateTable('run').set(runColumns(state)).where('row', '=', row.row).execute()
  await connection.updateTable('session').set(sessionColumns(session)).where('row', '=', row.session).execute()
  const run: RunRecord = { ...state, input: parseStored(input.body, `The run ${row.id}`) }
  return { run, session, previous: row.status === 'queued' ? 'queued' : 'running' }
}

export async function renewLeases(
  db: Database,
  leases: readonly Lease[],
  leaseUntil: number,
  namespace: string,
): Promise<readonly LeaseState[]> {
  if (leases.length === 0) return []
  return db.transaction().execute(async (connection) => {
    const states: LeaseState[] = []
    for (const { runId, epoch } of leases) {
      const held = await connection
        .updateTable('run')
        .set({ lease_until: leaseUntil })
        .where('namespace', '=', namespace)
        .where('id', '=', runId)
        .where('status', '=', 'running')
        .where('epoch', '=', epoch)
        .returning('stop')
        .executeTakeFirst()
      if (!held) states.push({ runId, held: false })
      else if (held.stop === null) states.push({ runId, held: true })
      else states.push({ runId, held: true, stopping: parseStored(held.stop, `The run ${runId}`) })
    }
    return states
  })
}
