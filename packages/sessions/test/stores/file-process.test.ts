import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fileOf, linesOf, openStores } from './file-support.ts'
import { startStoreProcess } from './store-process-handle.ts'
import type { StartOptions, StoreProcess } from './store-process-handle.ts'
import { temporaryFolders } from './temporary-folder.ts'
import { expectWholeCommits } from './whole-commits.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
const processes: StoreProcess[] = []

afterEach(async () => {
  await closeAll()
  for (const each of processes.splice(0)) await each.kill()
})

function start(task: 'hold' | 'write', dir: string, options?: StartOptions): StoreProcess {
  const started = startStoreProcess(task, dir, options)
  processes.push(started)
  return started
}

describe('files and other processes', () => {
  for (const count of [1, 60, 300]) {
    it(`S34: after a kill at commit ${count} every acknowledged commit is in the files, and none is there in part`, async () => {
      const dir = join(newFolder(), 'sessions')
      const writer = start('write', dir)
      expect(await writer.next()).toEqual({ opened: writer.pid })
      let acknowledged = 0
      while (acknowledged < count) acknowledged = (await writer.next())?.acknowledged ?? Infinity
      await writer.kill()
      for (const said of await writer.rest()) acknowledged = said.acknowledged ?? acknowledged
      await expectWholeCommits(await open(dir), acknowledged)
      expect(linesOf(fileOf(dir, 'room_1')).length).toBeGreaterThanOrEqual(acknowledged)
    })
  }

  it('S167: the lock of a killed holder is free at once', async () => {
    const dir = join(newFolder(), 'sessions')
    const holder = start('hold', dir)
    expect(await holder.next()).toEqual({ opened: holder.pid })
    await expect(open(dir)).rejects.toMatchObject({
      code: 'store-locked',
      message: expect.stringContaining(`process ${holder.pid}`) as unknown,
    })
    await holder.kill()
    const store = await open(dir)
    expect(await store.readSession('room:1')).toEqual({ status: 'missing' })
  })

  it('S167: a second process gets the directory and the process id of the holder within a second', async () => {
    const dir = join(newFolder(), 'sessions')
    const store = await open(dir)
    const refused = await start('hold', dir).next()
    expect(refused).toMatchObject({ code: 'store-locked' })
    expect(refused?.message).toContain(dir)
    expect(refused?.message).toContain(`process ${process.pid}`)
    expect(refused?.afterMs).toBeLessThan(1000)
    await store.close()
    const next = start('hold', dir)
    expect(await next.next()).toEqual({ opened: next.pid })
  })

  it('S167: a second store in the same process is refused, and the lock stays', async () => {
    const dir = join(newFolder(), 'sessions')
    await open(dir)
    symlinkSync(dir, `${dir}-linked`)
    for (const name of [dir, `${dir}-linked`]) {
      const message = expect.stringContaining(`this process (${process.pid})`) as unknown
      await expect(open(name)).rejects.toMatchObject({ code: 'store-locked', message })
    }
    expect(await start('hold', dir).next()).toMatchObject({ code: 'store-locked' })
  })

  it('S167: closing frees the lock and removes its files', async () => {
    const dir = join(newFolder(), 'sessions')
    const store = await open(dir)
    const pidFile = join(dir, 'default', 'lock.pid')
    expect(existsSync(pidFile)).toBe(true)
    await store.close()
    expect(existsSync(pidFile)).toBe(false)
    await store.close()
    await expect(store.readSession('room:1')).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('S51: of two processes that start at the same time on a new directory one gets it', async () => {
    const dir = join(newFolder(), 'new', 'sessions')
    const both = [start('hold', dir), start('hold', dir)]
    const said = await Promise.all(both.map((each) => each.next()))
    expect(said.filter((each) => each?.opened !== undefined)).toHaveLength(1)
    expect(said.filter((each) => each?.code === 'store-locked')).toHaveLength(1)
  })

  it('S165: a line that the system cuts off is rolled back, and writing goes on when there is room', async () => {
    const dir = join(newFolder(), 'sessions')
    // The limit is not at the end of a line, so the write that meets it is cut.
    const writer = start('write', dir, { textLength: 20_000, largestFileBytes: 1000 * 512 })
    const said = await writer.rest()
    const acknowledged = Math.max(...said.map((each) => each.acknowledged ?? 0))
    expect(acknowledged).toBeGreaterThan(5)
    const file = fileOf(dir, 'room_1')
    const full = expect.stringMatching(/(room_1-.*|journal)\.jsonl cannot grow/) as unknown
    expect(said.at(-2)).toMatchObject({ code: 'store-full', message: full })
    expect(said.at(-1)).toEqual({ readable: 'found' })
    expect(linesOf(file).at(-1)).toMatch(/\n$/)
    const store = await open(dir)
    expect(existsSync(`${file}.bak`)).toBe(false)
    await expectWholeCommits(store, acknowledged)
    expect(await store.commit({ id: 'more', key: 'room:1', expect: [], writes: [] })).toMatchObject({ ok: true })
  })
})
