import type { CreateTableBuilder } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import { createIndexes, indexes, stateIndexes } from './indexes.ts'
import type { Connection } from './tables.ts'

/** One step of the schema's history. Published steps never change. */
export type Migration = (connection: Connection, dialect: SqlDialect) => Promise<void>

/**
 * A table. Each column has a type: `text`, `number`, `row` for its own row number, or the table that it refers to. `?`: it may be null.
 * `!`: it is the key.
 */
interface Table {
  readonly name: string
  readonly columns: string
  readonly key?: string
  readonly unique?: Readonly<Record<string, string>>
  /** Each commit changes a row. */
  readonly changesOften?: true
}

const tables: readonly Table[] = [
  { name: 'meta', columns: 'name text!, value text' },
  {
    name: 'session',
    changesOften: true,
    unique: { session_key: 'namespace, key' },
    columns: `
      row row, namespace text, key text, id text, agent text, owner text?, created_at number, metadata text, parent text?,
      tenant text?, section number, status text?, active_at number
    `,
  },
  {
    name: 'session_state',
    changesOften: true,
    columns: `
      session session!, namespace text, version number, expires_at number?, expired_at number?, next_entry number, body text,
      batch_id text?, batch text?
    `,
  },
  {
    name: 'inbox',
    key: 'session, id',
    columns: 'session session, id text, kind text, at number, version number, place number, body text',
  },
  {
    name: 'run',
    unique: { run_id: 'namespace, id', run_n: 'session, n' },
    columns: `
      row row, session session, namespace text, id text, n number, first_seq number, kind text, place number, status text,
      not_before number?, tenant text?, parent_run text?, parent_session text?, input_id text?, input_hash text,
      created_at number, ended_at number?
    `,
  },
  {
    name: 'run_state',
    changesOften: true,
    columns: `
      run run!, epoch number, owner text?, lease_until number?, stop text?, attempts number, definition text?,
      open_calls number, body text, batch_id text?, batch text?
    `,
  },
  { name: 'run_input', columns: 'run run!, body text' },
  {
    name: 'tool_call',
    key: 'run, step, tool_call_id',
    columns: `
      run run, step number, tool_call_id text, session number, state text, status text?, index number, name text, effect text,
      idempotency_key text?, input_hash text, attempt number, started_at number?, deadline_at number?, approval_id text?,
      rest text?, outcome text?
    `,
  },
  {
    name: 'entry',
    key: 'session, id',
    columns: `
      session session, id text, n number, parent_id text?, type text, at number, run number?, run_id text?, call_run number?,
      call_step number?, call_id text?, body text?
    `,
  },
  { name: 'event', key: 'session, seq', columns: 'session session, seq number, run number?, body text' },
  {
    name: 'timer',
    key: 'session, id',
    columns: 'namespace text, session session, key text, id text, kind text, due_at number?, body text',
  },
  {
    name: 'tombstone',
    key: 'namespace, key',
    columns: 'namespace text, key text, version number, next_seq number, next_run number, deleted_at number',
  },
  { name: 'definition', key: 'namespace, hash', columns: 'namespace text, hash text, body text' },
  {
    name: 'notice',
    changesOften: true,
    key: 'session, n',
    columns: `
      namespace text, session session, n number, hook text, receiver text, type text, at number, body text, state text, attempts number,
      queued_at number, due_at number?, settled_at number?, error text?
    `,
  },
]

const stateTables: readonly Table[] = [
  {
    name: 'state',
    key: 'namespace, space, id',
    columns: `
      namespace text, space text, id text, version number, value text?, used_at number, expires_at number?
    `,
  },
]

/** Creates all tables of a new store with their indexes. */
export async function createTables(connection: Connection, dialect: SqlDialect): Promise<void> {
  await createAll(connection, dialect, tables)
  await createIndexes(connection, indexes)
}

/** Adds the table of state records. */
export async function addState(connection: Connection, dialect: SqlDialect): Promise<void> {
  await createAll(connection, dialect, stateTables)
  await createIndexes(connection, stateIndexes)
}

async function createAll({ schema }: Connection, dialect: SqlDialect, list: readonly Table[]): Promise<void> {
  for (const { name, columns, key, unique = {}, changesOften } of list) {
    let table: CreateTableBuilder<string, string> = schema.createTable(name)
    if (changesOften) table = dialect.changesOften(table)
    for (const column of columns.trim().split(/,\s+/)) table = withColumn(table, column, dialect)
    if (key) table = table.addPrimaryKeyConstraint(`${name}_key`, key.split(', '))
    for (const [constraint, names] of Object.entries(unique)) table = table.addUniqueConstraint(constraint, names.split(', '))
    if (name === 'entry' && dialect.hasReferences)
      table = table.addForeignKeyConstraint('entry_parent', ['session', 'parent_id'], 'entry', ['session', 'id'])
    await table.execute()
  }
}

function withColumn(
  table: CreateTableBuilder<string, string>,
  column: string,
  { types, rowNumber, refersTo }: SqlDialect,
): CreateTableBuilder<string, string> {
  const [, name = '', type, mark] = /^(\w+) (\w+)([?!]?)$/.exec(column) ?? []
  return table.addColumn(name, type === 'text' ? types.text : types.number, (start) => {
    if (type === 'row') return rowNumber(start)
    const marked = mark === '!' ? start.primaryKey() : mark === '?' ? start : start.notNull()
    return type === 'session' || type === 'run' ? refersTo(marked, `${type}.row`) : marked
  })
}
