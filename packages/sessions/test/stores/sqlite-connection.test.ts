import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '@bowline/llm'
import { sqliteStore } from '../../src/sqlite.ts'
import { commitBatch } from '../../src/stores/sql/commit.ts'
import { sqliteDialect } from '../../src/stores/sql/dialect.ts'
import { readEvents } from '../../src/stores/sql/events.ts'
import { migrate } from '../../src/stores/sql/migrate.ts'
import { readSession } from '../../src/stores/sql/sessions.ts'
import { all, command, type Steps } from '../../src/stores/sql/statement.ts'
import { migrations } from '../../src/stores/sql/schema.ts'
import type { Tables } from '../../src/stores/sql/tables.ts'
import { NodeSqliteDialect } from '../../src/stores/sqlite/node-sqlite-dialect.ts'
import { applySettings, openFile } from '../../src/stores/sqlite/open-file.ts'
import { SqliteConnection } from '../../src/stores/sqlite/sqlite-connection.ts'
import { storeError } from '../../src/stores/sqlite/sqlite-errors.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const settings = { synchronous: 'full', busyTimeoutMs: 1234 } as const
const opening = { namespace: 'default', owner: 'owner-a', clock: systemClock }
const view = { namespace: 'default', now: 1 }
const batch = {
  id: 'batch-1',
  key: 'room:1',
  expect: [],
  writes: [{ op: 'session.ensure', session: { id: 's', agent: 'assistant', metadata: {}, at: 1 } }],
} as const

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]
}

describe('the connection of a sqlite store', () => {
  it('S168: journal mode, synchronous, foreign keys and busy timeout are set', () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const names = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout', 'application_id', 'page_size', 'wal_autocheckpoint']
    expect(names.map((name) => pragma(database, name))).toEqual(['wal', 2, 1, 1234, 0x62776c6e, 2048, 2048])
    applySettings(database, 'sessions.db', { ...settings, synchronous: 'normal' })
    expect(pragma(database, 'synchronous')).toBe(1)
    database.close()
  })

  it('S168: a setting that does not take effect is an error that names it', () => {
    const database = new DatabaseSync(':memory:')
    expect(() => applySettings(database, 'sessions.db', settings)).toThrow(
      /sessions\.db does not accept the pragma journal_mode = wal; its value stays memory/,
    )
    database.close()
  })

  it('S168: durable says what a commit survives', () => {
    const file = join(newFolder(), 'sessions.db')
    expect(sqliteStore({ file }).capabilities).toMatchObject({ durable: 'power', processes: 'one' })
    expect(sqliteStore({ file, synchronous: 'normal' }).capabilities.durable).toBe('process')
  })

  it('S168: a claim leaves the sync to the commit that follows, or shares it', async () => {
    const asked: string[] = []
    const level = command('pragma synchronous')
    function* look(name: string): Steps<void> {
      const [row] = yield* all(level, {})
      asked.push(`${name} ${(row as { readonly synchronous: number }).synchronous}`)
      if (name === 'fails') throw new Error('fails')
    }
    const connectionOf = (synchronous: 'full' | 'normal') => {
      const database = openFile(join(newFolder(), 'sessions.db'), true, { ...settings, synchronous })
      const connection = new SqliteConnection(database, new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) }), synchronous)
      return { database, connection }
    }
    const { database, connection } = connectionOf('full')
    await connection.provisional(look('claim'))
    await connection.transaction(look('commit'))
    await Promise.all([connection.provisional(look('claim beside')), connection.transaction(look('commit beside'))])
    await expect(connection.provisional(look('fails'))).rejects.toThrow('fails')
    expect(pragma(database, 'synchronous')).toBe(2)
    database.close()
    const normal = connectionOf('normal')
    await normal.connection.provisional(look('normal claim'))
    expect(pragma(normal.database, 'synchronous')).toBe(1)
    normal.database.close()
    expect(asked).toEqual(['claim 1', 'commit 2', 'claim beside 2', 'commit beside 2', 'fails 1', 'normal claim 1'])
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

  it('S35: a commit that finds the file locked is unavailable, and its repeat is applied', async () => {
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

  it('S34: closing waits for operations under way', async () => {
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

  it('S168: a full disk gives store-full and keeps the last commit whole; with space again writing goes on', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, sqliteDialect, 'it')
    const connection = new SqliteConnection(database, db, 'full')
    const pages = pragma(database, 'page_count') as number
    database.exec(`pragma max_page_count = ${pages + 120}`)
    const context = { ...view, isShared: false, maxRecordBytes: 1e9, violatesConstraint: () => false }
    const commitNumber = (n: number) => {
      const message = { role: 'user', id: `entry-${n}`, content: 'x'.repeat(20_000) } as const
      const append = { op: 'entry.append', entries: [{ id: `entry-${n}`, parentId: null, type: 'message', at: n, message }] } as const
      const events = { op: 'event.append', events: [{ event: { type: 'session-start', at: n } }] } as const
      return connection.transaction(commitBatch({ ...batch, id: `batch-${n}`, writes: [...batch.writes, events, append] }, context))
    }
    let failed: unknown
    for (let n = 1; failed === undefined; n++) {
      try {
        await commitNumber(n)
      } catch (error) {
        failed = storeError(error, 'sessions.db')
      }
    }
    expect(failed).toMatchObject({ code: 'store-full', message: expect.stringContaining('sessions.db') as unknown })
    const { lastSeq, events } = connection.run(readEvents(view, 'room:1', 0, 100))
    expect(lastSeq).toBeGreaterThan(2)
    expect(events).toHaveLength(lastSeq)
    expect(connection.run(readSession(view, 'room:1'))).toMatchObject({ value: { version: lastSeq, leaf: `entry-${lastSeq}` } })
    database.exec('pragma max_page_count = 1000000')
    expect(await commitNumber(lastSeq + 1)).toMatchObject({ ok: true, version: lastSeq + 1 })
    database.close()
  })

  it('S46: each statement is built and prepared once, however often it runs', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, sqliteDialect, 'it')
    const prepared: string[] = []
    const watched = new Proxy(database, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'prepare') return (text: string) => (prepared.push(text), target.prepare(text))
        return value.bind(target) as unknown
      },
    })
    const connection = new SqliteConnection(watched, db, 'full')
    const commitNumber = (n: number) =>
      connection.transaction(
        commitBatch({ ...batch, id: `batch-${n}` }, { ...view, isShared: false, maxRecordBytes: 1e9, violatesConstraint: () => false }),
      )
    await commitNumber(1)
    await commitNumber(2)
    const afterTwo = prepared.length
    for (let n = 3; n < 10; n++) expect(await commitNumber(n)).toMatchObject({ ok: true, version: n })
    expect(prepared).toHaveLength(afterTwo)
    expect(new Set(prepared).size).toBe(afterTwo)
    database.close()
  })

  it('S34: concurrent commits are stored together, and each is refused or fails alone', async () => {
    const store = sqliteStore({ file: join(newFolder(), 'sessions.db') })
    await store.open(opening)
    const refused = { ...batch, id: 'refused', expect: [{ that: 'session', id: null }] } as const
    const broken = { ...batch, id: 'broken', writes: [...batch.writes, { op: 'timer.drop', ids: [Number.NaN] }] } as unknown as typeof batch
    const tooLong = {
      ...batch,
      id: 'too-long',
      writes: [
        ...batch.writes,
        { op: 'event.append', events: [{ event: { type: 'session-start', at: 1, sessionKey: 'x'.repeat(2 ** 24) } }] },
      ],
    } as const
    const entry = { id: 'a', parentId: null, type: 'message', at: 1, message: { role: 'user', id: 'a', content: 'it' } } as const
    const half = {
      ...batch,
      id: 'half',
      writes: [...batch.writes, { op: 'entry.append', entries: [entry] }, { op: 'run.patch', runId: 'unknown', patch: {} }],
    } as const
    const given = [batch, half, refused, { ...batch, id: 'batch-2' }, broken, tooLong, { ...batch, id: 'batch-3' }]
    const results = await Promise.allSettled(given.map((each) => store.commit(each)))
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as { code: string }).code)),
    ).toMatchObject([
      { ok: true, version: 1 },
      { ok: false, reason: 'conflict' },
      { ok: false, reason: 'conflict' },
      { ok: true, version: 2 },
      'invalid-input',
      'entry-too-large',
      { ok: true, version: 3 },
    ])
    expect(await store.readSession('room:1')).toMatchObject({ value: { version: 3, nextSeq: 1, leaf: null } })
    expect(await store.commit({ ...batch, id: 'batch-4', writes: [{ op: 'entry.append', entries: [entry] }] })).toMatchObject({
      ok: true,
      version: 4,
    })
    await store.close()
  })

  it('S168: if the disk becomes full during many commits, none is stored, and each gets an error', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, sqliteDialect, 'it')
    const connection = new SqliteConnection(database, db, 'full')
    database.exec(`pragma max_page_count = ${(pragma(database, 'page_count') as number) + 40}`)
    const context = { ...view, isShared: false, maxRecordBytes: 1e9, violatesConstraint: () => false }
    const commitTo = (key: string, length: number) => {
      const events = [{ event: { type: 'session-start', at: 1, sessionKey: 'x'.repeat(length) } as const }]
      return connection.transaction(commitBatch({ ...batch, key, writes: [...batch.writes, { op: 'event.append', events }] }, context))
    }
    const results = await Promise.allSettled([commitTo('room:1', 10), commitTo('room:2', 1_000_000), commitTo('room:3', 10)])
    const stored = ['room:1', 'room:2', 'room:3'].map((key) => connection.run(readSession(view, key)).status)
    expect(stored).toEqual(results.map((result) => (result.status === 'fulfilled' ? 'found' : 'missing')))
    expect(results[1]).toMatchObject({ status: 'rejected', reason: { errcode: 13 } })
    expect(await commitTo('room:4', 10)).toMatchObject({ ok: true })
    database.close()
  })

  it('S46: prepared statements end with the connection, and the store can be opened again', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = sqliteStore({ file })
    for (let n = 1; n < 4; n++) {
      await store.open(opening)
      expect(await store.commit({ ...batch, id: `batch-${n}` })).toMatchObject({ ok: true, version: n })
      await store.close()
    }
  })

  it('S49: events that are together longer than a record are stored, a single event that is longer is refused', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, sqliteDialect, 'it')
    const connection = new SqliteConnection(database, db, 'full')
    const context = { ...view, isShared: false, maxRecordBytes: 1000, violatesConstraint: () => false }
    const commit = (id: string, ...lengths: readonly number[]) => {
      const events = lengths.map((length) => ({ event: { type: 'session-start', at: 1, sessionKey: 'x'.repeat(length) } as const }))
      return connection.transaction(commitBatch({ ...batch, id, writes: [...batch.writes, { op: 'event.append', events }] }, context))
    }
    expect(await commit('batch-1', 600, 600)).toMatchObject({ ok: true, lastSeq: 2 })
    await expect(commit('batch-2', 10, 1000)).rejects.toThrow(/session-start is longer than 1000 bytes/)
    expect(connection.run(readEvents(view, 'room:1', 0, 10))).toMatchObject({ lastSeq: 2 })
    database.close()
  })

  it('S51: each schema step is one transaction, and completed steps are not repeated', async () => {
    const database = openFile(join(newFolder(), 'sessions.db'), true, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    const tables = () =>
      database
        .prepare("select name from sqlite_schema where name like 'step%'")
        .all()
        .map((row) => row.name)
    const version = () => database.prepare("select value from meta where name = 'schema'").get()?.value
    const second = async (connection: Kysely<Tables>) => void (await sql`create table step_two (a)`.execute(connection))
    const broken = async (connection: Kysely<Tables>) => {
      await sql`create table step_three (a)`.execute(connection)
      throw new Error('broken step')
    }
    await expect(migrate(db, sqliteDialect, 'it', [...migrations, second, broken])).rejects.toThrow('broken step')
    const reached = String(migrations.length + 1)
    expect([tables(), version()]).toEqual([['step_two'], reached])
    await migrate(db, sqliteDialect, 'it', [...migrations, second])
    expect([tables(), version()]).toEqual([['step_two'], reached])
    await expect(migrate(db, sqliteDialect, 'it', migrations)).rejects.toMatchObject({ code: 'schema-too-new' })
    database.close()
  })
})
