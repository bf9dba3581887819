import { sql } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Connection } from './tables.ts'

/** One step of the schema's history. Steps that were published never change. */
export type Migration = (connection: Connection, dialect: SqlDialect) => Promise<void>

export const migrations: readonly Migration[] = [createTables, addState]

async function createTables(connection: Connection, dialect: SqlDialect): Promise<void> {
  await connection.schema
    .createTable('meta')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
  await createSession(connection, dialect)
  await createRun(connection, dialect)
  await createToolCall(connection)
  await createTranscript(connection)
  await createRest(connection)
}

async function createSession({ schema }: Connection, { rowNumber }: SqlDialect): Promise<void> {
  await schema
    .createTable('session')
    .addColumn('row', 'integer', rowNumber)
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('parent', 'text')
    .addUniqueConstraint('session_key', ['namespace', 'key'])
    .execute()
  await schema
    .createTable('session_state')
    .addColumn('session', 'integer', (column) => column.primaryKey().references('session.row'))
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('status', 'text')
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('active_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('expired_at', 'bigint')
    .addColumn('next_entry', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('batch_id', 'text')
    .addColumn('batch', 'text')
    .execute()
  await schema
    .createTable('inbox')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('place', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('inbox_key', ['session', 'id'])
    .execute()
  await schema.createIndex('inbox_kind').on('inbox').columns(['kind', 'session']).execute()
}

async function createRun({ schema }: Connection, { rowNumber }: SqlDialect): Promise<void> {
  await schema
    .createTable('run')
    .addColumn('row', 'integer', rowNumber)
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('first_seq', 'integer', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('place', 'bigint', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('not_before', 'bigint')
    .addColumn('parent_run', 'text')
    .addColumn('parent_session', 'text')
    .addColumn('input_id', 'text')
    .addColumn('input_hash', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addUniqueConstraint('run_id', ['namespace', 'id'])
    .addUniqueConstraint('run_n', ['session', 'n'])
    .execute()
  await schema
    .createTable('run_state')
    .addColumn('run', 'integer', (column) => column.primaryKey().references('run.row'))
    .addColumn('epoch', 'integer', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('stop', 'text')
    .addColumn('open_calls', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('batch_id', 'text')
    .addColumn('batch', 'text')
    .execute()
  await schema
    .createTable('run_input')
    .addColumn('run', 'integer', (column) => column.primaryKey().references('run.row'))
    .addColumn('body', 'text', (column) => column.notNull())
    .execute()
  await createRunIndexes(schema)
}

/** Partial ones, so that they hold a handful of rows whatever the length of the history. */
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

async function createToolCall({ schema }: Connection): Promise<void> {
  await schema
    .createTable('tool_call')
    .addColumn('run', 'integer', (column) => column.notNull().references('run.row'))
    .addColumn('step', 'integer', (column) => column.notNull())
    .addColumn('tool_call_id', 'text', (column) => column.notNull())
    .addColumn('session', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('status', 'text')
    .addColumn('index', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('effect', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('input_hash', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('deadline_at', 'bigint')
    .addColumn('approval_id', 'text')
    .addColumn('rest', 'text')
    .addColumn('outcome', 'text')
    .addPrimaryKeyConstraint('tool_call_key', ['run', 'step', 'tool_call_id'])
    .execute()
  await schema
    .createIndex('tool_call_approval')
    .on('tool_call')
    .column('approval_id')
    .where(sql.ref('approval_id'), 'is not', null)
    .execute()
}

async function createTranscript({ schema }: Connection): Promise<void> {
  await schema
    .createTable('entry')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('run', 'integer')
    .addColumn('run_id', 'text')
    .addColumn('call_run', 'integer')
    .addColumn('call_step', 'integer')
    .addColumn('call_id', 'text')
    .addColumn('body', 'text')
    .addPrimaryKeyConstraint('entry_key', ['session', 'id'])
    .addForeignKeyConstraint('entry_parent', ['session', 'parent_id'], 'entry', ['session', 'id'])
    .execute()
  await schema
    .createTable('event')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('run', 'integer')
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_key', ['session', 'seq'])
    .execute()
}

/** What belongs to no conversation, or is left of one. */
async function createRest({ schema }: Connection): Promise<void> {
  await schema
    .createTable('timer')
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('timer_key', ['session', 'id'])
    .execute()
  await schema.createIndex('timer_due').on('timer').columns(['namespace', 'due_at']).execute()
  await schema
    .createIndex('session_end')
    .on('session_state')
    .columns(['namespace', 'expires_at'])
    .where(sql.ref('expires_at'), 'is not', null)
    .execute()
  await schema
    .createIndex('session_parent')
    .on('session')
    .columns(['namespace', 'parent'])
    .where(sql.ref('parent'), 'is not', null)
    .execute()
  await schema
    .createTable('tombstone')
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('next_seq', 'integer', (column) => column.notNull())
    .addColumn('next_run', 'integer', (column) => column.notNull())
    .addColumn('deleted_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('tombstone_key', ['namespace', 'key'])
    .execute()
  await schema
    .createTable('definition')
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('definition_key', ['namespace', 'hash'])
    .execute()
}

/** Records with a version and a time to live. The indexes leave out what is gone. */
async function addState({ schema }: Connection): Promise<void> {
  await schema
    .createTable('state')
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('space', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('value', 'text')
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
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
