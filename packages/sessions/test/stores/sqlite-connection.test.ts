import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '@bowline/llm'
import { sqliteStore } from '../../src/sqlite.ts'
import { commitBatch } from '../../src/stores/sql/commit.ts'
import { migrate } from '../../src/stores/sql/migrate.ts'
import { readEvents } from '../../src/stores/sql/read-log.ts'
import { readApproval, readCalls, readRun, readSession } from '../../src/stores/sql/read.ts'
import { migrations } from '../../src/stores/sql/schema.ts'
import type { Tables } from '../../src/stores/sql/tables.ts'
import { NodeSqliteDialect } from '../../src/stores/sqlite/node-sqlite-dialect.ts'
import { applySettings, openFile } from '../../src/stores/sqlite/open-file.ts'
import { storeError } from '../../src/stores/sqlite/sqlite-errors.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const settings = { synchronous: 'full', busyTimeoutMs: 1234 } as const
const opening = { namespace: 'default', owner: 'owner-a', clock: systemClock }
const batch = {
  id: 'batch-1',
  key: 'room:1',
  expect: [],
  writes: [{ op: 'session.ensure', session: { id: 's', agent: 'assistant', metadata: {}, at: 1 } }],
} as const

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]
}

describe('the connection of a sqlite store', { timeout: 30_000 }, () => {
  it('S168: journal mode, synchronous, foreign keys and busy timeout are set', () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const names = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout', 'application_id']
    expect(names.map((name) => pragma(database, name))).toEqual(['wal', 2, 1, 1234, 0x62776c6e])
    applySettings(database, 'sessions.db', { ...settings, synchronous: 'normal' })
    expect(pragma(database, 'synchronous')).toBe(1)
    database.close()
  })

  it('S168: a setting that does not take is an error that names it', () => {
    const database = new DatabaseSync(':memory:')
    expect(() => applySettings(database, 'sessions.db', settings)).toThrow(/sessions\.db does not take journal_mode = wal; it says memory/)
    database.close()
  })

  it('S168: what a commit outlives is what the store says', () => {
    const file = join(newFolder(), 'sessions.db')
    expect(sqliteStore({ file }).capabilities).toMatchObject({ durable: 'power', processes: 'one' })
    expect(sqliteStore({ file, synchronous: 'normal' }).capabilities.durable).toBe('process')
  })

  it('S46: between two calls nothing is locked', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = sqliteStore({ file })
    await store.open(opening)
    await store.commit(batch)
    const outside = new DatabaseSync(file, { timeout: 0 })
    outside.exec('begin immediate; rollback')
    await store.commit({ ...batch, id: 'refused', expect: [{ that: 'session', id: null }] })
    outside.exec('begin immediate; rollback')
    outside.close()
    await store.close()
  })

  it('S35: a commit that met a locked file is unavailable, and its repeat is applied', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = sqliteStore({ file, busyTimeoutMs: 20 })
    await store.open(opening)
    const outside = new DatabaseSync(file)
    outside.exec('begin immediate')
    await expect(store.commit(batch)).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(await store.readSession('room:1')).toEqual({ status: 'missing' })
    outside.exec('rollback')
    outside.close()
    expect(await store.commit(batch)).toMatchObject({ ok: true, version: 1 })
    expect(await store.commit(batch)).toMatchObject({ ok: true, version: 1 })
    await store.close()
  })

  it('S34: closing waits for what is under way', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = sqliteStore({ file })
    await store.open(opening)
    const committing = [1, 2, 3].map((n) => store.commit({ ...batch, id: `batch-${n}` }))
    const closing = store.close()
    await expect(store.commit(batch)).rejects.toMatchObject({ code: 'store-unavailable' })
    expect((await Promise.all(committing)).map((result) => result.ok)).toEqual([true, true, true])
    await closing
    await store.open(opening)
    expect(await store.readSession('room:1')).toMatchObject({ value: { version: 3 } })
    await store.close()
  })

  it('S168: a full disk gives store-full and leaves the last commit whole; with room again writing goes on', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, 'it')
    const pages = pragma(database, 'page_count') as number
    database.exec(`pragma max_page_count = ${pages + 30}`)
    const context = { namespace: 'default', now: 1, maxRecordBytes: 1e9, violatesConstraint: () => false }
    const commitNumber = (n: number) => {
      const message = { role: 'user', id: `entry-${n}`, content: 'x'.repeat(20_000) } as const
      const append = { op: 'entry.append', entries: [{ id: `entry-${n}`, parentId: null, type: 'message', at: n, message }] } as const
      const events = { op: 'event.append', events: [{ event: { type: 'session-start', at: n } }] } as const
      return commitBatch(db, { ...batch, id: `batch-${n}`, writes: [...batch.writes, events, append] }, context)
    }
    const failed: unknown = await (async () => {
      for (let n = 1; ; n++) await commitNumber(n)
    })().catch((error: unknown) => storeError(error, 'sessions.db'))
    expect(failed).toMatchObject({ code: 'store-full', message: expect.stringContaining('sessions.db') as unknown })
    const reader = { db, namespace: 'default' }
    const { lastSeq, events } = await readEvents(reader, 'room:1', 0, 100)
    expect(lastSeq).toBeGreaterThan(2)
    expect(events).toHaveLength(lastSeq)
    expect(await readSession(reader, 'room:1')).toMatchObject({ value: { version: lastSeq, leaf: `entry-${lastSeq}` } })
    database.exec('pragma max_page_count = 1000000')
    expect(await commitNumber(lastSeq + 1)).toMatchObject({ ok: true, version: lastSeq + 1 })
    database.close()
  })

  it('S52: rows of the first version are read, and go on, under the present one', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, 'it', migrations.slice(0, 1))
    database.exec(`
      insert into session (row, namespace, key, id, agent, status, version, first_seq, next_seq, next_run, next_entry, turns, usage, metadata, created_at, active_at)
        values (1, 'default', 'room:1', 's1', 'assistant', 'busy', 1, 1, 1, 2, 1, 1, '{}', '{}', 1, 1);
      insert into run (row, session, namespace, id, n, first_seq, kind, status, epoch, attempts, total_attempts, input_hash, turn, step, pending_tool_calls, usage, created_at)
        values (1, 1, 'default', 'run-1', 1, 1, 'user', 'awaiting-tools', 1, 0, 0, 'hash', 1, 1, '[]', '{}', 1);
      insert into run_input (run, body) values (1, '"go"');
      insert into tool_call (run, step, tool_call_id, session, "index", name, effect, idempotency_key, input_hash, state, attempt)
        values (1, 1, 'call-1', 1, 0, 'place', 'once', 'run-1/1/call-1', 'hash', 'remote', 1);
    `)
    await migrate(db, 'it')
    const reader = { db, namespace: 'default' }
    expect(await readRun(reader, 'run-1')).toMatchObject({ value: { status: 'awaiting-tools', pendingApprovals: [] } })
    const [call] = await readCalls(reader, 'run-1')
    expect(call).toMatchObject({ toolCallId: 'call-1', state: 'remote' })
    expect(call).not.toHaveProperty('approval')
    const context = { namespace: 'default', now: 1, maxRecordBytes: 1e9, violatesConstraint: () => false }
    const approval = { approvalId: 'approval-1', state: 'requested', inputHash: 'hash', input: null } as const
    const put = { op: 'call.put', calls: call ? [{ ...call, approval }] : [] } as const
    expect(await commitBatch(db, { ...batch, writes: [put] }, context)).toMatchObject({ ok: true })
    expect(await readApproval(reader, 'room:1', 'approval-1')).toMatchObject({ value: { approval } })
    database.close()
  })

  it('S51: each step of the schema is one transaction, and the ones that are done are not repeated', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    const tables = () => database.prepare("select name from sqlite_schema where name like 'step%'").all().map((row) => row.name)
    const version = () => database.prepare("select value from meta where name = 'schema'").get()?.value
    const second = async (connection: Kysely<Tables>) => void (await sql`create table step_two (a)`.execute(connection))
    const broken = async (connection: Kysely<Tables>) => {
      await sql`create table step_three (a)`.execute(connection)
      throw new Error('broken step')
    }
    await expect(migrate(db, 'it', [...migrations, second, broken])).rejects.toThrow('broken step')
    const reached = String(migrations.length + 1)
    expect([tables(), version()]).toEqual([['step_two'], reached])
    await migrate(db, 'it', [...migrations, second])
    expect([tables(), version()]).toEqual([['step_two'], reached])
    await expect(migrate(db, 'it', migrations)).rejects.toMatchObject({ code: 'schema-too-new' })
    database.close()
  })
})
