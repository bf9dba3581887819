import type { Batch, CommitResult, Delivery, NewEvent } from '../../contract/batch.ts'
import type { InboxSteering, InboxTaken } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { namedInputs, type NamedInput } from '../named-inputs.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { touchSession, withStatus } from '../rules.ts'
import { isOpen } from '../../contract/run-status.ts'
import { checkExpectations } from './expectations.ts'
import { command, execute, first } from './statement.ts'
import type { Steps } from './statement.ts'
import { answerBefore, beginWork, endWork, findRun, hasEntry, sessionOf } from './work.ts'
import type { Applied, CommitContext, HeldRun, Work } from './work.ts'
import { applyWrites, inboxRow } from './writes.ts'
import { callState } from './write-calls.ts'
import { firstOpenRun, runOfInput } from './write-runs.ts'

/** A batch, to be run as one transaction: a refusal is thrown, and what was done before it must be rolled back. */
export function* commitBatch(batch: Batch, context: CommitContext): Steps<CommitResult> {
  const work = yield* beginWork(batch.key, batch.id, context)
  return (yield* repeatOf(work, batch)) ?? (yield* existingInput(work, batch)) ?? (yield* applyBatch(work, batch))
}

/** The answer that this batch got before, when it is the last one of its session or of a run that it writes for. */
function* repeatOf(work: Work, batch: Batch): Steps<CommitResult | undefined> {
  const { session } = work
  if (session?.batchId === batch.id) return answerBefore(batch, session)
  const runs = yield* runsNamedBy(work, batch)
  return answerBefore(batch, runs.find((run) => run.batchId === batch.id))
}

/** The answer to an input that was accepted before under its id. */
function* existingInput({ session }: Work, batch: Batch): Steps<CommitResult | undefined> {
  for (const input of session ? namedInputs(batch) : []) {
    const existing = session && (yield* acceptedInput(session.row, input))
    if (!existing) continue
    refuseUnless(existing.hash === input.hash, 'id-reused')
    const { id, version, nextSeq } = session.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.runId } }
  }
  return undefined
}

function* acceptedInput(session: number, { inputId, rowId }: NamedInput): Steps<{ readonly runId: string; readonly hash?: string } | undefined> {
  const run = yield* first(runOfInput, { session, inputId })
  if (run) return { runId: run.id, hash: run.input_hash }
  const row = rowId === undefined ? undefined : yield* first(inboxRow, { session, id: rowId })
  return row && parseStored<InboxSteering | InboxTaken>(row.body, `The inbox row ${row.id}`)
}

function* applyBatch(work: Work, batch: Batch): Steps<CommitResult> {
  yield* checkExpectations(work, batch.expect)
  const result = yield* applyAll(work, batch)
  for (const delivery of batch.deliver ?? []) yield* deliver(work, delivery)
  return result
}

function* applyAll(work: Work, { expect, writes }: Pick<Batch, 'expect' | 'writes'>): Steps<Applied> {
  yield* applyWrites(work, writes)
  const session = sessionOf(work)
  yield* checkReferences(work)
  checkEndedRuns(work)
  const { record } = session
  session.record = touchSession(work.runsMoved ? withStatus(record, yield* firstOpenRun(work)) : record, work.now)
  const { id: sessionId, version, nextSeq } = session.record
  const events = writes.reduce((count, write) => count + (write.op === 'event.append' ? write.events.length : 0), 0)
  const result = { ok: true, sessionId, version, firstSeq: nextSeq - events, lastSeq: nextSeq - 1 } as const
  if (!session.isGone) yield* endWork(work, result, yield* runsNamedBy(work, { expect, writes }))
  return result
}

const savepoint = command('savepoint delivery')
const release = command('release delivery')
const takeBack = command('rollback to delivery')

/** Applied to the session it is for, if that is there and as the delivery expects it. */
function* deliver(context: CommitContext, { to, when = [], writes }: Delivery): Steps<void> {
  yield* execute(savepoint, {})
  try {
    const work = yield* beginWork(to, null, context)
    yield* checkExpectations(work, when)
    yield* applyAll(work, { expect: [], writes })
  } catch (error) {
    if (!(error instanceof Refused) && !context.violatesConstraint(error)) throw error
    yield* execute(takeBack, {})
  }
  yield* execute(release, {})
}

function* runsNamedBy(work: Work, batch: Pick<Batch, 'expect' | 'writes'>): Steps<readonly HeldRun[]> {
  const runs: HeldRun[] = []
  for (const expect of batch.expect) {
    const run = expect.that === 'fence' ? yield* findRun(work, expect.runId) : undefined
    if (run) runs.push(run)
  }
  for (const write of batch.writes) {
    const run = write.op === 'run.insert' ? yield* findRun(work, write.run.id) : undefined
    if (run) runs.push(run)
  }
  return runs
}

function* checkReferences(work: Work): Steps<void> {
  for (const refers of work.references) refuseUnless(yield* isThere(work, refers), 'conflict')
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
