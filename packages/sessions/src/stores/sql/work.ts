import { SessionError } from '../../errors.ts'
import type { Batch, CommitResult, NewEvent } from '../../contract/batch.ts'
import type { NoticeHook } from '../../contract/notices.ts'
import type { SessionRecord } from '../../contract/records.ts'
import { firstInLine, isHolding, isOpen } from '../../contract/run-status.ts'
import { parseStored } from '../../json.ts'
import { Refused } from '../../core/refused.ts'
import type { RunState } from '../../core/rules.ts'
import type { Known, KnownContext } from './known.ts'
import { nameIn } from './known.ts'
import { leaseColumns, progressColumns, runState } from './runs.ts'
import type { RunLease, RunProgress } from './runs.ts'
import { listedColumns, sessionRecord, sessionState, updateStatus } from './sessions.ts'
import type { ListedColumns, SessionState } from './sessions.ts'
import { ask, columnsOf, statement } from './statement.ts'
import type { Call, Statement } from './statement.ts'
import type { RunStateTable, SessionStateTable } from './tables.ts'

/** Inputs of a commit besides its batch. */
export interface CommitContext extends KnownContext {
  readonly maxRecordBytes: number
  /** True for a missing referenced row or a duplicate key; false for other failures of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}

/** A batch or delivery in progress: the data that it is decided by, and the statements that store it. */
export interface Work {
  readonly context: CommitContext
  known: Known
  readonly now: number
  readonly key: string
  /** Id that reveals a repeat. Null for a delivery. */
  readonly batchId: string | null
  /** State after the batch. Undefined if there is no session. */
  session: HeldSession | undefined
  /** Runs that the batch has looked up, in their state after it. Undefined: not in this session. */
  readonly runs: Map<string, HeldRun | undefined>
  /** True if a run was added or changed its status. */
  runsMoved: boolean
  /** Added by this batch, so that references to it need no lookup. */
  readonly entriesPut: Set<string>
  readonly callsPut: Map<string, string>
  readonly inputsPut: Set<string>
  /** Inbox rows that this batch has added (true) or taken (false). */
  readonly inboxRows: Map<string, boolean>
  /** Number of inbox rows that this batch has added. */
  inboxPut: number
  /** Hooks to notify besides the webhook of the session. */
  readonly notify: readonly NoticeHook[]
  noticesPut: number
  /** References of entries and events. Their targets must exist when the batch is done. */
  readonly references: NonNullable<NewEvent['refers']>[]
  /** Statements to execute in this order after all decisions. */
  readonly writes: Call[]
}

export interface HeldSession {
  readonly row: number
  /** Row that this batch inserts, until its columns are complete. */
  readonly newRow?: ListedColumns
  /** Record before the batch. Undefined if the batch creates the session. */
  readonly before: SessionRecord | undefined
  /** This batch deletes it. */
  isGone?: true
  record: SessionRecord
  nextEntry: number
  readonly batchId: string | null
  readonly lastResult: string | null
}

export interface HeldRun {
  readonly row: number
  /** State before the batch. Undefined if it has no row yet. */
  readonly before: RunState | undefined
  state: RunState
  openCalls: number
  changed: boolean
  readonly batchId: string | null
  readonly lastResult: string | null
}

export type Applied = Extract<CommitResult, { ok: true }>

interface WorkOptions {
  readonly key: string
  readonly batchId?: string | null
  readonly notify?: readonly NoticeHook[] | undefined
}

export function beginWork(context: CommitContext, known: Known, { key, batchId = null, notify = [] }: WorkOptions): Work {
  const { session: row, now } = placeOf(known, key)
  const record = row && sessionRecord(row)
  const session = row &&
    record && { row: row.row, before: record, record, nextEntry: row.next_entry, batchId: row.batch_id, lastResult: row.batch }
  return {
    context,
    known,
    now,
    key,
    batchId,
    session,
    runs: new Map(),
    runsMoved: false,
    entriesPut: new Set(),
    callsPut: new Map(),
    inputsPut: new Set(),
    inboxRows: new Map(),
    inboxPut: 0,
    notify,
    noticesPut: 0,
    references: [],
    writes: [],
  }
}

export function placeOf({ places }: Known, key: string) {
  const place = places.get(key)
  if (!place) throw new TypeError(`The session ${key} was not looked up.`)
  return place
}

/** Adds a statement to be executed after all decisions. */
export function write<P extends object>({ writes }: Work, wanted: Statement<P, unknown>, values: P): void {
  writes.push(ask(wanted, values))
}

/** Returns the earlier result of this batch, if it was the last one of this session or run. */
export function answerBefore(batch: Pick<Batch, 'id' | 'key'>, held: HeldSession | HeldRun | undefined): Applied | undefined {
  if (held?.batchId !== batch.id || held.lastResult === null) return undefined
  return parseStored<Applied>(held.lastResult, `The session ${batch.key}`)
}

export function sessionOf({ session, known, key }: Work): HeldSession {
  if (!session) throw new Refused(placeOf(known, key).tombstone ? 'deleted' : 'missing')
  return session
}

/** Returns the run if it belongs to the session of the batch. */
export function findRun(work: Work, runId: string): HeldRun | undefined {
  const { session, runs, known, key } = work
  if (!session || runs.has(runId)) return runs.get(runId)
  const row = known.runs.get(runId)
  const isOurs = row !== undefined && row !== 'forgotten' && row.session === session.row
  const state = isOurs ? runState(row, key) : undefined
  const found =
    isOurs && state
      ? { row: row.row, before: state, state, openCalls: row.open_calls, changed: false, batchId: row.batch_id, lastResult: row.batch }
      : undefined
  runs.set(runId, found)
  return found
}

export function requireRun(work: Work, runId: string): HeldRun {
  const run = findRun(work, runId)
  if (!run) throw new Refused('conflict')
  return run
}

export function hasEntry(work: Work, id: string): boolean {
  const { row, record } = sessionOf(work)
  // The leaf is always an entry of the session.
  return id === record.leaf || work.entriesPut.has(id) || work.known.entries.has(nameIn(row, id))
}

/** True if a run holds the session, as of the writes so far. */
export function isHeld(work: Work): boolean {
  return openRuns(work).some(({ status }) => isHolding(status))
}

/** Returns the run that holds the session, or else the next one of its queue. */
export function firstOpenRun(work: Work): RunState | undefined {
  return firstInLine(openRuns(work))
}

/** Returns the open runs that are known. The first one is always among them. */
function openRuns(work: Work): readonly RunState[] {
  for (const id of work.known.heads.get(work.key) ?? []) findRun(work, id)
  return [...work.runs.values()].flatMap((run) => (run && isOpen(run.state.status) ? [run.state] : []))
}

type SavedSession = SessionState & Pick<SessionStateTable, 'session' | 'namespace' | 'next_entry' | 'batch_id' | 'batch'>

const sessionStateColumns = ['version', 'expires_at', 'expired_at', 'next_entry', 'body', 'batch_id', 'batch'] as const

const updateSessionState = statement((db, slots: SavedSession) =>
  db.updateTable('session_state').set(columnsOf(slots, sessionStateColumns)).where('session', '=', slots.session),
)

const insertSessionState = statement((db, slots: SavedSession) =>
  db.insertInto('session_state').values(columnsOf(slots, ['session', 'namespace', ...sessionStateColumns])),
)

/** Moves the session in lists: SQLite writes each index with one of these columns, also if its value stays. */
const updateListed = statement((db, slots: ListedColumns & { readonly row: number }) =>
  db
    .updateTable('session')
    .set(columnsOf(slots, ['section', 'status', 'active_at']))
    .where('row', '=', slots.row),
)

const progress = ['stop', 'attempts', 'definition', 'open_calls', 'body', 'batch_id', 'batch'] as const
const lease = ['epoch', 'owner', 'lease_until'] as const

type SavedProgress = RunProgress & Pick<RunStateTable, 'run' | 'open_calls' | 'batch_id' | 'batch'>

const insertRunState = statement((db, slots: RunStateTable) =>
  db.insertInto('run_state').values(columnsOf(slots, ['run', ...progress, ...lease])),
)

/** Does not write the lease, which its owner may be renewing. */
const updateProgress = statement((db, slots: SavedProgress) =>
  db.updateTable('run_state').set(columnsOf(slots, progress)).where('run', '=', slots.run),
)

const updateRunState = statement((db, slots: SavedProgress & RunLease) =>
  db
    .updateTable('run_state')
    .set(columnsOf(slots, [...progress, ...lease]))
    .where('run', '=', slots.run),
)

/** Writes session and runs, and stores the result for a repeat of this batch with the session and the runs that it names. */
export function endWork(work: Work, result: Applied, named: readonly HeldRun[]): void {
  const { row: session, record, newRow, before, nextEntry, batchId, lastResult } = sessionOf(work)
  const applied =
    work.batchId === null ? { batch_id: batchId, batch: lastResult } : { batch_id: work.batchId, batch: JSON.stringify(result) }
  const { namespace } = work.context
  const listed = listedColumns(record)
  if (newRow) Object.assign(newRow, listed)
  else if (before?.activeAt !== record.activeAt || before.expiredAt !== record.expiredAt)
    write(work, updateListed, { row: session, ...listed })
  else if (before.status !== record.status) write(work, updateStatus, { row: session, status: listed.status })
  write(work, newRow ? insertSessionState : updateSessionState, {
    ...sessionState(record),
    session,
    namespace,
    next_entry: nextEntry,
    ...applied,
  })
  const changed = [...work.runs.values()].filter((run) => run !== undefined).filter((run) => run.changed || named.includes(run))
  // In the order in which leases are renewed.
  for (const run of changed.sort((a, b) => a.row - b.row)) {
    const { before, state, row, openCalls } = run
    const repeat = named.includes(run) ? applied : { batch_id: run.batchId, batch: run.lastResult }
    const saved = { ...progressColumns(state), run: row, open_calls: openCalls, ...repeat }
    if (!before) write(work, insertRunState, { ...saved, ...leaseColumns(state) })
    else if (isSameLease(before, state)) write(work, updateProgress, saved)
    else write(work, updateRunState, { ...saved, ...leaseColumns(state) })
  }
}

function isSameLease(before: RunState, { epoch, owner, leaseUntil }: RunState): boolean {
  return before.epoch === epoch && before.owner === owner && before.leaseUntil === leaseUntil
}

/** Returns the JSON text of a record. Throws `entry-too-large`. */
export function recordText(context: Pick<CommitContext, 'maxRecordBytes'>, value: unknown, what: string): string {
  const text = JSON.stringify(value)
  if (fits(context, text)) return text
  throw new SessionError('entry-too-large', `${what} is longer than ${context.maxRecordBytes} bytes`)
}

export function fits({ maxRecordBytes }: Pick<CommitContext, 'maxRecordBytes'>, text: string): boolean {
  return Buffer.byteLength(text) <= maxRecordBytes
}
