import type { Write } from '../../contract/batch.ts'
import { noticeOfExpiry, noticesOfEvents, noticesOfRun } from '../../contract/draft-notices.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { Refused, refuseUnless } from '../../core/refused.ts'
import { expireSession, firstNumbers, newRun, newSession, patchRun, patchSession, withOutcome } from '../../core/rules.ts'
import { isHolding } from '../../contract/run-status.ts'
import { forgetRuns } from './children.ts'
import { callId, callsTable, heldByOther, isNewestCall, newHeld, Table } from './held-session.ts'
import { putNotices, relist } from './notices.ts'
import { heldOf, put, remove, runIn, setRecord, setRun } from './work.ts'
import type { Work } from './space.ts'

const writes: { readonly [T in Write['op']]: (work: Work, write: Extract<Write, { op: T }>) => void } = {
  'session.ensure'(work, { session }) {
    if (work.held) return
    const { space, key } = work
    work.held = newHeld(newSession(key, session, space.tombstones.get(key) ?? firstNumbers))
    put(work, space.sessions, key, work.held)
    remove(work, space.tombstones, [key])
  },
  'session.patch'(work, { patch }) {
    const held = heldOf(work)
    const { leaf } = patch
    refuseUnless(typeof leaf !== 'string' || held.entries.has(leaf), 'conflict')
    setRecord(work, patchSession(held.record, patch))
  },
  'session.expire'(work) {
    const { record } = heldOf(work)
    setRecord(work, expireSession(record, work.now))
    if (record.expiredAt === undefined) putNotices(work, (session) => [noticeOfExpiry(session)])
  },
  'session.delete'(work, { at, leavesNothing }) {
    const { space, key } = work
    const { record, runs, calls, notices } = heldOf(work)
    for (const notice of notices.values()) relist(work, notice)
    forgetRuns(work, [...runs.values()])
    const asked = [...calls.values()].flatMap((ofRun) => [...ofRun.values()].flatMap(({ approval }) => approval?.approvalId ?? []))
    remove(work, space.approvals, asked)
    remove(work, space.sessions, [key])
    const { version, nextSeq, nextRun } = record
    // One number is consumed by the event that ends readers.
    if (!leavesNothing) put(work, space.tombstones, key, { version: version + 1, nextSeq: nextSeq + 1, nextRun, deletedAt: at })
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
    putNotices(work, (session) => noticesOfEvents(session, events))
  },
  'run.insert'(work, { run }) {
    const held = heldOf(work)
    const { inputId } = run
    refuseUnless(inputId === undefined || !held.inputs.has(inputId), 'id-reused')
    refuseUnless(!work.space.sessionOfRun.has(run.id), 'conflict')
    const inserted = newRun(held.record, run)
    setRun(work, inserted)
    put(work, work.space.sessionOfRun, run.id, held)
    if (inputId !== undefined) put(work, held.inputs, inputId, run.id)
    work.space.children.add(inserted)
    work.undo.push(() => work.space.children.remove(inserted))
    setRecord(work, { ...held.record, nextRun: held.record.nextRun + 1 })
  },
  'run.patch'(work, { runId, patch }) {
    const run = runIn(work, runId)
    if (!run) throw new Refused('conflict')
    const next = patchRun(run, patch, work.now)
    refuseUnless(!isHolding(next.status) || !heldByOther(heldOf(work), runId), 'busy')
    setRun(work, next)
    setRecord(work, withOutcome(heldOf(work).record, run, next))
    putNotices(work, (session) => noticesOfRun(session, run, next))
  },
  'call.put'(work, { calls }) {
    const held = heldOf(work)
    for (const call of calls) {
      const ofRun = held.calls.get(call.runId) ?? new Table<string, ToolCallRecord>(callsTable(call.runId))
      refuseUnless(held.runs.has(call.runId) && ofRun.get(callId(call))?.state !== 'settled', 'conflict')
      put(work, held.calls, call.runId, ofRun)
      put(work, ofRun, callId(call), call)
      if (isNewestCall(held, call)) put(work, held.newestCalls, call.toolCallId, call)
      if (call.approval) put(work, work.space.approvals, call.approval.approvalId, { calls: ofRun, id: callId(call) })
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
  'inbox.patch'(work, { rows }) {
    const { inbox } = heldOf(work)
    for (const row of rows) {
      const { at } = inbox.get(row.id) ?? {}
      if (at !== undefined) put(work, inbox, row.id, { ...row, at })
    }
  },
  'inbox.take'(work, { ids }) {
    const { inbox } = heldOf(work)
    remove(work, inbox, ids)
  },
  'definition.put'(work, { hash, body }) {
    const { definitions } = work.space
    if (!definitions.has(hash)) put(work, definitions, hash, body)
  },
  'timer.put'(work, { timers }) {
    const held = heldOf(work)
    for (const timer of timers) put(work, held.timers, timer.id, { ...timer, session: work.key })
  },
  'timer.drop'(work, { ids }) {
    const { timers } = heldOf(work)
    remove(work, timers, ids)
  },
}

export function applyWrites(work: Work, list: readonly Write[]): void {
  for (const write of list) writes[write.op](work, write as never)
}
