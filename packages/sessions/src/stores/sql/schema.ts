import { sql } from 'kysely'
import { usualStatus } from '../session-lists.ts'
import type { SqlDialect } from './dialect.ts'
import { addSqliteSearch } from './search-schema.ts'
import type { Connection } from './tables.ts'

/** One step of the schema's history. Published steps never change. */
export type Migration = (connection: Connection, dialect: SqlDialect) => Promise<void>

/** Migrations of SQLite. */
export const migrations: readonly Migration[] = [createTables, addState, addSqliteSearch]

export async function createTables(connection: Connection, dialect: SqlDialect): Promise<void> {
  await connection.schema
    .createTable('meta')
    .addColumn('name', dialect.types.text, (column) => column.primaryKey())
    .addColumn('value', dialect.types.text, (column) => column.notNull())
    .execute()
  await createSession(connection, dialect)
  await createRun(connection, dialect)
  await createToolCall(connection, dialect)
  await createTranscript(connection, dialect)
  await createRest(connection, dialect)
  await createNotice(connection, dialect)
}

async function createSession({ schema }: Connection, { types, rowNumber, refersTo, changesOften }: SqlDialect): Promise<void> {
  await changesOften(schema.createTable('session'))
    .addColumn('row', types.number, rowNumber)
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('key', types.text, (column) => column.notNull())
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('agent', types.text, (column) => column.notNull())
    .addColumn('owner', types.text)
    .addColumn('created_at', types.number, (column) => column.notNull())
    .addColumn('metadata', types.text, (column) => column.notNull())
    .addColumn('parent', types.text)
    .addColumn('tenant', types.text)
    .addColumn('child', types.number, (column) => column.notNull())
    .addColumn('status', types.text)
    .addColumn('active_at', types.number, (column) => column.notNull())
    .addUniqueConstraint('session_key', ['namespace', 'key'])
    .execute()
  await createSessionIndexes(schema)
  await changesOften(schema.createTable('session_state'))
    .addColumn('session', types.number, (column) => refersTo(column.primaryKey(), 'session.row'))
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('version', types.number, (column) => column.notNull())
    .addColumn('expires_at', types.number)
    .addColumn('expired_at', types.number)
    .addColumn('next_entry', types.number, (column) => column.notNull())
    .addColumn('body', types.text, (column) => column.notNull())
    .addColumn('batch_id', types.text)
    .addColumn('batch', types.text)
    .execute()
  await schema
    .createTable('inbox')
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('at', types.number, (column) => column.notNull())
    .addColumn('version', types.number, (column) => column.notNull())
    .addColumn('place', types.number, (column) => column.notNull())
    .addColumn('body', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('inbox_key', ['session', 'id'])
    .execute()
  await schema.createIndex('inbox_kind').on('inbox').columns(['kind', 'session']).execute()
}

/** Creates one index per filter of a list, in the order of lists. A commit writes them only if it moves its session in a list. */
async function createSessionIndexes(schema: Connection['schema']): Promise<void> {
  const order = ['active_at desc', 'key'] as const
  await schema.createIndex('session_list').on('session').columns(['namespace', 'child', ...order]).execute()
  await schema.createIndex('session_agent').on('session').columns(['namespace', 'agent', ...order]).execute()
  await schema
    .createIndex('session_status')
    .on('session')
    .columns(['namespace', 'status', ...order])
    .where(sql.ref('status'), '<>', sql.lit(usualStatus))
    .execute()
  await schema
    .createIndex('session_parent')
    .on('session')
    .columns(['namespace', 'parent', ...order])
    .where(sql.ref('parent'), 'is not', null)
    .execute()
  for (const column of ['child', 'agent', 'status'] as const) {
    const index = schema
      .createIndex(`session_tenant_${column}`)
      .on('session')
      .columns(['namespace', 'tenant', column, ...order])
      .where(sql.ref('tenant'), 'is not', null)
    await (column === 'status' ? index.where(sql.ref('status'), '<>', sql.lit(usualStatus)) : index).execute()
  }
}

async function createRun({ schema }: Connection, { types, rowNumber, refersTo, changesOften }: SqlDialect): Promise<void> {
  await schema
    .createTable('run')
    .addColumn('row', types.number, rowNumber)
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('n', types.number, (column) => column.notNull())
    .addColumn('first_seq', types.number, (column) => column.notNull())
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('place', types.number, (column) => column.notNull())
    .addColumn('status', types.text, (column) => column.notNull())
    .addColumn('not_before', types.number)
    .addColumn('tenant', types.text)
    .addColumn('parent_run', types.text)
    .addColumn('parent_session', types.text)
    .addColumn('input_id', types.text)
    .addColumn('input_hash', types.text, (column) => column.notNull())
    .addColumn('created_at', types.number, (column) => column.notNull())
    .addColumn('ended_at', types.number)
    .addUniqueConstraint('run_id', ['namespace', 'id'])
    .addUniqueConstraint('run_n', ['session', 'n'])
    .execute()
  await changesOften(schema.createTable('run_state'))
    .addColumn('run', types.number, (column) => refersTo(column.primaryKey(), 'run.row'))
    .addColumn('epoch', types.number, (column) => column.notNull())
    .addColumn('owner', types.text)
    .addColumn('lease_until', types.number)
    .addColumn('stop', types.text)
    .addColumn('attempts', types.number, (column) => column.notNull())
    .addColumn('definition', types.text)
    .addColumn('open_calls', types.number, (column) => column.notNull())
    .addColumn('body', types.text, (column) => column.notNull())
    .addColumn('batch_id', types.text)
    .addColumn('batch', types.text)
    .execute()
  await schema
    .createTable('run_input')
    .addColumn('run', types.number, (column) => refersTo(column.primaryKey(), 'run.row'))
    .addColumn('body', types.text, (column) => column.notNull())
    .execute()
  await createRunIndexes(schema)
}

/** Creates partial indexes, which hold a handful of rows however long the history is. */
async function createRunIndexes(schema: Connection['schema']): Promise<void> {
  await schema.createIndex('run_open').on('run').columns(['session', 'status', 'place']).where(sql.ref('ended_at'), 'is', null).execute()
  for (const status of ['queued', 'running']) {
    await schema
      .createIndex(`run_${status}`)
      .on('run')
      .columns(['namespace', 'created_at', 'row'])
      .where(sql.ref('status'), '=', sql.lit(status))
      .execute()
  }
  await schema
    .createIndex('run_held')
    .on('run')
    .columns(['namespace', 'not_before'])
    .where(sql.ref('status'), '=', sql.lit('queued'))
    .where(sql.ref('not_before'), 'is not', null)
    .execute()
  await schema
    .createIndex('run_holding')
    .unique()
    .on('run')
    .column('session')
    .where(sql.ref('ended_at'), 'is', null)
    .where(sql.ref('status'), '<>', sql.lit('queued'))
    .execute()
  for (const column of ['parent_run', 'parent_session'] as const) {
    await schema.createIndex(`run_${column}`).on('run').columns(['namespace', column]).where(sql.ref(column), 'is not', null).execute()
  }
  await schema
    .createIndex('run_input_id')
    .unique()
    .on('run')
    .columns(['session', 'input_id'])
    .where(sql.ref('input_id'), 'is not', null)
    .execute()
}

async function createToolCall({ schema }: Connection, { types, refersTo }: SqlDialect): Promise<void> {
  await schema
    .createTable('tool_call')
    .addColumn('run', types.number, (column) => refersTo(column.notNull(), 'run.row'))
    .addColumn('step', types.number, (column) => column.notNull())
    .addColumn('tool_call_id', types.text, (column) => column.notNull())
    .addColumn('session', types.number, (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addColumn('status', types.text)
    .addColumn('index', types.number, (column) => column.notNull())
    .addColumn('name', types.text, (column) => column.notNull())
    .addColumn('effect', types.text, (column) => column.notNull())
    .addColumn('idempotency_key', types.text)
    .addColumn('input_hash', types.text, (column) => column.notNull())
    .addColumn('attempt', types.number, (column) => column.notNull())
    .addColumn('started_at', types.number)
    .addColumn('deadline_at', types.number)
    .addColumn('approval_id', types.text)
    .addColumn('rest', types.text)
    .addColumn('outcome', types.text)
    .addPrimaryKeyConstraint('tool_call_key', ['run', 'step', 'tool_call_id'])
    .execute()
  await schema
    .createIndex('tool_call_approval')
    .on('tool_call')
    .column('approval_id')
    .where(sql.ref('approval_id'), 'is not', null)
    .execute()
}

async function createTranscript({ schema }: Connection, { types, refersTo, hasReferences }: SqlDialect): Promise<void> {
  const entry = schema
    .createTable('entry')
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('n', types.number, (column) => column.notNull())
    .addColumn('parent_id', types.text)
    .addColumn('type', types.text, (column) => column.notNull())
    .addColumn('at', types.number, (column) => column.notNull())
    .addColumn('run', types.number)
    .addColumn('run_id', types.text)
    .addColumn('call_run', types.number)
    .addColumn('call_step', types.number)
    .addColumn('call_id', types.text)
    .addColumn('body', types.text)
    .addPrimaryKeyConstraint('entry_key', ['session', 'id'])
  await (hasReferences ? entry.addForeignKeyConstraint('entry_parent', ['session', 'parent_id'], 'entry', ['session', 'id']) : entry).execute()
  await schema
    .createTable('event')
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('seq', types.number, (column) => column.notNull())
    .addColumn('run', types.number)
    .addColumn('body', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('event_key', ['session', 'seq'])
    .execute()
}

/** Creates the tables for data outside conversations and for remains of deleted ones. */
async function createRest({ schema }: Connection, { types, refersTo }: SqlDialect): Promise<void> {
  await schema
    .createTable('timer')
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('due_at', types.number)
    .addColumn('body', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('timer_key', ['session', 'id'])
    .execute()
  await schema.createIndex('timer_due').on('timer').columns(['namespace', 'due_at']).where(sql.ref('due_at'), 'is not', null).execute()
  await schema
    .createIndex('session_end')
    .on('session_state')
    .columns(['namespace', 'expires_at'])
    .where(sql.ref('expires_at'), 'is not', null)
    .execute()
  await schema
    .createTable('tombstone')
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('key', types.text, (column) => column.notNull())
    .addColumn('version', types.number, (column) => column.notNull())
    .addColumn('next_seq', types.number, (column) => column.notNull())
    .addColumn('next_run', types.number, (column) => column.notNull())
    .addColumn('deleted_at', types.number, (column) => column.notNull())
    .addPrimaryKeyConstraint('tombstone_key', ['namespace', 'key'])
    .execute()
  await schema
    .createTable('definition')
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('hash', types.text, (column) => column.notNull())
    .addColumn('body', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('definition_key', ['namespace', 'hash'])
    .execute()
}

/** Creates the table of webhook notices. Its two indexes, of due ones and of each hook, leave out settled notices. */
async function createNotice({ schema }: Connection, { types, refersTo, changesOften }: SqlDialect): Promise<void> {
  await changesOften(schema.createTable('notice'))
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('session', types.number, (column) => refersTo(column.notNull(), 'session.row'))
    .addColumn('n', types.number, (column) => column.notNull())
    .addColumn('hook', types.text, (column) => column.notNull())
    .addColumn('receiver', types.text, (column) => column.notNull())
    .addColumn('type', types.text, (column) => column.notNull())
    .addColumn('at', types.number, (column) => column.notNull())
    .addColumn('body', types.text, (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addColumn('attempts', types.number, (column) => column.notNull())
    .addColumn('queued_at', types.number, (column) => column.notNull())
    .addColumn('due_at', types.number)
    .addColumn('settled_at', types.number)
    .addColumn('error', types.text)
    .addPrimaryKeyConstraint('notice_key', ['session', 'n'])
    .execute()
  await schema.createIndex('notice_due').on('notice').columns(['namespace', 'due_at']).where(sql.ref('due_at'), 'is not', null).execute()
  await schema.createIndex('notice_line').on('notice').columns(['session', 'hook', 'n']).where(sql.ref('settled_at'), 'is', null).execute()
  await schema.createIndex('notice_settled').on('notice').columns(['namespace', 'settled_at']).where(sql.ref('settled_at'), 'is not', null).execute()
  await schema.createIndex('notice_list').on('notice').columns(['namespace', 'at']).execute()
}

/** Adds the table of state records. Its indexes leave out deleted ones. */
export async function addState({ schema }: Connection, { types }: SqlDialect): Promise<void> {
  await schema
    .createTable('state')
    .addColumn('namespace', types.text, (column) => column.notNull())
    .addColumn('space', types.text, (column) => column.notNull())
    .addColumn('id', types.text, (column) => column.notNull())
    .addColumn('version', types.number, (column) => column.notNull())
    .addColumn('value', types.text)
    .addColumn('used_at', types.number, (column) => column.notNull())
    .addColumn('expires_at', types.number)
    .addPrimaryKeyConstraint('state_key', ['namespace', 'space', 'id'])
    .execute()
  await schema
    .createIndex('state_live')
    .on('state')
    .columns(['namespace', 'space', 'id'])
    .where(sql.ref('value'), 'is not', null)
    .execute()
  await schema
    .createIndex('state_expiry')
    .on('state')
    .columns(['namespace', 'expires_at'])
    .where(sql.ref('value'), 'is not', null)
    .execute()
}
