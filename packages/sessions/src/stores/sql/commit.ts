import type { Batch, CommitResult, Delivery, NewEvent } from '../../contract/batch.ts'
import type { InboxSteering, InboxTaken } from '../../contract/records.ts'
import { isOpen } from '../../contract/run-status.ts'
import { parseStored } from '../../json.ts'
import { namedInputs, type NamedInput } from '../../core/named-inputs.ts'
import { Refused, refuseUnless } from '../../core/refused.ts'
import { touchSession, withStatus } from '../../core/rules.ts'
import type { RunState } from '../../core/rules.ts'
import { replaceDeltas } from './deltas.ts'
import { checkExpectations } from './expectations.ts'
import { learn, nameIn } from './known.ts'
import type { Known } from './known.ts'
import { needsOf } from './needs.ts'
import type { Part } from './needs.ts'
import { command, execute, executeAll } from './statement.ts'
import type { Steps } from './statement.ts'
import { answerBefore, beginWork, endWork, findRun, firstOpenRun, hasEntry, isHeld, sessionOf } from './work.ts'
import type { Applied, CommitContext, HeldRun, Work } from './work.ts'
import { callState } from './write-calls.ts'
import { applyWrites } from './writes.ts'

/** Runs a batch as one transaction: reads everything it depends on, then decides, then writes. A refusal is thrown. */
export function* commitBatch(batch: Batch, context: CommitContext): Steps<CommitResult> {
  const deliveries = (batch.deliver ?? []).map(partOf)
  const known = yield* learn(context, needsOf([batch, ...deliveries.map(({ part }) => part)]))
  const work = beginWork(context, known, { key: batch.key, batchId: batch.id, notify: batch.notify })
  const before = repeatOf(work, batch) ?? existingInput(work, batch)
  if (before) return before
  checkExpectations(work, batch.expect)
  const result = yield* decide(work, batch)
  replaceDeltas(work, batch)
  yield* executeAll(work.writes)
  const written = new Set([batch.key])
  let { noticesPut } = work
  for (const { part } of deliveries) {
    // Reads a session again if an earlier part has written to it.
    const latest = written.has(part.key) ? yield* learn(context, needsOf([part])) : known
    noticesPut += yield* deliver(context, latest, part)
    written.add(part.key)
  }
  return noticesPut > 0 ? { ...result, notices: true } : result
}

function partOf({ to, when = [], writes, notify }: Delivery): { readonly part: Part } {
  return { part: { key: to, expect: when, writes, notify } }
}

/** Returns the earlier result of this batch if it was the last one of its session or of a run that it writes to. */
function repeatOf(work: Work, batch: Batch): CommitResult | undefined {
  const { session } = work
  if (session?.batchId === batch.id) return answerBefore(batch, session)
  return answerBefore(
    batch,
    runsNamedBy(work, batch).find((run) => run.batchId === batch.id),
  )
}

/** Returns the result for an input whose id was accepted before. */
function existingInput({ session, known }: Work, batch: Batch): CommitResult | undefined {
  for (const input of session ? namedInputs(batch) : []) {
    const existing = session && acceptedInput(known, session.row, input)
    if (!existing) continue
    refuseUnless(existing.hash === input.hash, 'id-reused')
    const { id, version, nextSeq } = session.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.runId } }
  }
  return undefined
}

function acceptedInput(
  known: Known,
  session: number,
  { inputId, rowId }: NamedInput,
): { readonly runId: string; readonly hash?: string } | undefined {
  const body = rowId === undefined ? undefined : known.inbox.get(nameIn(session, rowId))
  return (
    known.inputs.get(nameIn(session, inputId)) ??
    (body === undefined ? undefined : parseStored<InboxSteering | InboxTaken>(body, `The inbox row ${rowId}`))
  )
}

/** Decides all writes of the part. Returns its result. */
function* decide(work: Work, { expect, writes }: Pick<Batch, 'expect' | 'writes'>): Steps<Applied> {
  applyWrites(work, writes)
  const session = sessionOf(work)
  for (const refers of work.references) refuseUnless(isThere(work, refers), 'conflict')
  checkEndedRuns(work)
  const { record } = session
  session.record = touchSession(
    work.runsMoved && !session.isGone ? withStatus(record, yield* nextRun(work)) : record,
    session.before,
    work.now,
  )
  const { id: sessionId, version, nextSeq } = session.record
  const events = writes.reduce((count, write) => count + (write.op === 'event.append' ? write.events.length : 0), 0)
  const result = { ok: true, sessionId, version, firstSeq: nextSeq - events, lastSeq: nextSeq - 1 } as const
  if (!session.isGone) endWork(work, result, runsNamedBy(work, { expect, writes }))
  return result
}

/** Returns the run that holds the session, or else the next one of its queue. Seldom has to read the head of the queue. */
function* nextRun(work: Work): Steps<RunState | undefined> {
  const { key, context, known, runs } = work
  if (known.heads.has(key) || work.session?.newRow || isHeld(work)) return firstOpenRun(work)
  const needs = needsOf([{ key, expect: [], writes: [] }])
  needs.heads.set(key, runs.size)
  const { runs: more, heads } = yield* learn(context, needs)
  work.known = { ...known, heads, runs: new Map([...more, ...known.runs]) }
  return firstOpenRun(work)
}

const savepoint = command('savepoint delivery')
const release = command('release savepoint delivery')
const takeBack = command('rollback to savepoint delivery')

/** Applies a delivery to its session, if that exists and meets the conditions. Returns the number of added notices. */
function* deliver(context: CommitContext, known: Known, part: Part): Steps<number> {
  const work = beginWork(context, known, part)
  try {
    checkExpectations(work, part.expect)
    yield* decide(work, { expect: [], writes: part.writes })
  } catch (error) {
    if (error instanceof Refused) return 0
    throw error
  }
  yield* execute(savepoint, {})
  try {
    yield* executeAll(work.writes)
  } catch (error) {
    if (!context.violatesConstraint(error)) throw error
    yield* execute(takeBack, {})
    work.noticesPut = 0
  }
  yield* execute(release, {})
  return work.noticesPut
}

function runsNamedBy(work: Work, batch: Pick<Batch, 'expect' | 'writes'>): readonly HeldRun[] {
  const fenced = batch.expect.map((expect) => (expect.that === 'fence' ? findRun(work, expect.runId) : undefined))
  const inserted = batch.writes.map((write) => (write.op === 'run.insert' ? findRun(work, write.run.id) : undefined))
  return [...fenced, ...inserted].filter((run) => run !== undefined)
}

function isThere(work: Work, refers: NonNullable<NewEvent['refers']>): boolean {
  if ('entryId' in refers) return hasEntry(work, refers.entryId)
  const run = findRun(work, 'call' in refers ? refers.call.runId : refers.runInput)
  if (!run) return false
  return 'runInput' in refers || callState(work, run, refers.call) === 'settled'
}

/** Refuses a batch after which an ended run has calls without an outcome, calls of this batch included. */
function checkEndedRuns(work: Work): void {
  for (const run of work.runs.values()) refuseUnless(!run?.changed || isOpen(run.state.status) || run.openCalls === 0, 'open-calls')
}
