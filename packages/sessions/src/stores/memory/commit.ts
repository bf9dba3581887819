import type { Batch, CommitResult, Delivery } from '../../contract/batch.ts'
import { namedInputs, type NamedInput } from '../../core/named-inputs.ts'
import { Refused, refuseUnless } from '../../core/refused.ts'
import { touchSession } from '../../core/rules.ts'
import { checkExpectations } from './expectations.ts'
import { afterRuns, referred } from './held-session.ts'
import type { HeldSession } from './held-session.ts'
import type { Space, Work } from './space.ts'
import { heldOf, inOneStep, put, setRecord } from './work.ts'
import { applyWrites } from './writes.ts'

export function commitBatch(space: Space, batch: Batch, now: number): CommitResult {
  const before = space.noticesPut
  const apply = (work: Work): CommitResult => repeatOf(work, batch) ?? existingInput(work, batch) ?? applyBatch(work, batch)
  try {
    const result = inOneStep(space, batch.key, now, apply)
    return result.ok && space.noticesPut > before ? { ...result, notices: true } : result
  } catch (error) {
    if (error instanceof Refused) return { ok: false, reason: error.reason }
    throw error
  }
}

/** Returns the earlier result of this batch if it was the last one of its session or of a run that it writes to. */
function repeatOf({ held }: Work, batch: Batch): CommitResult | undefined {
  const names = ['', ...runsNamedBy(batch)]
  const before = names.map((name) => held?.applied.get(name)).find((applied) => applied?.batchId === batch.id)
  if (!before) return undefined
  const { batchId: _, ...result } = before
  return result
}

/** Returns the result for an input whose id was accepted before. */
function existingInput({ held }: Work, batch: Batch): CommitResult | undefined {
  for (const input of namedInputs(batch)) {
    const existing = held && acceptedInput(held, input)
    if (!existing) continue
    refuseUnless(existing.hash === input.hash, 'id-reused')
    const { id, version, nextSeq } = held.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.runId } }
  }
  return undefined
}

function acceptedInput(
  { runs, inputs, inbox }: HeldSession,
  { inputId, rowId }: NamedInput,
): { readonly runId: string; readonly hash?: string } | undefined {
  const run = runs.get(inputs.get(inputId) ?? '')
  if (run) return { runId: run.id, hash: run.inputHash }
  const row = rowId === undefined ? undefined : inbox.get(rowId)
  return row?.kind === 'steer' || row?.kind === 'taken' ? row.body : undefined
}

function applyBatch(work: Work, batch: Batch): CommitResult {
  checkExpectations(work, batch.expect)
  const firstSeq = work.held?.record.nextSeq ?? work.space.tombstones.get(batch.key)?.nextSeq ?? 1
  work.notify = batch.notify ?? []
  applyWrites(work, batch.writes)
  const held = endWork(work)
  if (work.space.keep) work.outbox = batch.deliver ?? []
  else for (const delivery of batch.deliver ?? []) work.undo.push(...applyDelivery(work.space, delivery, work.now))
  // Reads the held session: a batch that deletes its session gets the last state of it.
  const { id: sessionId, version, nextSeq } = held.record
  const result = { ok: true, sessionId, version, firstSeq, lastSeq: nextSeq - 1 } as const
  for (const name of ['', ...runsNamedBy(batch)]) put(work, held.applied, name, { ...result, batchId: batch.id })
  return result
}

/** Applies a delivery to its session, if that exists and meets the conditions. Returns the undo steps. */
export function applyDelivery(space: Space, { id, to, when = [], writes, notify = [] }: Delivery, now: number): readonly (() => void)[] {
  try {
    return inOneStep(space, to, now, (work) => {
      work.received = id
      work.notify = notify
      checkExpectations(work, when)
      applyWrites(work, writes)
      endWork(work)
      return work.undo
    })
  } catch (error) {
    if (error instanceof Refused) return []
    throw error
  }
}

function endWork(work: Work): HeldSession {
  const held = heldOf(work)
  checkReferences(work, held)
  checkEndedRuns(work, held)
  setRecord(work, touchSession(work.changedRuns.size > 0 ? afterRuns(held) : held.record, work.recordBefore, work.now))
  return held
}

function checkReferences(work: Work, held: HeldSession): void {
  for (const refers of work.references) refuseUnless(referred(held, refers) !== undefined, 'conflict')
}

function checkEndedRuns(work: Work, held: HeldSession): void {
  for (const runId of work.changedRuns) {
    if (held.openRuns.has(runId)) continue
    const calls = [...(held.calls.get(runId)?.values() ?? [])]
    refuseUnless(
      calls.every((call) => call.state === 'settled'),
      'open-calls',
    )
  }
}

function runsNamedBy(batch: Batch): string[] {
  const fenced = batch.expect.flatMap((expect) => (expect.that === 'fence' ? [expect.runId] : []))
  const inserted = batch.writes.flatMap((write) => (write.op === 'run.insert' ? [write.run.id] : []))
  return [...fenced, ...inserted]
}
