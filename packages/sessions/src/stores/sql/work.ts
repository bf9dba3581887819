import { SessionError } from '../../errors.ts'
import type { Batch, CommitResult, NewEvent } from '../../contract/batch.ts'
import type { RunStatus, SessionRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { Refused } from '../refused.ts'
import type { RunState } from '../rules.ts'
import { runState, runStateColumns, selectRuns } from './runs.ts'
import { findSession, findTombstone, sessionRecord, sessionState } from './sessions.ts'
import type { SessionState } from './sessions.ts'
import { all, columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { RunStateTable, SessionStateTable } from './tables.ts'

/** What a commit knows beside its batch. */
export interface CommitContext {
  readonly namespace: string
  readonly now: number
  readonly maxRecordBytes: number
  /** Tells a reference to nothing, or a second row of one key, from a fault of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}

/** A batch on its way into the tables, inside one transaction. */
export interface Work extends CommitContext {
  readonly key: string
  /** What a repeat is known by; null for what is delivered. */
  readonly batchId: string | null
  /** As it will stand after the batch; written back at the end. Undefined: there is none. */
  session: HeldSession | undefined
  /** There was one under this key. */
  isDeleted: boolean
  /** Runs that this batch looked at, as they will stand; undefined: not in this session. Written back at the end. */
  readonly runs: Map<string, HeldRun | undefined>
  /** A run was added, or changed its status. */
  runsMoved: boolean
  /** What this batch has put there, so that what refers to it need not be looked up. */
  readonly entriesPut: Set<string>
  readonly callsPut: Map<string, string>
  /** How many rows it has put into the inbox. */
  inboxPut: number
  /** Of entries and events: what they name must be there when the batch is done. */
  readonly references: NonNullable<NewEvent['refers']>[]
}

export interface HeldSession {
  readonly row: number
  /** There is no row of its state yet. */
  readonly isNew: boolean
  /** This batch has deleted it. */
  isGone?: true
  record: SessionRecord
  nextEntry: number
  readonly batchId: string | null
  readonly lastResult: string | null
}

export interface HeldRun {
  readonly row: number
  /** There is no row of its state yet. */
  readonly isNew: boolean
  state: RunState
  openCalls: number
  changed: boolean
  readonly batchId: string | null
  readonly lastResult: string | null
}

export type Applied = Extract<CommitResult, { ok: true }>

export function* beginWork(key: string, batchId: string | null, { namespace, now, maxRecordBytes, violatesConstraint }: CommitContext): Steps<Work> {
  const row = yield* findSession(namespace, key)
  return {
    ...{ namespace, now, maxRecordBytes, violatesConstraint, key, batchId },
    session: row && {
      row: row.row,
      isNew: false,
      record: sessionRecord(row),
      nextEntry: row.next_entry,
      batchId: row.batch_id,
      lastResult: row.batch,
    },
    isDeleted: row === undefined && (yield* findTombstone(namespace, key)) !== undefined,
    runs: new Map(),
    runsMoved: false,
    entriesPut: new Set(),
    callsPut: new Map(),
    inboxPut: 0,
    references: [],
  }
}

/** What the batch was answered before, when it was the last one of this session or run. */
export function answerBefore(batch: Pick<Batch, 'id' | 'key'>, held: HeldSession | HeldRun | undefined): Applied | undefined {
  if (held?.batchId !== batch.id || held.lastResult === null) return undefined
  return parseStored<Applied>(held.lastResult, `The session ${batch.key}`)
}

export function sessionOf(work: Work): HeldSession {
  if (!work.session) throw new Refused(work.isDeleted ? 'deleted' : 'missing')
  return work.session
}

const runOfSession = statement((db, slots: { readonly namespace: string; readonly id: string; readonly session: number }) =>
  selectRuns(db).where('run.namespace', '=', slots.namespace).where('run.id', '=', slots.id).where('run.session', '=', slots.session),
)

/** The run, if it belongs to the session of the batch. */
export function* findRun(work: Work, runId: string): Steps<HeldRun | undefined> {
  const { session, runs, key, namespace } = work
  if (!session || runs.has(runId)) return runs.get(runId)
  const row = yield* first(runOfSession, { namespace, id: runId, session: session.row })
  const found = row && {
    row: row.row,
    isNew: false,
    state: runState(row, key),
    openCalls: row.open_calls,
    changed: false,
    batchId: row.batch_id,
    lastResult: row.batch,
  }
  runs.set(runId, found)
  return found
}

export function* requireRun(work: Work, runId: string): Steps<HeldRun> {
  const run = yield* findRun(work, runId)
  if (!run) throw new Refused('conflict')
  return run
}

const entryRow = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.selectFrom('entry').select('n').where('session', '=', slots.session).where('id', '=', slots.id),
)

export function* hasEntry(work: Work, id: string): Steps<boolean> {
  const { row: session, record } = sessionOf(work)
  // The leaf is always an entry of the session.
  return id === record.leaf || work.entriesPut.has(id) || (yield* first(entryRow, { session, id })) !== undefined
}

const openRuns = statement((db, slots: { readonly session: number }) =>
  db
    .selectFrom('run')
    .select((select) => ['status', select.fn.countAll<number>().as('runs')])
    .where('session', '=', slots.session)
    .where('ended_at', 'is', null)
    .groupBy('status'),
)

/** How many open runs the session has in each status. */
export function* countOpenRuns({ session }: Work): Steps<ReadonlyMap<RunStatus, number>> {
  if (!session) return new Map()
  const counts = yield* all(openRuns, { session: session.row })
  return new Map(counts.map(({ status, runs }) => [status, Number(runs)]))
}

type SavedSession = SessionState & Pick<SessionStateTable, 'session' | 'namespace' | 'next_entry' | 'batch_id' | 'batch'>

const sessionStateColumns = ['status', 'version', 'active_at', 'expires_at', 'expired_at', 'next_entry', 'body', 'batch_id', 'batch'] as const

const updateSessionState = statement((db, slots: SavedSession) =>
  db.updateTable('session_state').set(columnsOf(slots, sessionStateColumns)).where('session', '=', slots.session),
)

const insertSessionState = statement((db, slots: SavedSession) =>
  db.insertInto('session_state').values(columnsOf(slots, ['session', 'namespace', ...sessionStateColumns])),
)

const savedRunColumns = ['epoch', 'owner', 'lease_until', 'stop', 'open_calls', 'body', 'batch_id', 'batch'] as const

const insertRunState = statement((db, slots: RunStateTable) =>
  db.insertInto('run_state').values(columnsOf(slots, ['run', ...savedRunColumns])),
)

const updateRunState = statement((db, slots: RunStateTable) =>
  db.updateTable('run_state').set(columnsOf(slots, savedRunColumns)).where('run', '=', slots.run),
)

/** Writes session and runs back, with what a repeat of this batch gets to hear: by the session and by the runs it names. */
export function* endWork(work: Work, result: Applied, named: readonly HeldRun[]): Steps<void> {
  const { row: session, record, nextEntry, isNew, batchId, lastResult } = sessionOf(work)
  const applied = work.batchId === null ? { batch_id: batchId, batch: lastResult } : { batch_id: work.batchId, batch: JSON.stringify(result) }
  yield* execute(isNew ? insertSessionState : updateSessionState, { ...sessionState(record), session, namespace: work.namespace, next_entry: nextEntry, ...applied })
  for (const run of work.runs.values()) {
    if (!run || (!run.changed && !named.includes(run))) continue
    const before = { batch_id: run.batchId, batch: run.lastResult }
    const slots = { ...runStateColumns(run.state), run: run.row, open_calls: run.openCalls, ...(named.includes(run) ? applied : before) }
    yield* execute(run.isNew ? insertRunState : updateRunState, slots)
  }
}

/** The JSON text of what becomes one record. */
export function recordText(context: CommitContext, value: unknown, what: string): string {
  const text = JSON.stringify(value)
  if (fits(context, text)) return text
  throw new SessionError('entry-too-large', `${what} is longer than ${context.maxRecordBytes} bytes`)
}

export function fits({ maxRecordBytes }: CommitContext, text: string): boolean {
  return Buffer.byteLength(text) <= maxRecordBytes
}
