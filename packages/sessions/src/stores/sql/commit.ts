import { sql } from 'kysely'
import type { Batch, CommitResult } from '../../store/contract.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { isOpen, sessionStatus } from '../rules.ts'
import { checkExpectations } from './expectations.ts'
import type { Database } from './tables.ts'
import { beginWork, countOpenRuns, endWork, findRun, sessionOf } from './work.ts'
import type { CommitContext, HeldRun, Work } from './work.ts'
import { applyWrites, callState } from './writes.ts'

/** A batch as one transaction. A refusal rolls it back. */
export async function commitBatch(db: Database, batch: Batch, context: CommitContext): Promise<CommitResult> {
  try {
    return await db.transaction().execute(async (connection) => {
      const work = await beginWork(connection, batch, context)
      return (await repeatOf(work)) ?? (await existingInput(work)) ?? (await applyBatch(work))
    })
  } catch (error) {
    if (error instanceof Refused) return { ok: false, reason: error.reason }
    if (context.violatesConstraint(error)) return { ok: false, reason: 'conflict' }
    throw error
  }
}

/** The answer that this batch got before, when it is the last one of its session or of a run that it writes for. */
async function repeatOf(work: Work): Promise<CommitResult | undefined> {
  const holders = [work.session, ...(await runsNamedBy(work))]
  const before = holders.map((holder) => holder?.lastBatch).find((applied) => applied?.batchId === work.batch.id)
  if (!before) return undefined
  const { batchId: _, ...result } = before
  return result
}

async function existingInput({ batch, connection, session }: Work): Promise<CommitResult | undefined> {
  for (const write of batch.writes) {
    if (!session || write.op !== 'run.insert' || write.run.inputId === undefined) continue
    const existing = await connection
      .selectFrom('run')
      .select(['id', 'input_hash'])
      .where('session', '=', session.row)
      .where('input_id', '=', write.run.inputId)
      .executeTakeFirst()
    if (!existing) continue
    refuseUnless(existing.input_hash === write.run.inputHash, 'id-reused')
    const { id, version, nextSeq } = session.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.id } }
  }
  return undefined
}

async function applyBatch(work: Work): Promise<CommitResult> {
  await checkExpectations(work)
  const firstSeq = work.session?.record.nextSeq ?? 1
  await applyWrites(work)
  const session = sessionOf(work)
  await checkReferredCalls(work)
  await checkEndedRuns(work)
  const { record } = session
  const status = work.changedRuns.size > 0 ? sessionStatus([...(await countOpenRuns(work)).keys()]) : record.status
  const activeAt = Math.max(record.activeAt, work.now)
  session.record = { ...record, status, activeAt, version: record.version + 1 }
  const { id: sessionId, version, nextSeq } = session.record
  const result = { ok: true, sessionId, version, firstSeq, lastSeq: nextSeq - 1 } as const
  await endWork(work, { ...result, batchId: work.batch.id }, await runsNamedBy(work))
  return result
}

async function runsNamedBy(work: Work): Promise<readonly HeldRun[]> {
  const fenced = work.batch.expect.flatMap((expect) => (expect.that === 'fence' ? [expect.runId] : []))
  const inserted = work.batch.writes.flatMap((write) => (write.op === 'run.insert' ? [write.run.id] : []))
  const runs: HeldRun[] = []
  for (const runId of [...fenced, ...inserted]) {
    const run = await findRun(work, runId)
    if (run) runs.push(run)
  }
  return runs
}

async function checkReferredCalls(work: Work): Promise<void> {
  for (const call of work.callsReferredTo) {
    const run = await findRun(work, call.runId)
    refuseUnless(run !== undefined && (await callState(work, run, call)) === 'settled', 'conflict')
  }
}

/** A run that has ended has no call without an outcome, also none that this batch put there. */
async function checkEndedRuns(work: Work): Promise<void> {
  for (const runId of work.changedRuns) {
    const run = await findRun(work, runId)
    if (!run || isOpen(run.state.status)) continue
    const open = await work.connection
      .selectFrom('tool_call')
      .select('tool_call_id')
      .where('run', '=', run.row)
      .where('state', '<>', sql.lit('settled'))
      .executeTakeFirst()
    refuseUnless(!open, 'open-calls')
  }
}
