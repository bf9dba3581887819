import type { CallKey, CommitResult, NewEntry, NewEvent } from '../../contract/batch.ts'
import type { NoticeRecord } from '../../contract/notices.ts'
import type { EntryRecord, InboxRecord, RunRecord, SessionRecord, TimerRecord, ToolCallRecord } from '../../contract/records.ts'
import { firstInLine, isHolding } from '../../contract/run-status.ts'
import { SessionError } from '../../errors.ts'
import { withStatus, type FilledIn } from '../../core/rules.ts'

export type HeldEntry = NewEntry & { readonly n: number }
export type Applied = Extract<CommitResult, { ok: true }> & { readonly batchId: string }

export interface HeldSession {
  record: SessionRecord
  readonly entries: Table<string, HeldEntry>
  readonly events: Table<number, NewEvent>
  readonly runs: Table<string, RunRecord>
  /** Runs that have not ended. */
  readonly openRuns: Map<string, RunRecord>
  /** Run ids by input id. */
  readonly inputs: Map<string, string>
  /** By run id. */
  readonly calls: Map<string, Table<string, ToolCallRecord>>
  /** By call id. */
  readonly newestCalls: Map<string, ToolCallRecord>
  readonly inbox: Table<string, InboxRecord>
  readonly timers: Table<string, TimerRecord>
  readonly notices: Table<string, NoticeRecord>
  /** Notices that are not settled. */
  readonly pendingNotices: Map<string, NoticeRecord>
  /** The part of them that waits for no earlier one: one for each hook, and those that are sent again. */
  readonly dueNotices: Map<string, NoticeRecord>
  /** The last batch of the session (key '') and of each run. */
  readonly applied: Table<string, Applied>
}

export function newHeld(record: SessionRecord): HeldSession {
  return {
    record,
    entries: new Table('entries'),
    events: new Table('events'),
    runs: new Table('runs'),
    openRuns: new Map(),
    inputs: new Map(),
    calls: new Map(),
    newestCalls: new Map(),
    inbox: new Table('inbox'),
    timers: new Table('timers'),
    notices: new Table('notices'),
    pendingNotices: new Map(),
    dueNotices: new Map(),
    applied: new Table('applied'),
  }
}

export function entryOf(held: HeldSession, id: string): HeldEntry {
  const entry = held.entries.get(id)
  if (!entry) throw new SessionError('unknown-entry', `The session ${held.record.key} has no entry ${id}. Take the id from messages()`)
  return entry
}

export function wholeEntry(held: HeldSession, entry: HeldEntry): EntryRecord {
  if (!('call' in entry)) return entry
  const { call, ...rest } = entry
  return { ...rest, message: referred(held, { call }) } as EntryRecord
}

export function callId({ step, toolCallId }: Omit<CallKey, 'runId'>): string {
  return `${step} ${toolCallId}`
}

/** True if the session has no later call with this id. */
export function isNewestCall({ newestCalls, runs }: HeldSession, call: ToolCallRecord): boolean {
  const newest = newestCalls.get(call.toolCallId)
  const turnOf = ({ runId }: ToolCallRecord): number => runs.get(runId)?.n ?? 0
  return !newest || (turnOf(call) - turnOf(newest) || call.step - newest.step) >= 0
}

/** Returns the name of the table with the calls of a run. */
export function callsTable(runId: string): string {
  return `calls ${runId}`
}

/** Resolves a reference. Undefined if the target does not exist (yet). */
export function referred(held: HeldSession, refers: NewEvent['refers']): unknown {
  if (!refers) return undefined
  if ('runInput' in refers) return held.runs.get(refers.runInput)?.input
  if ('call' in refers) return held.calls.get(refers.call.runId)?.get(callId(refers.call))?.outcome
  const entry = held.entries.get(refers.entryId)
  const whole = entry && wholeEntry(held, entry)
  return whole?.type === 'message' ? whole.message : undefined
}

export function filledIn(held: HeldSession, refers: NewEvent['refers']): FilledIn {
  if (!refers) return {}
  return 'runInput' in refers ? { input: referred(held, refers) } : { message: referred(held, refers) }
}

/** Returns the session record after a change of its runs. */
export function afterRuns(held: HeldSession): SessionRecord {
  return withStatus(held.record, firstOpenRun(held))
}

/** Returns the run that holds the session, or else the next one of its queue. */
export function firstOpenRun({ openRuns }: Pick<HeldSession, 'openRuns'>): RunRecord | undefined {
  return firstInLine(openRuns.values())
}

export function heldByOther(held: HeldSession, runId: string): boolean {
  return [...held.openRuns.values()].some((run) => run.id !== runId && isHolding(run.status))
}

/** Rows of one kind in a session. The file store identifies changed rows by the name of their table. */
export class Table<K, V> extends Map<K, V> {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}
