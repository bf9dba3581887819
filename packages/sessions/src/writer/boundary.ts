import type { CommitExpectation, JournalRecord } from '@bowline/agent-loop'
import type { OpenQuestions } from '../contract/answers.ts'
import { isTerminal, isWaiting } from '../contract/run-status.ts'
import type { Expect, Write } from '../contract/batch.ts'

export function expectationsOf({ noInputs, nothingQueued }: CommitExpectation = {}, runId: string): readonly Expect[] {
  return [
    ...(noInputs ? [{ that: 'inbox-empty', kinds: ['steer', 'child-settled'] } as const] : []),
    ...(nothingQueued === undefined ? [] : [{ that: nothingQueued ? 'none-queued' : 'some-queued', except: runId } as const]),
  ]
}

/** Queues the run instead of letting it wait. */
export function goingOn(writes: readonly Write[]): readonly Write[] {
  return writes.map((write) => {
    if (write.op !== 'run.patch' || !write.patch.status || !isWaiting(write.patch.status)) return write
    return { ...write, patch: { ...write.patch, status: 'queued' } }
  })
}

/** Expects that nothing came that a waiting run would be woken for. `known`: number of answers that leave something open. */
export function nothingNew(known: number): readonly Expect[] {
  return [
    { that: 'inbox-empty', kinds: ['child-changed'] },
    { that: 'inbox-below', kind: 'answer', max: known + 1 },
  ]
}

/** Returns what the run asks for in this commit. */
export function questionsIn(records: readonly JournalRecord[]): OpenQuestions {
  const { pendingToolCalls = [], pendingApprovals = [] } = records.findLast((record) => record.type === 'run')?.run ?? {}
  return { pendingToolCalls, pendingApprovals }
}

/** True if the run starts to wait in this commit. With `followed`, it does so in a later commit. */
export function isSuspension(records: readonly JournalRecord[]): boolean {
  return records.some((record) => record.type === 'run' && record.run.state === 'suspended' && !record.run.followed)
}

export function eventTimeOf(records: readonly JournalRecord[]): number {
  return records.reduce((at, record) => (record.type === 'event' ? record.event.at : at), 0)
}

/** Returns the discarded messages that were stored before these records. */
export function withdrawnIn(records: readonly JournalRecord[]): ReadonlySet<string> {
  const withdrawn = new Set<string>()
  for (const record of records) if (record.type === 'discard') for (const id of record.messageIds) withdrawn.add(id)
  if (withdrawn.size > 0) for (const record of records) if (record.type === 'append') withdrawn.delete(record.message.id)
  return withdrawn
}

/** True if something starts, or the run waits, after the commit of this record. */
export function goesOn(record: JournalRecord): boolean {
  if (record.type === 'run') return record.run.state === 'suspended'
  if (record.type !== 'event') return false
  return record.event.type === 'message-start' || record.event.type === 'tool-execution-start' || isFirstStart(record)
}

export function isEnd(record: JournalRecord): boolean {
  return record.type === 'run' && record.run.state === 'ended'
}

/** True for a reminder of background tasks that is shown to the model. */
export function isReminder(record: JournalRecord): boolean {
  return (
    record.type === 'event' &&
    record.event.type === 'runtime-input' &&
    record.event.source === 'notify' &&
    record.event.inputId.startsWith('reminder:')
  )
}

export function isFirstStart(record: JournalRecord): boolean {
  return record.type === 'event' && record.event.type === 'turn-start' && !record.event.resumed
}

/**
 * True if a commit must not wait for a later one: one of its records must be stored, or it settles a call that an extension keeps
 * in its record of the turn. The extension may act on that, and must find it after a crash.
 */
export function isDueNow(records: readonly JournalRecord[]): boolean {
  return records.some(mustBeStored) || (records.some(isSettledCall) && records.some(isKeptByExtension))
}

function isSettledCall(record: JournalRecord): boolean {
  return record.type === 'call' && !['pending', 'started', 'remote'].includes(record.call.state)
}

function isKeptByExtension(record: JournalRecord): boolean {
  return record.type === 'run' && Object.keys(record.run.extensionState ?? {}).length > 0
}

/**
 * True if the outside world or a waiting client depends on the record: a call that is not pure or that waits for an answer, or the
 * end of a segment. Also true for consumed inputs, which would otherwise be found in the inbox again.
 */
function mustBeStored(record: JournalRecord): boolean {
  if (record.type === 'inputs-taken') return true
  if (record.type === 'event') return record.event.type === 'awaiting-tools'
  if (record.type === 'run') return record.run.state !== 'running'
  return record.type === 'call' && record.call.effect !== 'pure' && record.call.state !== 'pending'
}

export function endsRun(write: Write): boolean {
  return write.op === 'run.patch' && write.patch.status !== undefined && isTerminal(write.patch.status)
}
