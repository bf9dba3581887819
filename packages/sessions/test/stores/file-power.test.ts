import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { manualClock } from '@bowline/llm/testing'
import { fileStore } from '../../src/file.ts'
import { batch, ensure, fileOf, numbered, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const { fsyncSync, fdatasyncSync } = fs

/** How long each file was, by its number, when the system was last told to bring it to the disk. */
const synced = new Map<number, number>()

function watched(sync: (descriptor: number) => void): (descriptor: number) => void {
  return (descriptor) => {
    sync(descriptor)
    const { ino, size } = fs.fstatSync(descriptor)
    synced.set(ino, size)
  }
}

beforeEach(() => {
  synced.clear()
  Object.assign(fs, { fsyncSync: watched(fsyncSync), fdatasyncSync: watched(fdatasyncSync) })
  syncBuiltinESMExports()
})

afterEach(() => {
  Object.assign(fs, { fsyncSync, fdatasyncSync })
  syncBuiltinESMExports()
})

describe('a file store and the loss of power', () => {
  it.each([true, false])('S34: what is acknowledged is on the disk, and the name of its file too, with fsync: %s', async (fsync) => {
    const dir = newFolder()
    const store = fileStore({ dir, fsync })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1000) })
    synced.clear()
    for (let n = 1; n <= 3; n++) {
      expect(await store.commit(numbered(n))).toMatchObject({ ok: true })
      const { ino, size } = fs.statSync(fileOf(dir, 'room_1'))
      expect(synced.get(ino)).toBe(fsync ? size : undefined)
    }
    expect(synced.has(fs.statSync(`${dir}/default`).ino)).toBe(fsync)
    await store.close()
  })

  it('S34: a claim reaches the disk with the next commit of its session; of two claims in a row one waits', async () => {
    const dir = newFolder()
    const store = fileStore({ dir })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1000) })
    const run = { id: 'run-1', kind: 'user', inputHash: 'hash', input: 'hello', at: 1 } as const
    await store.commit(batch('accept', 'room:1', [ensure('room:1'), { op: 'run.insert', run }]))
    const { ino, size: accepted } = fs.statSync(fileOf(dir, 'room_1'))
    const claim = () => store.claim({ owner: 'owner-a', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] })
    expect(await claim()).toHaveLength(1)
    expect(synced.get(ino)).toBe(accepted)
    expect(await claim()).toHaveLength(1)
    const twice = fs.statSync(fileOf(dir, 'room_1')).size
    expect(synced.get(ino)).toBe(twice)
    expect(await claim()).toHaveLength(0)
    await store.commit(batch('next', 'room:1', [say('next')]))
    expect(synced.get(ino)).toBe(fs.statSync(fileOf(dir, 'room_1')).size)
    await store.close()
  })
})
