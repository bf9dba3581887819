import type { Batch, CommitResult, Delivery, NewEvent } from '../../contract/batch.ts'
import type { InboxSteering, InboxTaken } from '../../contract/records.ts'
import { isOpen } from '../../contract/run-status.ts'
import { parseStored } from '../../json.ts'
import { namedInputs, type NamedInput } from '../named-inputs.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { touchSession, withStatus } from '../rules.ts'
import type { RunState } from '../rules.ts'
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

/**
 * A batch, to be run as one transaction: what it depends on is read at once, then all is decided, then all is written. A
 * refusal is thrown.
 */
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
    // What was written since is not known yet.
    const latest = written.has(part.key) ? yield* learn(context, needsOf([part])) : known
    noticesPut += yield* deliver(context, latest, part)
    written.add(part.key)
  }
  return noticesPut > 0 ? { ...result, notices: true } : result
}

function partOf({ to, when = [], writes, notify }: Delivery): { readonly part: Part } {
  return { part: { key: to, expect: when, writes, notify } }
}

/** The answer that this batch got before, when it is the last one of its session or of a run that it writes for. */
function repeatOf(work: Work, batch: Batch): CommitResult | undefined {
  const { session } = work
  if (session?.batchId === batch.id) return answerBefore(batch, session)
  return answerBefore(batch, runsNamedBy(work, batch).find((run) => run.batchId === batch.id))
}

/** The answer to an input that was accepted before under its id. */
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

function acceptedInput(known: Known, session: number, { inputId, rowId }: NamedInput): { readonly runId: string; readonly hash?: string } | undefined {
  const body = rowId === undefined ? undefined : known.inbox.get(nameIn(session, rowId))
  return known.inputs.get(nameIn(session, inputId)) ?? (body === undefined ? undefined : parseStored<InboxSteering | InboxTaken>(body, `The inbox row ${rowId}`))
}

/** Decides all that the part does, and what it is answered. */
function* decide(work: Work, { expect, writes }: Pick<Batch, 'expect' | 'writes'>): Steps<Applied> {
  applyWrites(work, writes)
  const session = sessionOf(work)
  for (const refers of work.references) refuseUnless(isThere(work, refers), 'conflict')
  checkEndedRuns(work)
  const { record } = session
  session.record = touchSession(work.runsMoved && !session.isGone ? withStatus(record, yield* nextRun(work)) : record, work.now)
  const { id: sessionId, version, nextSeq } = session.record
  const events = writes.reduce((count, write) => count + (write.op === 'event.append' ? write.events.length : 0), 0)
  const result = { ok: true, sessionId, version, firstSeq: nextSeq - events, lastSeq: nextSeq - 1 } as const
  if (!session.isGone) endWork(work, result, runsNamedBy(work, { expect, writes }))
  return result
}

/** The run that holds the session, else the next one of its queue. Seldom the head of the queue is not known yet. */
function* nextRun(work: Work): Steps<RunState | undefined> {
  const { key, context, known, runs } = work
  if (known.heads.has(key) || work.session?.isNew || isHeld(work)) return firstOpenRun(work)
  const needs = needsOf([{ key, expect: [], writes: [] }])
  needs.heads.set(key, runs.size)
  const { runs: more, heads } = yield* learn(context, needs)
  work.known = { ...known, heads, runs: new Map([...more, ...known.runs]) }
  return firstOpenRun(work)
}

const savepoint = command('savepoint delivery')
const release = command('release savepoint delivery')
const takeBack = command('rollback to savepoint delivery')

/** Applied to the session it is for, if that is there and as the delivery expects it. Gives how many notices it puts. */
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

/** A run that has ended has no call without an outcome, also none that this batch put there. */
function checkEndedRuns(work: Work): void {
  for (const run of work.runs.values()) refuseUnless(!run?.changed || isOpen(run.state.status) || run.openCalls === 0, 'open-calls')
}
