import { SessionError } from '../../errors.ts'
import type { Batch, CallKey, CommitResult } from '../../store/contract.ts'
import type { RunStatus, SessionRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import { Refused } from '../refused.ts'
import type { RunState } from '../rules.ts'
import { newRunRow, runColumns, runState, sessionColumns, sessionRecord } from './rows.ts'
import type { Connection } from './tables.ts'

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
  readonly connection: Connection
  readonly batch: Batch
  /** As it will stand after the batch; written back at the end. Undefined: there is none. */
  session: HeldSession | undefined
  /** Runs that this batch looked at, as they stand now; undefined: not in this session. */
  readonly runs: Map<string, HeldRun | undefined>
  readonly changedRuns: Set<string>
  readonly callsReferredTo: CallKey[]
}

export interface HeldSession {
  readonly row: number
  record: SessionRecord
  nextEntry: number
  readonly lastBatch: Applied | undefined
}

export interface HeldRun {
  readonly row: number
  readonly state: RunState
  readonly lastBatch: Applied | undefined
}

/** The answer to a batch, kept so that a repeat gets it again. */
export type Applied = Extract<CommitResult, { ok: true }> & { readonly batchId: string }

export async function beginWork(connection: Connection, batch: Batch, context: CommitContext): Promise<Work> {
  const row = await connection
    .selectFrom('session')
    .selectAll()
    .where('namespace', '=', context.namespace)
    .where('key', '=', batch.key)
    .executeTakeFirst()
  const session = row && {
    row: row.row,
    record: sessionRecord(row),
    nextEntry: row.next_entry,
    lastBatch: applied(row.last_batch, batch.key),
  }
  return { ...context, connection, batch, session, runs: new Map(), changedRuns: new Set(), callsReferredTo: [] }
}

function applied(text: string | null, key: string): Applied | undefined {
  return text === null ? undefined : parseStored<Applied>(text, `The session ${key}`)
}

export function sessionOf(work: Work): HeldSession {
  if (!work.session) throw new Refused('missing')
  return work.session
}

/** The run, if it belongs to the session of the batch. */
export async function findRun(work: Work, runId: string): Promise<HeldRun | undefined> {
  const { connection, session, runs, batch, namespace } = work
  if (!session || runs.has(runId)) return runs.get(runId)
  const row = await connection
    .selectFrom('run')
    .selectAll()
    .where('namespace', '=', namespace)
    .where('id', '=', runId)
    .where('session', '=', session.row)
    .executeTakeFirst()
  const found = row && { row: row.row, state: runState(row, batch.key), lastBatch: applied(row.last_batch, batch.key) }
  runs.set(runId, found)
  return found
}

export async function insertRun(work: Work, state: RunState): Promise<HeldRun> {
  const { connection, namespace, runs, changedRuns } = work
  const values = newRunRow(state, sessionOf(work).row, namespace)
  const { row } = await connection.insertInto('run').values(values).returning('row').executeTakeFirstOrThrow()
  const inserted = { row, state, lastBatch: undefined }
  runs.set(state.id, inserted)
  changedRuns.add(state.id)
  return inserted
}

export async function updateRun(work: Work, run: HeldRun, state: RunState): Promise<void> {
  await work.connection.updateTable('run').set(runColumns(state)).where('row', '=', run.row).execute()
  work.runs.set(state.id, { ...run, state })
  work.changedRuns.add(state.id)
}

/** How many open runs the session has in each status. */
export async function countOpenRuns(work: Work): Promise<ReadonlyMap<RunStatus, number>> {
  if (!work.session) return new Map()
  const counts = await work.connection
    .selectFrom('run')
    .select((select) => ['status', select.fn.countAll<number>().as('runs')])
    .where('session', '=', work.session.row)
    .where('ended_at', 'is', null)
    .groupBy('status')
    .execute()
  return new Map(counts.map(({ status, runs }) => [status, Number(runs)]))
}

/** Writes the session back, and what a repeat of this batch gets to hear. */
export async function endWork(work: Work, result: Applied, runs: readonly HeldRun[]): Promise<void> {
  const { row, record, nextEntry } = sessionOf(work)
  const lastBatch = JSON.stringify(result)
  await work.connection
    .updateTable('session')
    .set({ ...sessionColumns(record), next_entry: nextEntry, last_batch: lastBatch })
    .where('row', '=', row)
    .execute()
  for (const run of runs) {
    await work.connection.updateTable('run').set({ last_batch: lastBatch }).where('row', '=', run.row).execute()
  }
}

/** The JSON text of what becomes one record. */
export function recordText({ maxRecordBytes }: CommitContext, value: unknown, what: string): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) <= maxRecordBytes) return text
  throw new SessionError('entry-too-large', `${what} is longer than ${maxRecordBytes} bytes`)
}
