import { sql } from 'kysely'
import type { ForeignKeyConstraintBuilder } from 'kysely'
import type { Connection } from './tables.ts'

/** One step of the schema's history. Steps that were published never change. */
export type Migration = (connection: Connection) => Promise<void>

export const migrations: readonly Migration[] = [createTables, addTurnState]

async function createTables(connection: Connection): Promise<void> {
  const { schema } = connection
  await schema
    .createTable('meta')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
  await createSession(connection)
  await createRun(connection)
  await createToolCall(connection)
  await createTranscript(connection)
}

async function createSession({ schema }: Connection): Promise<void> {
  await schema
    .createTable('session')
    .addColumn('row', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('first_seq', 'integer', (column) => column.notNull())
    .addColumn('next_seq', 'integer', (column) => column.notNull())
    .addColumn('next_run', 'integer', (column) => column.notNull())
    .addColumn('next_entry', 'integer', (column) => column.notNull())
    .addColumn('leaf', 'text')
    .addColumn('turns', 'integer', (column) => column.notNull())
    .addColumn('usage', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', 'integer', (column) => column.notNull())
    .addColumn('active_at', 'integer', (column) => column.notNull())
    .addColumn('last_batch', 'text')
    .addUniqueConstraint('session_key', ['namespace', 'key'])
    .execute()
  await schema
    .createTable('inbox')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('place', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('inbox_key', ['session', 'id'])
    .execute()
}

async function createRun({ schema }: Connection): Promise<void> {
  await schema
    .createTable('run')
    .addColumn('row', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('first_seq', 'integer', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('epoch', 'integer', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'integer')
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('total_attempts', 'integer', (column) => column.notNull())
    .addColumn('input_id', 'text')
    .addColumn('input_hash', 'text', (column) => column.notNull())
    .addColumn('turn', 'integer')
    .addColumn('step', 'integer', (column) => column.notNull())
    .addColumn('open_message_id', 'text')
    .addColumn('stop', 'text')
    .addColumn('pending_tool_calls', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('usage', 'text', (column) => column.notNull())
    .addColumn('created_at', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'integer')
    .addColumn('ended_at', 'integer')
    .addColumn('last_batch', 'text')
    .addUniqueConstraint('run_id', ['namespace', 'id'])
    .addUniqueConstraint('run_n', ['session', 'n'])
    .execute()
  await schema
    .createTable('run_input')
    .addColumn('run', 'integer', (column) => column.primaryKey().references('run.row'))
    .addColumn('body', 'text', (column) => column.notNull())
    .execute()
  // Partial indexes, so that they hold a handful of rows whatever the length of the history.
  await schema
    .createIndex('run_open')
    .on('run')
    .columns(['session', 'n', 'status'])
    .where(sql.ref('ended_at'), 'is', null)
    .execute()
  await schema
    .createIndex('run_holding')
    .unique()
    .on('run')
    .column('session')
    .where(sql.ref('ended_at'), 'is', null)
    .where(sql.ref('status'), '<>', sql.lit('queued'))
    .execute()
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
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('index', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('effect', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('input_hash', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('status', 'text')
    .addColumn('outcome', 'text')
    .addColumn('answer_hash', 'text')
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'integer')
    .addColumn('deadline_at', 'integer')
    .addColumn('terminate', 'integer')
    .addPrimaryKeyConstraint('tool_call_key', ['run', 'step', 'tool_call_id'])
    .execute()
  await schema.createIndex('tool_call_id').on('tool_call').columns(['session', 'tool_call_id']).execute()
  await schema
    .createIndex('tool_call_open')
    .on('tool_call')
    .column('run')
    .where(sql.ref('state'), '<>', sql.lit('settled'))
    .execute()
}

const callColumns = ['call_run', 'call_step', 'call_id'] as const
const callKey = ['run', 'step', 'tool_call_id'] as const

/** A batch may refer to what it writes further on. */
function checkedAtCommit(key: ForeignKeyConstraintBuilder): ForeignKeyConstraintBuilder {
  return key.deferrable().initiallyDeferred()
}

async function createTranscript({ schema }: Connection): Promise<void> {
  await schema
    .createTable('entry')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('body', 'text')
    .addColumn('call_run', 'integer')
    .addColumn('call_step', 'integer')
    .addColumn('call_id', 'text')
    .addPrimaryKeyConstraint('entry_key', ['session', 'id'])
    .addForeignKeyConstraint('entry_parent', ['session', 'parent_id'], 'entry', ['session', 'id'])
    .addForeignKeyConstraint('entry_call', [...callColumns], 'tool_call', [...callKey], checkedAtCommit)
    .execute()
  await schema
    .createTable('event')
    .addColumn('session', 'integer', (column) => column.notNull().references('session.row'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('entry_id', 'text')
    .addColumn('call_run', 'integer')
    .addColumn('call_step', 'integer')
    .addColumn('call_id', 'text')
    .addColumn('input_run', 'integer')
    .addPrimaryKeyConstraint('event_key', ['session', 'seq'])
    .addForeignKeyConstraint('event_entry', ['session', 'entry_id'], 'entry', ['session', 'id'], checkedAtCommit)
    .addForeignKeyConstraint('event_call', [...callColumns], 'tool_call', [...callKey], checkedAtCommit)
    .addForeignKeyConstraint('event_input', ['input_run'], 'run_input', ['run'], checkedAtCommit)
    .execute()
}

/** What a turn keeps between its commits, and the approvals of its calls. */
async function addTurnState({ schema }: Connection): Promise<void> {
  for (const name of ['pending_approvals', 'turn_state', 'rest']) await schema.alterTable('run').addColumn(name, 'text').execute()
  for (const name of ['input', 'approval', 'approval_id']) await schema.alterTable('tool_call').addColumn(name, 'text').execute()
  await schema
    .createIndex('tool_call_approval')
    .on('tool_call')
    .columns(['session', 'approval_id'])
    .where(sql.ref('approval_id'), 'is not', null)
    .execute()
}
