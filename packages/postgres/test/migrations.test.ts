import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { migratePostgres, postgresStore, type PostgresStoreOptions } from '@bowline/postgres'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { ownPool } from '../src/store/pool.ts'
import { lockClass, migrateSchema, type Migration } from '../src/store/postgres-migrations.ts'
import { placeOf } from './clients.ts'

const database = testDatabase()
const closing: (() => Promise<unknown>)[] = []
let admin: pg.Client

beforeEach(async () => {
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query('drop schema if exists bowline cascade')
})

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await admin.end()
})

async function open(options: PostgresStoreOptions = {}): Promise<SessionStore> {
  const store = postgresStore({ connectionString: database.url, listen: false, poolSize: 2, ...options })
  await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
  closing.push(() => store.close())
  return store
}

const meta = async (name: string): Promise<unknown> =>
  (await admin.query<{ value: string }>('select value from bowline.meta where name = $1', [name])).rows[0]?.value
const tables = async (): Promise<number> => (await admin.query("select 1 from pg_tables where schemaname = 'bowline'")).rowCount ?? 0

async function migrateWith(steps: readonly Migration[]): Promise<void> {
  const pool = await ownPool(database.url, 1)
  try {
    await migrateSchema({ pool, schema: 'bowline', migrate: true, steps })
  } finally {
    await pool.close()
  }
}

const addTable = (name: string): Migration => [`create table bowline.${name} (value text)`]
const createMeta: Migration = ['create table bowline.meta (name text primary key, value text)']

describe('the tables of a Postgres store', () => {
  it('S191: are created once by processes that start at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => open()))
    expect(await Promise.all(stores.map((store) => store.readSession('room:1')))).toEqual(
      Array.from({ length: 4 }, () => ({ status: 'missing' })),
    )
    expect([await meta('schema'), await meta('major')]).toEqual(['4', '2'])
  })

  it('S191: are requested by the name of the command if the store may not create them', async () => {
    await expect(open({ migrate: false })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('run bowline-server migrate') as string,
    })
    expect(await tables()).toBe(0)
    await migratePostgres({ connectionString: database.url })
    await open({ migrate: false })
    await admin.query("update bowline.meta set value = '1' where name = 'schema'")
    await expect(open({ migrate: false })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('are at step 1 of 4') as string,
    })
  })

  it('S191: are used if they are some steps ahead, and refused unchanged if they have a later major version', async () => {
    await migratePostgres({ connectionString: database.url })
    await admin.query("update bowline.meta set value = '9' where name = 'schema'")
    for (const migrate of [true, false]) await open({ migrate })
    await admin.query("update bowline.meta set value = '3' where name = 'major'")
    for (const migrate of [true, false]) await expect(open({ migrate })).rejects.toMatchObject({ code: 'schema-too-new' })
    expect(await meta('schema')).toBe('9')
  })

  it('S191: are refused unchanged if a newer process created them while this one waited to migrate', async () => {
    await admin.query('begin')
    await admin.query("select pg_advisory_xact_lock($1, hashtext('migrate bowline'))", [lockClass])
    const migration = migratePostgres({ connectionString: database.url })
    const refused = expect(migration).rejects.toMatchObject({ code: 'schema-too-new' })
    await vi.waitFor(
      async () => expect((await admin.query("select 1 from pg_locks where locktype = 'advisory' and not granted")).rowCount).toBe(1),
      { timeout: 10_000 },
    )
    await admin.query(
      "create schema bowline; create table bowline.meta (name text primary key, value text); insert into bowline.meta values ('schema', '1'), ('major', '3'); commit",
    )
    await refused
    expect([await meta('schema'), await tables()]).toEqual(['1', 1])
  })

  it('S191: get each step as a whole or not at all, and keep the earlier steps', async () => {
    await expect(migrateWith([createMeta, addTable('first'), [...addTable('half'), 'select 1 / 0']])).rejects.toMatchObject({
      code: 'store-unavailable',
    })
    expect([await meta('schema'), await tables()]).toEqual(['2', 2])
    await migrateWith([createMeta, addTable('first'), addTable('half')])
    expect([await meta('schema'), await tables()]).toEqual(['3', 3])
  })

  it('S191: if another process migrates for too long, the error names that reason', async () => {
    await admin.query('begin')
    await admin.query('create schema bowline')
    await expect(migratePostgres({ connectionString: database.url })).rejects.toMatchObject({
      code: 'store-locked',
      message: expect.stringContaining('Start again later') as string,
    })
    await admin.query('rollback')
    await migratePostgres({ connectionString: database.url })
  })

  it('S191: are refused if the schema contains tables of another program', async () => {
    await migrateWith([createMeta])
    await admin.query("update bowline.meta set value = 'something'")
    await expect(open()).rejects.toMatchObject({ code: 'store-corrupt', message: expect.stringContaining('Name another schema') as string })
  })
})

describe('a Postgres server that cannot be used', () => {
  const overTcp = (user: string, name: string): string => `postgresql://${user}@127.0.0.1:${placeOf(database.url).port}/${name}`
  const name = (): string => placeOf(database.url).database ?? ''

  it.each([
    ['a wrong password', () => overTcp('postgres:wrong', name()), 'invalid-config', 'The password for Postgres is wrong. Correct it.'],
    ['a database that is not there', () => database.url.replace(name(), 'nowhere'), 'invalid-config', 'The database does not exist'],
    [
      'a server that is not there',
      () => 'postgresql://user:s3cret@127.0.0.1:1/x',
      'store-unavailable',
      'Postgres cannot be reached (ECONNREFUSED).',
    ],
  ])('S52: %s is a clear error without user, server or password', async (_what, url, code, text) => {
    const error = await open({ connectionString: url() }).catch((caught: unknown) => caught as Error)
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) as string })
    expect((error as Error).message).not.toMatch(/wrong@|s3cret|127\.0\.0\.1/)
  })

  it('S52: a missing right is named with its purpose, and nothing is done in part', async () => {
    await admin.query('drop role if exists poor')
    await admin.query('create role poor login')
    const poor = database.url.replace('postgres@', 'poor@')
    await expect(migratePostgres({ connectionString: poor })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringMatching(/has no permission: permission denied for database.*Grant it.*migrate the schema bowline/) as string,
    })
    expect(await tables()).toBe(0)
    await migratePostgres({ connectionString: database.url })
    await expect(open({ connectionString: poor })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringMatching(/permission denied for (schema|table)/) as string,
    })
    await admin.query('grant usage on schema bowline to poor; grant select on all tables in schema bowline to poor')
    const store = await open({ connectionString: poor })
    const commit = store.commit({
      id: 'b',
      key: 'room:1',
      expect: [],
      writes: [{ op: 'session.ensure', session: { id: 's', agent: 'assistant', metadata: {}, at: 1 } }],
    })
    await expect(commit).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringMatching(/permission denied for .*It was to write/) as string,
    })
    expect((await admin.query('select 1 from bowline.session')).rowCount).toBe(0)
    await admin.query('drop owned by poor; drop role poor')
  })

  it('S52: a read-only database is a clear error', async () => {
    await migratePostgres({ connectionString: database.url })
    const store = await open({ connectionString: `${database.url}?options=${encodeURIComponent('-c default_transaction_read_only=on')}` })
    const commit = store.commit({
      id: 'b',
      key: 'room:1',
      expect: [],
      writes: [{ op: 'session.ensure', session: { id: 's', agent: 'assistant', metadata: {}, at: 1 } }],
    })
    await expect(commit).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('Connect to the primary') as string,
    })
  })

  it('S52: commits that the server may lose are a warning', async () => {
    const warnings: string[] = []
    await open({
      connectionString: `${database.url}?options=${encodeURIComponent('-c synchronous_commit=off')}`,
      onWarning: (message) => void warnings.push(message),
    })
    expect(warnings).toEqual([expect.stringContaining('synchronous_commit is off')])
  })
})
