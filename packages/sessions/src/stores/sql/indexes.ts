import { sql } from 'kysely'
import type { SqlBool } from 'kysely'
import type { Connection } from './tables.ts'

/** Name, table and columns of an index, and which rows it holds. Default: all. A name in `unique` names a unique index. */
type Index = readonly [name: string, table: string, columns: string, where?: string]

/**
 * Status of most sessions, and of most runs that have ended. The indexes by status leave it out: they are small, since each turn
 * writes them.
 */
export const usualStatus = 'completed'

const unusual = `status <> '${usualStatus}'`
/** Order of lists of sessions. A commit writes these indexes only if it moves its session in a list. */
const listed = 'section, active_at desc, key'

/** Most are partial, so that they hold a handful of rows however long the history is. */
export const indexes: readonly Index[] = [
  ['session_list', 'session', `namespace, ${listed}`],
  ['session_agent', 'session', `namespace, agent, ${listed}`],
  ['session_status', 'session', `namespace, status, ${listed}`, unusual],
  ['session_unused', 'session', `namespace, ${listed}`, 'status is null'],
  ['session_parent', 'session', `namespace, parent, ${listed}`, 'parent is not null'],
  ['session_tenant', 'session', `namespace, tenant, ${listed}`, 'tenant is not null'],
  ['session_tenant_agent', 'session', `namespace, tenant, agent, ${listed}`, 'tenant is not null'],
  ['session_tenant_status', 'session', `namespace, tenant, status, ${listed}`, `tenant is not null and ${unusual}`],
  ['session_end', 'session_state', 'namespace, expires_at', 'expires_at is not null'],
  ['inbox_kind', 'inbox', 'kind, session'],
  ['run_open', 'run', 'session, status, place', 'ended_at is null'],
  ['run_ended', 'run', 'session, status, n', `ended_at is not null and ${unusual}`],
  ['run_queued', 'run', 'namespace, created_at, row', "status = 'queued'"],
  ['run_running', 'run', 'namespace, created_at, row', "status = 'running'"],
  ['run_held', 'run', 'namespace, not_before', "status = 'queued' and not_before is not null"],
  ['run_holding', 'run', 'session', "ended_at is null and status <> 'queued'"],
  ['run_parent_run', 'run', 'namespace, parent_run, created_at, id', 'parent_run is not null'],
  ['run_parent_session', 'run', 'namespace, parent_session, created_at, id', 'parent_session is not null'],
  ['run_input_id', 'run', 'session, input_id', 'input_id is not null'],
  ['tool_call_id', 'tool_call', 'session, tool_call_id'],
  ['tool_call_approval', 'tool_call', 'approval_id', 'approval_id is not null'],
  ['timer_due', 'timer', 'namespace, due_at', 'due_at is not null'],
  ['timer_list', 'timer', 'namespace, kind, key, id'],
  ['notice_due', 'notice', 'namespace, receiver, due_at', 'due_at is not null'],
  ['notice_line', 'notice', 'session, hook, n', 'settled_at is null'],
  ['notice_settled', 'notice', 'namespace, settled_at', 'settled_at is not null'],
  ['notice_list', 'notice', 'namespace, at desc'],
  ['notice_hook', 'notice', 'namespace, hook, at desc'],
  ['notice_state', 'notice', 'namespace, state, at desc'],
  ['notice_session', 'notice', 'session, at desc'],
]

/** Their statements search only records that are not deleted. */
export const stateIndexes: readonly Index[] = [
  ['state_live', 'state', 'namespace, space, id', 'value is not null'],
  ['state_expiry', 'state', 'namespace, expires_at', 'value is not null'],
]

const unique: readonly string[] = ['run_holding', 'run_input_id']

export async function createIndexes({ schema }: Connection, list: readonly Index[]): Promise<void> {
  for (const [name, table, columns, where] of list) {
    const all = schema.createIndex(name).on(table).columns(columns.split(', '))
    const some = where === undefined ? all : all.where(sql.raw<SqlBool>(where))
    await (unique.includes(name) ? some.unique() : some).execute()
  }
}
