import { sql } from 'kysely'
import type { Page, Read, RunQuery, SessionQuery } from '../../store/contract.ts'
import type { InboxKind, InboxRecord, RunRecord, SessionRecord, ToolCallRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import { pageLimit, pageOf, parseRunPosition, parseSessionPosition, printSessionPosition } from '../paging.ts'
import { callRecord, inboxRecord, runState, sessionRecord } from './rows.ts'
import type { Database, RunRow, SessionRow } from './tables.ts'

/** What a store reads in one namespace. */
export interface Reader {
  readonly db: Database
  readonly namespace: string
}

export function findSession({ db, namespace }: Reader, key: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('session')
    .selectAll()
    .where('namespace', '=', namespace)
    .where('key', '=', key)
    .executeTakeFirst()
}

export async function readSession(reader: Reader, key: string): Promise<Read<SessionRecord>> {
  const row = await findSession(reader, key)
  return row ? { status: 'found', value: sessionRecord(row) } : { status: 'missing' }
}

export async function readRun(reader: Reader, runId: string): Promise<Read<RunRecord>> {
  const row = await selectRuns(reader).where('run.id', '=', runId).executeTakeFirst()
  return row ? { status: 'found', value: runRecord(row) } : { status: 'missing' }
}

export async function readCalls(reader: Reader, runId: string, step?: number): Promise<readonly ToolCallRecord[]> {
  let query = selectCalls(reader).where('run.id', '=', runId).orderBy('tool_call.step').orderBy('tool_call.index')
  if (step !== undefined) query = query.where('tool_call.step', '=', step)
  const rows = await query.execute()
  return rows.map((row) => callRecord(row, row.run_id, row.session_key))
}

export async function readCall(reader: Reader, key: string, toolCallId: string): Promise<Read<ToolCallRecord>> {
  const row = await selectCalls(reader)
    .where('session.key', '=', key)
    .where('tool_call.tool_call_id', '=', toolCallId)
    .orderBy('run.n', 'desc')
    .orderBy('tool_call.step', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? { status: 'found', value: callRecord(row, row.run_id, row.session_key) } : { status: 'missing' }
}

export async function readApproval(reader: Reader, key: string, approvalId: string): Promise<Read<ToolCallRecord>> {
  const row = await selectCalls(reader)
    .where('session.key', '=', key)
    .where('tool_call.approval_id', '=', approvalId)
    .executeTakeFirst()
  return row ? { status: 'found', value: callRecord(row, row.run_id, row.session_key) } : { status: 'missing' }
}

export async function readInbox(
  { db, namespace }: Reader,
  key: string,
  kinds: readonly InboxKind[],
): Promise<readonly InboxRecord[]> {
  const rows = await db
    .selectFrom('inbox')
    .innerJoin('session', 'session.row', 'inbox.session')
    .selectAll('inbox')
    .where('session.namespace', '=', namespace)
    .where('session.key', '=', key)
    .where('inbox.kind', 'in', kinds)
    .orderBy('inbox.version')
    .orderBy('inbox.place')
    .execute()
  return rows.map(inboxRecord)
}

export async function listSessions({ db, namespace }: Reader, query: SessionQuery): Promise<Page<SessionRecord>> {
  const { agent, status, keyPrefix, page } = query
  const limit = pageLimit(query.limit)
  let sessions = db.selectFrom('session').selectAll().where('namespace', '=', namespace)
  if (agent !== undefined) sessions = sessions.where('agent', '=', agent)
  if (status !== undefined) sessions = sessions.where('status', '=', status)
  if (keyPrefix !== undefined) {
    // Not LIKE: it is blind to case and gives some characters of keys a meaning.
    sessions = sessions.where(sql<string>`substr(${sql.ref('key')}, 1, ${keyPrefix.length})`, '=', keyPrefix)
  }
  if (page !== undefined) {
    const { activeAt, key } = parseSessionPosition(page)
    sessions = sessions.where((where) =>
      where.or([
        where('active_at', '<', activeAt),
        where.and([where('active_at', '=', activeAt), where('key', '>', key)]),
      ]),
    )
  }
  const rows = await sessions.orderBy('active_at', 'desc').orderBy('key').limit(limit + 1).execute()
  return pageOf(rows.map(sessionRecord), limit, printSessionPosition)
}

export async function listRuns(reader: Reader, key: string, query: RunQuery): Promise<Page<RunRecord>> {
  const limit = pageLimit(query.limit)
  const { newestFirst = false, page, status } = query
  let runs = selectRuns(reader).where('session.key', '=', key)
  if (page !== undefined) runs = runs.where('run.n', newestFirst ? '<' : '>', parseRunPosition(page))
  if (status) runs = runs.where('run.status', 'in', status)
  const rows = await runs.orderBy('run.n', newestFirst ? 'desc' : 'asc').limit(limit + 1).execute()
  return pageOf(rows.map(runRecord), limit, (last) => String(last.n))
}

function selectRuns({ db, namespace }: Reader) {
  return db
    .selectFrom('run')
    .innerJoin('session', 'session.row', 'run.session')
    .innerJoin('run_input', 'run_input.run', 'run.row')
    .selectAll('run')
    .select(['session.key as session_key', 'run_input.body as input'])
    .where('run.namespace', '=', namespace)
}

function runRecord(row: RunRow & { session_key: string; input: string }): RunRecord {
  return { ...runState(row, row.session_key), input: parseStored(row.input, `The run ${row.id}`) }
}

function selectCalls({ db, namespace }: Reader) {
  return db
    .selectFrom('tool_call')
    .innerJoin('run', 'run.row', 'tool_call.run')
    .innerJoin('session', 'session.row', 'tool_call.session')
    .selectAll('tool_call')
    .select(['run.id as run_id', 'session.key as session_key'])
    .where('run.namespace', '=', namespace)
    .where('session.namespace', '=', namespace)
}
