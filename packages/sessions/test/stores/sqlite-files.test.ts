import {
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { systemClock } from '@bowline/llm'
import { sqliteStore } from '../../src/sqlite.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { schemaVersion } from '../../src/stores/sqlite/schema.ts'

const newFolder = temporaryFolders()

async function open(file: string): Promise<SessionStore> {
  const store = sqliteStore({ file })
  await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
  return store
}

/** Creates an open store with a few hundred kilobytes. */
async function filled(file: string): Promise<SessionStore> {
  const store = await open(file)
  for (let n = 1; n <= 20; n++) {
    const message = { role: 'user', id: `entry-${n}`, content: 'secret '.repeat(2000) } as const
    await store.commit({
      id: `batch-${n}`,
      key: 'room:1',
      expect: [],
      writes: [
        { op: 'session.ensure', session: { id: 'session', agent: 'assistant', metadata: {}, at: n } },
        { op: 'entry.append', entries: [{ id: `entry-${n}`, parentId: null, type: 'message', at: n, message }] },
      ],
    })
  }
  return store
}

async function filledAndClosed(): Promise<string> {
  const file = join(newFolder(), 'sessions.db')
  await (await filled(file)).close()
  return file
}

/** Returns files of a process that ended without closing: part of the data is in the write-ahead log only. */
async function leftUnclean(): Promise<string> {
  const source = join(newFolder(), 'sessions.db')
  const store = await filled(source)
  outside(source, 'pragma wal_checkpoint(passive)')
  await store.commit({ id: 'last', key: 'room:1', expect: [], writes: [{ op: 'session.patch', patch: { turns: 9 } }] })
  const file = join(newFolder(), 'sessions.db')
  copyFileSync(source, file)
  copyFileSync(`${source}-wal`, `${file}-wal`)
  await store.close()
  return file
}

function outside(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

function overwrite(file: string, from: number, to: number): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(to - from, 0xa5), 0, to - from, from)
  closeSync(descriptor)
}

/** Expects opening to fail with this code and the name of the file, to change no byte and to leave no other file of SQLite. */
async function expectRefused(file: string, code: string): Promise<void> {
  const databaseFiles = () => readdirSync(join(file, '..')).filter((name) => !name.includes('-owner'))
  const before = databaseFiles().map((name) => [name, readFileSync(join(file, '..', name))])
  await expect(open(file)).rejects.toMatchObject({ code, message: expect.stringContaining(file) as unknown })
  expect(databaseFiles().map((name) => [name, readFileSync(join(file, '..', name))])).toEqual(before)
  expect(existsSync(`${file}-owner.pid`)).toBe(false)
}

describe('files that a sqlite store refuses', () => {
  it('S168: a file that is not a database is refused and left as it is', async () => {
    for (const content of ['short', `${'{"some": "json"}\n'.repeat(500)}`]) {
      const file = join(newFolder(), 'sessions.db')
      writeFileSync(file, content)
      await expectRefused(file, 'store-corrupt')
      expect(readdirSync(join(file, '..'))).toEqual(['sessions.db'])
    }
  })

  it('S168: a database of another application is refused and left as it is', async () => {
    for (const mode of ['wal', 'delete']) {
      const file = join(newFolder(), 'sessions.db')
      outside(file, `pragma journal_mode = ${mode}; create table other (a); insert into other values (1)`)
      await expectRefused(file, 'store-corrupt')
      expect(readdirSync(join(file, '..'))).toEqual(['sessions.db'])
    }
  })

  it('S168: a database with our mark and foreign tables is refused and left as it is', async () => {
    const file = await filledAndClosed()
    outside(file, 'pragma foreign_keys = off; alter table meta rename to other')
    await expectRefused(file, 'store-corrupt')
  })

  it('S168: a truncated database is refused and left as it is', async () => {
    const file = await filledAndClosed()
    const size = readFileSync(file).length
    for (const left of [size - 4096, size >> 1, 4096, 200, 50]) {
      truncateSync(file, left)
      await expectRefused(file, 'store-corrupt')
    }
  })

  it('S168: a write-ahead log without its database is refused and left as it is', async () => {
    const file = await leftUnclean()
    truncateSync(file, 0)
    await expectRefused(file, 'store-corrupt')
  })

  it('S168: damage is found after an unclean shutdown, and left as it is', async () => {
    const file = await leftUnclean()
    const size = readFileSync(file).length
    // Pages of the transcript. The tables can still be listed.
    overwrite(file, size >> 1, size)
    await expectRefused(file, 'store-corrupt')
  })

  it('S168: after an unclean shutdown the write-ahead log is read', async () => {
    const store = await open(await leftUnclean())
    expect(await store.readSession('room:1')).toMatchObject({ value: { turns: 9, version: 21 } })
    await store.close()
  })

  it('S52: tables of another version are refused with the remedy, and left as they are', async () => {
    const file = await filledAndClosed()
    for (const [version, remedy] of [
      [99, 'Update it'],
      [schemaVersion - 1, 'choose another file'],
    ] as const) {
      outside(file, `update meta set value = '${version}' where name = 'schema'`)
      await expectRefused(file, 'schema-too-new')
      await expect(open(file)).rejects.toThrow(remedy)
    }
    outside(file, `update meta set value = '${schemaVersion}' where name = 'schema'`)
    await (await open(file)).close()
  })

  it('S40: a path where no file can be made is unavailable', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a-file'), '')
    await expect(open(join(folder, 'a-file', 'sessions.db'))).rejects.toMatchObject({ code: 'store-unavailable' })
    mkdirSync(join(folder, 'a-folder'))
    await expect(open(join(folder, 'a-folder'))).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(() => sqliteStore({ file: ':memory:' })).toThrow(/memoryStore/)
  })

  it('S53: damage that is found during a read is reported without content', async () => {
    const file = await filledAndClosed()
    outside(file, `update entry set body = '{"secret' where id = 'entry-20'`)
    const store = await open(file)
    const error: unknown = await store.readPath('room:1').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'store-corrupt', message: expect.stringContaining('entry-20') as unknown })
    expect(String((error as Error).stack)).not.toContain('secret')
    expect((error as Error).cause).toBeUndefined()
    await store.close()
    const size = readFileSync(file).length
    overwrite(file, size >> 1, size)
    const damaged = await open(file)
    await expect(damaged.readPath('room:1')).rejects.toMatchObject({
      code: 'store-corrupt',
      message: expect.stringContaining(file) as unknown,
    })
    await damaged.close()
  })
})
