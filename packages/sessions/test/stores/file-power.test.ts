import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { manualClock } from '@bowline/llm/testing'
import { fileStore } from '../../src/file.ts'
import type { Batch, NewRun } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { fileNameOf } from '../../src/stores/file/file-names.ts'
import { batch, ensure, fileOf, linesOf, numbered, said, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

type SyncAsync = (descriptor: number, done: (error: Error | null) => void) => void

const newFolder = temporaryFolders()
const { fsyncSync, fdatasyncSync } = fs
const { fsync, fdatasync } = fs as { fsync: SyncAsync; fdatasync: SyncAsync }

/** Length of each file at its last sync, by inode. */
const synced = new Map<number, number>()
/** Inode of each file that was synced. */
const syncs: number[] = []
/** Called before each sync of a file, with its inode. Throws to make the sync fail. */
let onSync: (ino: number) => void = () => undefined
/** Delays each sync until it resolves. */
let gate: Promise<void> | undefined

function watched(sync: (descriptor: number) => void): (descriptor: number) => void {
  return (descriptor) => {
    sync(descriptor)
    const { ino, size } = fs.fstatSync(descriptor)
    synced.set(ino, size)
  }
}

function watchedAsync(sync: SyncAsync): SyncAsync {
  return (descriptor, done) => {
    const { ino, size } = fs.fstatSync(descriptor)
    syncs.push(ino)
    const end = (error: Error | null): void => {
      if (!error) synced.set(ino, size)
      done(error)
    }
    try {
      onSync(ino)
      if (gate) void gate.then(() => sync(descriptor, end))
      else sync(descriptor, end)
    } catch (error) {
      setImmediate(end, error as Error)
    }
  }
}

beforeEach(() => {
  synced.clear()
  syncs.length = 0
  onSync = () => undefined
  gate = undefined
  Object.assign(fs, {
    fsyncSync: watched(fsyncSync),
    fdatasyncSync: watched(fdatasyncSync),
    fsync: watchedAsync(fsync),
    fdatasync: watchedAsync(fdatasync),
  })
  syncBuiltinESMExports()
})

afterEach(() => {
  Object.assign(fs, { fsyncSync, fdatasyncSync, fsync, fdatasync })
  syncBuiltinESMExports()
})

async function openIn(dir: string, fsync = true): Promise<SessionStore> {
  const store = fileStore({ dir, fsync })
  await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1000) })
  return store
}

const journalIn = (dir: string): string => join(dir, 'default', 'journal.jsonl')

/** Waits until the store is idle: the next request starts at once. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((next) => setImmediate(next))
}

const run = (id: string, fields: Partial<NewRun> = {}) =>
  ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1, ...fields } }) as const
const request = { owner: 'owner-a', max: 10, leaseMs: 1000, agents: ['assistant'], holds: [] }

describe('a file store and the loss of power', () => {
  it.each([true, false])('S34: an acknowledged commit is on the disk, and so is the name of its file, with fsync: %s', async (fsync) => {
    const dir = newFolder()
    const store = await openIn(dir, fsync)
    synced.clear()
    for (let n = 1; n <= 3; n++) {
      expect(await store.commit(numbered(n))).toMatchObject({ ok: true })
      const { ino, size } = fs.statSync(journalIn(dir))
      expect(synced.get(ino)).toBe(fsync ? size : undefined)
    }
    expect(synced.has(fs.statSync(`${dir}/default`).ino)).toBe(fsync)
    await store.close()
    // The journal is removed once the files of the sessions are on the disk.
    const { ino, size } = fs.statSync(fileOf(dir, 'room_1'))
    expect(fs.existsSync(journalIn(dir))).toBe(false)
    expect(synced.get(ino)).toBe(fsync ? size : undefined)
  })

  it('S34: a claim reaches the disk with the next commit; of two claims in a row one waits', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    await store.commit(batch('accept', 'room:1', [ensure('room:1'), run('run-1')]))
    const { ino, size: accepted } = fs.statSync(journalIn(dir))
    const claim = () => store.claim({ ...request, max: 1 })
    expect(await claim()).toHaveLength(1)
    expect(synced.get(ino)).toBe(accepted)
    expect(await claim()).toHaveLength(1)
    const twice = fs.statSync(journalIn(dir)).size
    expect(synced.get(ino)).toBe(twice)
    expect(await claim()).toHaveLength(0)
    await store.commit(batch('next', 'room:1', [say('next')]))
    expect(synced.get(ino)).toBe(fs.statSync(journalIn(dir)).size)
    await store.close()
  })

  it('S34: commits that arrive during a sync share the next sync', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    await store.commit(numbered(1))
    await someTurns()
    syncs.length = 0
    const commits = Array.from({ length: 17 }, (_, index) => store.commit(numbered(1, `other:${index}`)))
    for (const each of commits) expect(await each).toMatchObject({ ok: true })
    // The first one is synced alone, and sixteen of the others together.
    expect(syncs).toEqual(Array.from({ length: 2 }, () => fs.statSync(journalIn(dir)).ino))
    await store.close()
  })

  it('S34: a commit that is not yet on the disk is not read', async () => {
    const store = await openIn(newFolder())
    await store.commit(batch('first', 'room:1', [ensure('room:1'), run('run-1')]))
    await someTurns()
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const commit = store.commit(batch('second', 'room:1', [say('second')]))
    await someTurns()
    let answers = 0
    const reads = [
      store.readSession('room:1'),
      store.readEvents('room:1', 0, 10),
      store.readRun('run-1'),
      store.readApproval('approval'),
      store.listSessions({}),
      store.due(10),
    ]
    for (const read of [commit, ...reads]) void read.then(() => (answers += 1))
    await someTurns()
    expect(answers).toBe(0)
    resolve()
    expect(await Promise.all(reads)).toMatchObject([{ value: { version: 2 } }, { events: [{ sessionKey: 'second' }] }, {}, {}, {}, {}])
    expect(await commit).toMatchObject({ ok: true, version: 2 })
    await store.close()
  })

  it('S61: a lease can be renewed while a commit is being synced', async () => {
    const store = await openIn(newFolder())
    await store.commit(batch('first', 'room:1', [ensure('room:1'), run('run-1')]))
    await store.claim(request)
    await someTurns()
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const commit = store.commit(batch('second', 'room:1', [say('second')]))
    expect(await store.renew([{ runId: 'run-1', epoch: 1 }], 1000)).toEqual([{ runId: 'run-1', held: true }])
    resolve()
    await commit
    await store.close()
  })
})

describe('a disk that fails to take a write', () => {
  /** Makes the next sync of the journal fail. */
  function failOnce(dir: string, code = 'EIO'): void {
    let isOver = false
    onSync = (ino) => {
      if (isOver || fs.statSync(journalIn(dir), { throwIfNoEntry: false })?.ino !== ino) return
      isOver = true
      throw Object.assign(new Error(code), { code, syscall: 'fdatasync' })
    }
  }

  const filesIn = (dir: string): Readonly<Record<string, string>> => {
    const names = fs.readdirSync(join(dir, 'default')).filter((name) => name.endsWith('.jsonl'))
    return Object.fromEntries(names.map((name) => [name, fs.readFileSync(join(dir, 'default', name), 'utf8')]))
  }

  const everything = async (store: SessionStore) => [
    await Promise.all(['room:1', 'room:2', 'room:3', 'new'].map((key) => store.readSession(key))),
    await Promise.all(['room:1', 'room:2', 'room:3', 'room:4', 'new'].map((key) => store.readEvents(key, 0, 100))),
    await Promise.all(['run-1', 'run-2', 'new run'].map((id) => store.readRun(id))),
    await store.readInbox('room:2', ['steer']),
    await store.listSessions({ parent: 'room:1' }),
    await store.listSessions({ status: ['queued', 'running'] }),
    await store.listChildren({ parent: { session: 'room:1' } }),
    await store.readDefinition('hash'),
    await store.due(100),
  ]

  it('S34: all commits of the sync fail, and memory and files stay as they were', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    const row = (id: string) => ({ id, kind: 'steer', at: 1, body: { inputId: id, runId: 'run-2', input: id } }) as const
    await store.commit(batch('1', 'room:1', [ensure('room:1'), say('before'), run('run-1')]))
    await store.commit(batch('2', 'room:2', [ensure('room:2'), { op: 'inbox.put', rows: [row('a'), row('b'), row('c')] }, run('run-2')]))
    await store.commit(
      batch('3', 'room:3', [ensure('room:3'), { op: 'timer.put', timers: [{ id: 't', kind: 'deadline', dueAt: 2000, body: {} }] }]),
    )
    await store.commit(batch('4', 'room:4', [ensure('room:4')]))
    await store.claim({ ...request, runId: 'run-2' })
    const before = await everything(store)
    const filesBefore = filesIn(dir)
    await someTurns()

    const parent = {
      session: 'room:1',
      runId: 'run-1',
      toolCallId: 'call',
      turn: 1,
      step: 1,
      path: [],
      root: 'room:1',
      rootAgent: 'assistant',
      maxDepth: 1,
    }
    const together: Batch[] = [
      batch('one more', 'room:1', [say('after'), { op: 'run.patch', runId: 'run-1', patch: { status: 'aborted' } }]),
      batch('take', 'room:2', [
        { op: 'inbox.take', ids: ['b'] },
        { op: 'definition.put', hash: 'hash', body: {} },
      ]),
      batch(
        'new',
        'new',
        [ensure('new', { parent: 'room:1' }), run('new run', { parent })],
        [{ id: 'delivery', to: 'room:4', writes: [say('delivered')] }],
      ),
      batch('end', 'room:3', [{ op: 'session.delete', at: 5 }]),
    ]
    const all = (): Promise<unknown>[] => [
      store.commit(batch('alone', 'other', [ensure('other')])),
      ...together.map((each) => store.commit(each)),
    ]
    let syncsToCome = 1
    onSync = () => {
      if (syncsToCome-- === 0) throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })
    }
    const [alone, ...shared] = await Promise.allSettled(all())
    expect(alone).toMatchObject({ status: 'fulfilled', value: { ok: true } })
    for (const each of shared)
      expect(each).toMatchObject({
        status: 'rejected',
        reason: { code: 'store-unavailable', message: expect.stringContaining(journalIn(dir)) as unknown },
      })
    const notOther = (files: object) =>
      Object.fromEntries(Object.entries(files).filter(([name]) => ![fileNameOf('other'), 'journal.jsonl'].includes(name)))
    expect(notOther(filesIn(dir))).toEqual(notOther(filesBefore))
    expect(await everything(store)).toEqual(before)

    expect(await Promise.all(all())).toMatchObject([{ ok: true }, ...together.map(() => ({ ok: true }))])
    expect(await said(store, 'room:4')).toEqual(['delivered'])
    const after = await everything(store)
    await store.close()
    const again = await openIn(dir)
    expect(await everything(again)).toEqual(after)
    await again.close()
  })

  it('S34: a full disk is reported as such', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    failOnce(dir, 'ENOSPC')
    await expect(store.commit(numbered(1))).rejects.toMatchObject({ code: 'store-full' })
    expect(await store.readSession('room:1')).toEqual({ status: 'missing' })
    expect(await store.commit(numbered(1))).toMatchObject({ ok: true, version: 1 })
    await store.close()
  })

  it('S45: a delivery is stored with its commit or not at all', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    await store.commit(batch('target', 'target', [ensure('target')]))
    await someTurns()
    failOnce(dir)
    const send = () => store.commit(batch('source', 'source', [ensure('source')], [{ id: 'one', to: 'target', writes: [say('one')] }]))
    await expect(send()).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect([await said(store, 'target'), await store.readSession('source')]).toEqual([[], { status: 'missing' }])
    expect(await send()).toMatchObject({ ok: true })
    await store.close()
    const again = await openIn(dir)
    expect(await said(again, 'target')).toEqual(['one'])
    await again.close()
  })

  it('S34: a file of a session that cannot be synced keeps its lines in the journal', async () => {
    const dir = newFolder()
    const store = await openIn(dir)
    await store.commit(numbered(1))
    const { ino } = fs.statSync(fileOf(dir, 'room_1'))
    onSync = (each) => {
      if (each === ino) throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })
    }
    await store.close()
    expect(linesOf(journalIn(dir))).toHaveLength(1)
    fs.truncateSync(fileOf(dir, 'room_1'), 10)
    onSync = () => undefined
    const again = await openIn(dir)
    expect(await said(again, 'room:1')).toEqual(['room:1/1'])
    expect(fs.existsSync(journalIn(dir))).toBe(false)
    await again.close()
  })
})
