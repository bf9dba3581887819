import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '@bowline/llm'
import type { CommitResult, SessionStore } from '@bowline/sessions'
import { sqliteStore } from '../../src/sqlite.ts'
import { GroupCommit } from '../../src/stores/sqlite/group-commit.ts'
import { applySettings, openFile } from '../../src/stores/sqlite/open-file.ts'
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

/** Returns an open store with its own connection to the file. */
async function opened(): Promise<{ readonly store: SessionStore; readonly database: DatabaseSync }> {
  const executed = vi.spyOn(DatabaseSync.prototype, 'exec')
  const store = sqliteStore({ file: join(newFolder(), 'sessions.db') })
  await store.open(opening)
  const database = executed.mock.contexts.at(-1) as unknown as DatabaseSync
  executed.mockRestore()
  return { store, database }
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
    const opened = (synchronous: 'full' | 'normal') => {
      const database = openFile(join(newFolder(), 'sessions.db'), true, { ...settings, synchronous })
      const commits = new GroupCommit(database, synchronous)
      const write = (name: string, isProvisional: boolean) =>
        commits.write(() => {
          asked.push(`${name} ${String(pragma(database, 'synchronous'))}`)
          if (name === 'fails') throw new Error('fails')
        }, isProvisional)
      return { database, write }
    }
    const { database, write } = opened('full')
    await write('claim', true)
    await write('commit', false)
    await Promise.all([write('claim beside', true), write('commit beside', false)])
    await expect(write('fails', true)).rejects.toThrow('fails')
    await write('after', false)
    database.close()
    const normal = opened('normal')
    await normal.write('normal claim', true)
    expect(pragma(normal.database, 'synchronous')).toBe(1)
    normal.database.close()
    expect(asked).toEqual(['claim 1', 'commit 2', 'claim beside 2', 'commit beside 2', 'fails 1', 'after 2', 'normal claim 1'])
  })

  it('S168, O58: a state and a commit of one turn of the event loop share a transaction', async () => {
    const { store, database } = await opened()
    let shared: boolean | undefined
    // Called within a statement of the commit.
    database.function('look', () => Number((shared = database.prepare('select 1 from state').get() !== undefined)))
    database.exec('create trigger looks before insert on session begin select look(); end')
    const kept = store.state.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })
    expect(await Promise.all([kept, store.commit(batch)])).toMatchObject([{ ok: true }, { ok: true }])
    expect(shared).toBe(true)
    await store.close()
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
    const { store, database } = await opened()
    database.exec(`pragma max_page_count = ${(pragma(database, 'page_count') as number) + 120}`)
    const commitNumber = (n: number): Promise<CommitResult> => {
      const message = { role: 'user', id: `entry-${n}`, content: 'x'.repeat(20_000) } as const
      const append = { op: 'entry.append', entries: [{ id: `entry-${n}`, parentId: null, type: 'message', at: n, message }] } as const
      const events = { op: 'event.append', events: [{ event: { type: 'session-start', at: n } }] } as const
      return store.commit({ ...batch, id: `batch-${n}`, writes: [...batch.writes, events, append] })
    }
    let failed: unknown
    for (let n = 1; failed === undefined; n++) {
      try {
        await commitNumber(n)
      } catch (error) {
        failed = error
      }
    }
    expect(failed).toMatchObject({ code: 'store-full', message: expect.stringContaining('sessions.db') as unknown })
    const { lastSeq, events } = await store.readEvents('room:1', 0, 100)
    expect(lastSeq).toBeGreaterThan(2)
    expect(events).toHaveLength(lastSeq)
    expect(await store.readSession('room:1')).toMatchObject({ value: { version: lastSeq, leaf: `entry-${lastSeq}` } })
    database.exec('pragma max_page_count = 1000000')
    expect(await commitNumber(lastSeq + 1)).toMatchObject({ ok: true, version: lastSeq + 1 })
    await store.close()
  })

  it('S46: each statement is prepared once, however often it runs', async () => {
    const { store } = await opened()
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    for (let n = 1; n < 3; n++) await store.commit({ ...batch, id: `batch-${n}` })
    const afterTwo = prepare.mock.calls.length
    for (let n = 3; n < 10; n++) expect(await store.commit({ ...batch, id: `batch-${n}` })).toMatchObject({ ok: true, version: n })
    const texts = prepare.mock.calls.map(([text]) => text)
    prepare.mockRestore()
    expect(texts).toHaveLength(afterTwo)
    expect(new Set(texts).size).toBe(afterTwo)
    await store.close()
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
    const { store, database } = await opened()
    database.exec(`pragma max_page_count = ${(pragma(database, 'page_count') as number) + 40}`)
    const commitTo = (key: string, length: number): Promise<CommitResult> => {
      const events = [{ event: { type: 'session-start', at: 1, sessionKey: 'x'.repeat(length) } as const }]
      return store.commit({ ...batch, key, writes: [...batch.writes, { op: 'event.append', events }] })
    }
    const results = await Promise.allSettled([commitTo('room:1', 10), commitTo('room:2', 1_000_000), commitTo('room:3', 10)])
    const stored = await Promise.all(['room:1', 'room:2', 'room:3'].map(async (key) => (await store.readSession(key)).status))
    expect(stored).toEqual(results.map((result) => (result.status === 'fulfilled' ? 'found' : 'missing')))
    expect(results[1]).toMatchObject({ status: 'rejected', reason: { code: 'store-full' } })
    expect(await commitTo('room:4', 10)).toMatchObject({ ok: true })
    await store.close()
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
    const { store } = await opened()
    const commit = (id: string, ...lengths: readonly number[]) => {
      const events = lengths.map((length) => ({ event: { type: 'session-start', at: 1, sessionKey: 'x'.repeat(length) } as const }))
      return store.commit({ ...batch, id, writes: [...batch.writes, { op: 'event.append', events }] })
    }
    const million = 2 ** 20
    expect(await commit('batch-1', 9 * million, 9 * million, 1)).toMatchObject({ ok: true, lastSeq: 3 })
    await expect(commit('batch-2', 10, 17 * million)).rejects.toThrow(/The row room:1 5 of the table event is longer than 16777216 bytes/)
    const { events, lastSeq } = await store.readEvents('room:1', 0, 10)
    expect([events.map(({ seq }) => seq), lastSeq]).toEqual([[1, 2, 3], 3])
    await store.close()
  })
})
