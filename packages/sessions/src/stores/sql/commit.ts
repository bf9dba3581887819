import type { Batch, CommitResult, NewEvent } from '../../store/contract.ts'
import { refuseUnless } from '../refused.ts'
import { isOpen, sessionStatus } from '../rules.ts'
import { checkExpectations } from './expectations.ts'
import { first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import { answerBefore, beginWork, countOpenRuns, endWork, findRun, hasEntry, isPut, sessionOf } from './work.ts'
import type { CommitContext, Work } from './work.ts'
import { applyWrites } from './writes.ts'
import { callState } from './write-calls.ts'

/** A batch, to be run as one transaction: a refusal is thrown, and what was done before it must be rolled back. */
export function* commitBatch(batch: Batch, context: CommitContext): Steps<CommitResult> {
  const work = yield* beginWork(batch, context)
  return (yield* repeatOf(work)) ?? (yield* existingInput(work)) ?? (yield* applyBatch(work))
}

/** The answer that this batch got before, when it is the last one of its session or of a run that it writes for. */
function* repeatOf(work: Work): Steps<CommitResult | undefined> {
  const { batch, session } = work
  if (session?.batchId === batch.id) return answerBefore(batch, session)
  for (const runId of work.namedRuns) {
    const run = yield* findRun(work, runId)
    if (run?.batchId === batch.id) return answerBefore(batch, run)
  }
  return undefined
}

const runOfInput = statement((db, slots: { readonly session: number; readonly inputId: string }) =>
  db.selectFrom('run').select(['id', 'input_hash']).where('session', '=', slots.session).where('input_id', '=', slots.inputId),
)

function* existingInput({ batch, session }: Work): Steps<CommitResult | undefined> {
  for (const write of batch.writes) {
    if (!session || write.op !== 'run.insert' || write.run.inputId === undefined) continue
    const existing = yield* first(runOfInput, { session: session.row, inputId: write.run.inputId })
    if (!existing) continue
    refuseUnless(existing.input_hash === write.run.inputHash, 'id-reused')
    const { id, version, nextSeq } = session.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.id } }
  }
  return undefined
}

function* applyBatch(work: Work): Steps<CommitResult> {
  yield* checkExpectations(work)
  const firstSeq = work.session?.record.nextSeq ?? 1
  yield* applyWrites(work)
  const session = sessionOf(work)
  yield* checkReferences(work)
  checkEndedRuns(work)
  const { record } = session
  const status = work.runsMoved ? sessionStatus([...(yield* countOpenRuns(work)).keys()]) : record.status
  const activeAt = Math.max(record.activeAt, work.now)
  session.record = { ...record, status, activeAt, version: record.version + 1 }
  const { id: sessionId, version, nextSeq } = session.record
  const result = { ok: true, sessionId, version, firstSeq, lastSeq: nextSeq - 1 } as const
  yield* endWork(work, result)
  return result
}

function* checkReferences(work: Work): Steps<void> {
  for (const refers of work.references) refuseUnless(isPut(work, refers) || (yield* isThere(work, refers)), 'conflict')
}

function* isThere(work: Work, refers: NonNullable<NewEvent['refers']>): Steps<boolean> {
  if ('entryId' in refers) return yield* hasEntry(work, refers.entryId)
  const run = yield* findRun(work, 'call' in refers ? refers.call.runId : refers.runInput)
  if (!run) return false
  return 'runInput' in refers || (yield* callState(work, run, refers.call)) === 'settled'
}

/** A run that has ended has no call without an outcome, also none that this batch put there. */
function checkEndedRuns(work: Work): void {
  for (const run of work.runs.values()) refuseUnless(!run?.changed || isOpen(run.state.status) || run.openCalls === 0, 'open-calls')
}
