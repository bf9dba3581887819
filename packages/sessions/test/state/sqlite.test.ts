import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { sqliteStateStore, sqliteStore } from '@bowline/sessions/sqlite'
import { testStateStore } from '@bowline/testing/stores'
import { temporaryFolders } from '../stores/temporary-folder.ts'

const newFolder = temporaryFolders()
let folder: string | undefined

async function openIn(directory: string, clock: Clock, namespace = 'default') {
  const store = sqliteStore({ file: join(directory, 'data.db') })
  await store.open({ namespace, owner: 'owner-a', clock })
  return { ...store.state, close: () => store.close() }
}

testStateStore({
  name: 'sqlite, with a runtime and without',
  create: (clock) => openIn((folder = mkdtempSync(join(tmpdir(), 'bowline-state-'))), clock),
  reopen: async (_store, clock) => sqliteStateStore({ file: join(String(folder), 'data.db'), clock }),
  destroy: async () => rmSync(String(folder), { recursive: true }),
  search: true,
  runner: { describe, it },
})

describe('the state of a sqlite store', () => {
  it('O60: namespaces of one file have separate states', async () => {
    const directory = newFolder()
    const one = await openIn(directory, systemClock, 'one')
    await one.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })
    await one.close()
    const two = await openIn(directory, systemClock, 'two')
    expect(await two.get('s', 'a')).toEqual({ status: 'missing' })
    expect(await two.list('s', {})).toEqual({ items: [] })
    await two.close()
  })

  it('O54: a sweep of one namespace leaves the others alone', async () => {
    const directory = newFolder()
    const clock = manualClock(1_000)
    const one = await openIn(directory, clock, 'one')
    await one.compareAndSet('s', 'a', null, 1, { ttlMs: 10 })
    await one.close()
    await clock.advance(10)
    const two = await openIn(directory, clock, 'two')
    expect(await two.sweep(10)).toBe(0)
    await two.close()
  })

  it('O61: a deleted record leaves its version and nothing of its value', async () => {
    const directory = newFolder()
    const store = await openIn(directory, systemClock)
    await store.compareAndSet('s', 'a', null, 'secret', { ttlMs: 'never' })
    await store.delete('s', 'a')
    await store.close()
    const outside = new DatabaseSync(join(directory, 'data.db'))
    expect(outside.prepare('select space, id, version, value, expires_at from state').all()).toEqual([
      { space: 's', id: 'a', version: 1, value: null, expires_at: null },
    ])
    outside.close()
  })

  it('O62: a page is read from an index, without a sort or a scan of the table', async () => {
    const directory = newFolder()
    await (await openIn(directory, systemClock)).close()
    const outside = new DatabaseSync(join(directory, 'data.db'))
    const plan = outside
      .prepare(
        "explain query plan select * from state where namespace = 'default' and space = 's' and value is not null and (expires_at is null or expires_at > 5) and id >= 'a' and id <> 'a' and id < 'b' order by id limit 3",
      )
      .all()
      .map((step) => String(step['detail']))
    expect(plan).toEqual([expect.stringMatching(/^SEARCH state USING INDEX state_live \(namespace=\? AND space=\? AND id>\? AND id<\?\)$/)])
    outside.close()
  })

  it('O58: a database locked by another program is unavailable, and the failed write is not stored', async () => {
    const directory = newFolder()
    const store = sqliteStore({ file: join(directory, 'data.db'), busyTimeoutMs: 20 })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    const outside = new DatabaseSync(join(directory, 'data.db'))
    outside.exec('begin immediate')
    await expect(store.state.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })).rejects.toMatchObject({ code: 'store-unavailable' })
    outside.exec('rollback')
    outside.close()
    expect(await store.state.get('s', 'a')).toEqual({ status: 'missing' })
    await store.close()
  })

  it('O57: a record that is too large is refused', async () => {
    const store = await openIn(newFolder(), systemClock)
    const large = 'x'.repeat(16 * 1024 * 1024)
    await expect(store.compareAndSet('s', 'a', null, large, { ttlMs: 'never' })).rejects.toMatchObject({ code: 'entry-too-large' })
    await store.close()
  })
})

describe('a state store on sqlite without a runtime', () => {
  it('O58, O60: has its own file and its own namespace', async () => {
    const file = join(newFolder(), 'data.db')
    const [one, other] = [sqliteStateStore({ file }), sqliteStateStore({ file, namespace: 'other' })]
    await one.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })
    await expect(other.open()).rejects.toMatchObject({ code: 'store-locked' })
    await one.close()
    expect(await other.get('s', 'a')).toEqual({ status: 'missing' })
    await expect(one.get('s', 'a')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'The SQLite state store is closed. Create another one.',
    })
    await other.close()
  })
})
