import type { Batch, CommitResult, Expect, NewEvent, Write } from '../../store/contract.ts'
import type { RunRecord, SessionRecord, ToolCallRecord } from '../../store/records.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { isHolding, isOpen, newRun, newSession, patchRun, patchSession } from '../rules.ts'
import { callId, heldByOther, referred, statusOf } from './held-session.ts'
import type { HeldSession, Space } from './held-session.ts'

interface Work {
  readonly space: Space
  readonly batch: Batch
  readonly now: number
  /** How to take back what was done so far, newest last. */
  readonly undo: (() => void)[]
  readonly changedRuns: Set<string>
  readonly references: NonNullable<NewEvent['refers']>[]
  held: HeldSession | undefined
}

export function commitBatch(space: Space, batch: Batch, now: number): CommitResult {
  const held = space.sessions.get(batch.key)
  const work: Work = { space, batch, now, held, undo: [], changedRuns: new Set(), references: [] }
  try {
    return repeatOf(work) ?? existingInput(work) ?? applyBatch(work)
  } catch (error) {
    for (const takeBack of work.undo.reverse()) takeBack()
    if (error instanceof Refused) return { ok: false, reason: error.reason }
    throw error
  }
}

/** The answer that this batch got before, when it is the last one of its session or of a run that it writes for. */
function repeatOf({ held, batch }: Work): CommitResult | undefined {
  const names = ['', ...runsNamedBy(batch)]
  const before = names.map((name) => held?.applied.get(name)).find((applied) => applied?.batchId === batch.id)
  if (!before) return undefined
  const { batchId: _, ...result } = before
  return result
}

function existingInput({ held, batch }: Work): CommitResult | undefined {
  for (const write of batch.writes) {
    if (!held || write.op !== 'run.insert' || write.run.inputId === undefined) continue
    const existing = [...held.runs.values()].find((run) => run.inputId === write.run.inputId)
    if (!existing) continue
    refuseUnless(existing.inputHash === write.run.inputHash, 'id-reused')
    const { id, version, nextSeq } = held.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.id } }
  }
  return undefined
}

function applyBatch(work: Work): CommitResult {
  for (const expect of work.batch.expect) expectations[expect.that](work, expect as never)
  const firstSeq = work.held?.record.nextSeq ?? 1
  for (const write of work.batch.writes) writes[write.op](work, write as never)
  const held = heldOf(work)
  checkReferences(work, held)
  checkEndedRuns(work, held)
  const { record } = held
  const status = work.changedRuns.size > 0 ? statusOf(held) : record.status
  const activeAt = Math.max(record.activeAt, work.now)
  setRecord(work, { ...record, status, activeAt, version: record.version + 1 })
  const { id: sessionId, version, nextSeq } = held.record
  const result = { ok: true, sessionId, version, firstSeq, lastSeq: nextSeq - 1 } as const
  for (const name of ['', ...runsNamedBy(work.batch)]) held.applied.set(name, { ...result, batchId: work.batch.id })
  return result
}

function runsNamedBy(batch: Batch): string[] {
  const fenced = batch.expect.flatMap((expect) => (expect.that === 'fence' ? [expect.runId] : []))
  const inserted = batch.writes.flatMap((write) => (write.op === 'run.insert' ? [write.run.id] : []))
  return [...fenced, ...inserted]
}

function heldOf(work: Work): HeldSession {
  if (!work.held) throw new Refused('missing')
  return work.held
}

function runIn(work: Work, runId: string): RunRecord | undefined {
  return work.held?.runs.get(runId)
}

function checkReferences(work: Work, held: HeldSession): void {
  for (const refers of work.references) refuseUnless(referred(held, refers) !== undefined, 'conflict')
}

function checkEndedRuns(work: Work, held: HeldSession): void {
  for (const runId of work.changedRuns) {
    const calls = [...(held.calls.get(runId)?.values() ?? [])]
    const ended = !held.openRuns.has(runId)
    refuseUnless(!ended || calls.every((call) => call.state === 'settled'), 'open-calls')
  }
}

const expectations: { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => void } = {
  session({ held }, { id, version }) {
    if (id === null) return refuseUnless(!held, 'conflict')
    if (!held) throw new Refused('missing')
    const { record } = held
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
  },
  fence(work, { runId, epoch }) {
    const run = runIn(work, runId)
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },
  idle({ held }) {
    refuseUnless(!held || held.openRuns.size === 0, 'busy')
  },
  'none-queued'({ held }, { except }) {
    refuseUnless([...(held?.openRuns.keys() ?? [])].every((runId) => runId === except), 'runs-queued')
  },
  'queue-below'({ held }, { max }) {
    const queued = [...(held?.openRuns.values() ?? [])].filter((run) => run.status === 'queued')
    refuseUnless(queued.length < max, 'queue-full')
  },
  run(work, { runId, status, notStopping }) {
    const run = runIn(work, runId)
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },
}

const writes: { readonly [T in Write['op']]: (work: Work, write: Extract<Write, { op: T }>) => void } = {
  'session.ensure'(work, { session }) {
    if (work.held) return
    work.held = {
      record: newSession(work.batch.key, session),
      entries: new Map(),
      events: new Map(),
      runs: new Map(),
      openRuns: new Map(),
      calls: new Map(),
      inbox: new Map(),
      applied: new Map(),
    }
    put(work, work.space.sessions, work.batch.key, work.held)
  },
  'session.patch'(work, { patch }) {
    const held = heldOf(work)
    const { leaf } = patch
    refuseUnless(typeof leaf !== 'string' || held.entries.has(leaf), 'conflict')
    setRecord(work, patchSession(held.record, patch))
  },
  'entry.append'(work, { entries }) {
    const held = heldOf(work)
    for (const entry of entries) {
      refuseUnless(entry.parentId === null || held.entries.has(entry.parentId), 'conflict')
      refuseUnless(!held.entries.has(entry.id), 'conflict')
      if ('call' in entry) work.references.push({ call: entry.call })
      put(work, held.entries, entry.id, { ...entry, n: held.entries.size + 1 })
      setRecord(work, { ...held.record, leaf: entry.id })
    }
  },
  'event.append'(work, { events }) {
    const held = heldOf(work)
    for (const event of events) {
      if (event.refers) work.references.push(event.refers)
      put(work, held.events, held.record.nextSeq, event)
      setRecord(work, { ...held.record, nextSeq: held.record.nextSeq + 1 })
    }
  },
  'run.insert'(work, { run }) {
    const held = heldOf(work)
    refuseUnless(!work.space.sessionOfRun.has(run.id), 'conflict')
    setRun(work, newRun(held.record, run))
    put(work, work.space.sessionOfRun, run.id, held)
    setRecord(work, { ...held.record, nextRun: held.record.nextRun + 1 })
  },
  'run.patch'(work, { runId, patch }) {
    const run = runIn(work, runId)
    if (!run) throw new Refused('conflict')
    const next = patchRun(run, patch, work.now)
    refuseUnless(!isHolding(next.status) || !heldByOther(heldOf(work), runId), 'busy')
    setRun(work, next)
  },
  'call.put'(work, { calls }) {
    const held = heldOf(work)
    for (const call of calls) {
      const ofRun = held.calls.get(call.runId) ?? new Map<string, ToolCallRecord>()
      refuseUnless(held.runs.has(call.runId) && ofRun.get(callId(call))?.state !== 'settled', 'conflict')
      put(work, held.calls, call.runId, ofRun)
      put(work, ofRun, callId(call), call)
      work.changedRuns.add(call.runId)
    }
  },
  'inbox.put'(work, { rows }) {
    const { inbox } = heldOf(work)
    for (const row of rows) {
      refuseUnless(!inbox.has(row.id), 'inbox')
      put(work, inbox, row.id, row)
    }
  },
  'inbox.take'(work, { ids }) {
    const { inbox } = heldOf(work)
    for (const id of ids) remove(work, inbox, id)
  },
}

function put<K, V>(work: Work, map: Map<K, V>, key: K, value: V): void {
  const before = map.get(key)
  work.undo.push(() => (before === undefined ? map.delete(key) : map.set(key, before)))
  map.set(key, value)
}

function remove<K, V>(work: Work, map: Map<K, V>, key: K): void {
  if (!map.has(key)) return
  const all = [...map]
  // All of them again, so that the order stays as it was.
  work.undo.push(() => {
    map.clear()
    for (const [name, value] of all) map.set(name, value)
  })
  map.delete(key)
}

function setRecord(work: Work, record: SessionRecord): void {
  const held = heldOf(work)
  const before = held.record
  work.undo.push(() => (held.record = before))
  held.record = record
}

function setRun(work: Work, run: RunRecord): void {
  const held = heldOf(work)
  put(work, held.runs, run.id, run)
  if (isOpen(run.status)) put(work, held.openRuns, run.id, run)
  else remove(work, held.openRuns, run.id)
  work.changedRuns.add(run.id)
}
