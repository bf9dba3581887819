import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '@bowline/llm'
import { sqliteStore } from '../../src/sqlite.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { startStoreProcess } from './store-process-handle.ts'
import type { StartOptions, StoreProcess } from './store-process-handle.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { expectWholeCommits } from './whole-commits.ts'

const newFolder = temporaryFolders()
const processes: StoreProcess[] = []
const stores: SessionStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const each of processes.splice(0)) await each.kill()
})

function start(task: 'hold' | 'write', file: string, options?: StartOptions): StoreProcess {
  const started = startStoreProcess(task, file, options)
  processes.push(started)
  return started
}

async function open(file: string): Promise<SessionStore> {
  const store = sqliteStore({ file })
  await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
  stores.push(store)
  return store
}

describe('sqlite and other processes', () => {
  for (const count of [1, 60, 300]) {
    it(`S34: after a kill at commit ${count} every acknowledged commit is there, and none in part`, async () => {
      const file = join(newFolder(), 'sessions.db')
      const writer = start('write', file)
      expect(await writer.next()).toEqual({ opened: writer.pid })
      let acknowledged = 0
      while (acknowledged < count) acknowledged = (await writer.next())?.acknowledged ?? Infinity
      await writer.kill()
      for (const said of await writer.rest()) acknowledged = said.acknowledged ?? acknowledged
      await expectWholeCommits(await open(file), acknowledged)
    })
  }

  it('S167: the lock of a killed holder is free at once', async () => {
    const file = join(newFolder(), 'sessions.db')
    const holder = start('hold', file)
    expect(await holder.next()).toEqual({ opened: holder.pid })
    await expect(open(file)).rejects.toMatchObject({ code: 'store-locked' })
    await holder.kill()
    const store = await open(file)
    expect(await store.readSession('room:1')).toEqual({ status: 'missing' })
  })

  it('S167: a second process gets the file and the process id of the holder within a second', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = await open(file)
    const refused = await start('hold', file).next()
    expect(refused).toMatchObject({ code: 'store-locked' })
    expect(refused?.message).toContain(file)
    expect(refused?.message).toContain(`process ${process.pid}`)
    expect(refused?.afterMs).toBeLessThan(1000)
    await store.close()
    const next = start('hold', file)
    expect(await next.next()).toEqual({ opened: next.pid })
  })

  it('S167: a second store in the same process is refused, and the lock stays', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = await open(file)
    await expect(open(file)).rejects.toMatchObject({
      code: 'store-locked',
      message: expect.stringContaining(`this process (${process.pid})`) as unknown,
    })
    await expect(store.open({ namespace: 'other', owner: 'b', clock: systemClock })).rejects.toMatchObject({ code: 'store-locked' })
    expect(await start('hold', file).next()).toMatchObject({ code: 'store-locked' })
  })

  it('S167: a link to the file has the same lock', async () => {
    const folder = newFolder()
    await open(join(folder, 'real', 'sessions.db'))
    symlinkSync(join(folder, 'real'), join(folder, 'other'))
    symlinkSync(join(folder, 'real', 'sessions.db'), join(folder, 'linked.db'))
    await expect(open(join(folder, 'other', 'sessions.db'))).rejects.toMatchObject({ code: 'store-locked' })
    await expect(open(join(folder, 'linked.db'))).rejects.toMatchObject({ code: 'store-locked' })
  })

  it('S51: of two processes that start at the same time on a new file one gets it', async () => {
    const file = join(newFolder(), 'new', 'sessions.db')
    const both = [start('hold', file), start('hold', file)]
    const said = await Promise.all(both.map((each) => each.next()))
    expect(said.filter((each) => each?.opened !== undefined)).toHaveLength(1)
    expect(said.filter((each) => each?.code === 'store-locked')).toHaveLength(1)
  })

  it('S167: closing frees the lock and removes its files', async () => {
    const file = join(newFolder(), 'sessions.db')
    const store = await open(file)
    expect(existsSync(`${file}-owner.pid`)).toBe(true)
    await store.close()
    expect([`${file}-owner.pid`, `${file}-wal`, `${file}-shm`].filter((name) => existsSync(name))).toEqual([])
    await store.close()
  })

  it('S34: a write that the system cuts off keeps the last commit whole, and writing goes on when there is room', async () => {
    const file = join(newFolder(), 'sessions.db')
    // The limit is not at the end of a page of the write-ahead log, so the write that meets it is cut.
    const largestFileBytes = 3000 * 512
    const writer = start('write', file, { textLength: 20_000, largestFileBytes })
    const said = await writer.rest()
    const acknowledged = Math.max(...said.map((each) => each.acknowledged ?? 0))
    expect(acknowledged).toBeGreaterThan(5)
    expect(said.at(-2)).toMatchObject({ code: 'store-unavailable', message: expect.stringContaining(file) as unknown })
    expect(said.at(-1)).toEqual({ readable: 'found' })
    const store = await open(file)
    await expectWholeCommits(store, acknowledged)
    expect(await store.commit({ id: 'more', key: 'room:1', expect: [], writes: [] })).toMatchObject({ ok: true })
  })
})
