import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { batch, ensure, fileOf, linesOf, numbered, openStores, said, say } from './file-support.ts'
import { startStoreProcess } from './store-process-handle.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const mounted: string[] = []
const { open, closeAll } = openStores()

// Registered after the hook of the folders, so it runs before that.
afterEach(async () => {
  await closeAll()
  for (const folder of mounted.splice(0)) spawnSync('umount', [folder])
})

const isRoot = process.getuid?.() === 0
const nobody = 65_534

/** Creates a file system of this size. Undefined if this process may not create one. */
function smallFileSystem(kibibytes: number): string | undefined {
  const folder = newFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder])
  if (status !== 0) return undefined
  mounted.push(folder)
  return folder
}

const request = { owner: 'owner-a', max: 10, leaseMs: 1000, agents: ['assistant'], holds: [] }
const insert = (id: string) => ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 1, at: 1 } }) as const

describe('a store without space', () => {
  it.skipIf(!isRoot)(
    `S168: a full disk gives store-full and leaves nothing in part; with space again writing goes on${isRoot ? '' : ' (left out: only root may mount)'}`,
    async (context) => {
      const disk = smallFileSystem(512)
      if (disk === undefined) return context.skip('this system mounts no tmpfs')
      const ballast = join(disk, 'ballast')
      writeFileSync(ballast, Buffer.alloc(200 * 1024))
      const dir = join(disk, 'sessions')
      const store = await open(dir)
      await store.commit(batch('other', 'other', [ensure('other'), insert('run-1')]))
      let written = 0
      const failed: unknown = await (async () => {
        for (let n = 1; ; n++, written++) await store.commit(numbered(n, 'room:1', 'x'.repeat(5000)))
      })().catch((error: unknown) => error)
      const file = fileOf(dir, 'room_1')
      const journal = join(dir, 'default', 'journal.jsonl')
      expect(failed).toMatchObject({ code: 'store-full', retryable: false, message: expect.stringContaining(journal) as unknown })
      expect(written).toBeGreaterThan(5)

      const fill = () => writeFileSync(join(disk, 'filling'), Buffer.alloc(1024 * 1024))
      expect(fill).toThrow('ENOSPC')
      // Fills the rest of its last page too.
      const least = async () => {
        for (let n = 1; ; n++) await store.commit(batch(`least ${n}`, 'other', []))
      }
      await expect(least()).rejects.toMatchObject({ code: 'store-full' })
      await expect(store.claim(request)).rejects.toMatchObject({ code: 'store-full' })
      await expect(store.commit(batch('new', 'new', [ensure('new')]))).rejects.toMatchObject({ code: 'store-full' })
      expect(await store.readSession('new')).toEqual({ status: 'missing' })
      expect(await store.readRun('run-1')).toMatchObject({ value: { status: 'queued', epoch: 0 } })
      expect(await store.readSession('room:1')).toMatchObject({ value: { version: written } })
      expect(linesOf(file).length).toBeLessThanOrEqual(written)
      for (const each of [file, journal]) expect(readFileSync(each).at(-1)).toBe(0x0a)
      expect(readdirSync(join(dir, 'default')).filter((name) => name.startsWith('new-') || name.endsWith('.tmp'))).toEqual([])

      rmSync(join(disk, 'filling'), { force: true })
      rmSync(ballast)
      expect(await store.commit(numbered(written + 1, 'room:1'))).toMatchObject({ ok: true, version: written + 1 })
      expect(await store.claim(request)).toMatchObject([{ run: { id: 'run-1', epoch: 1 } }])
      await store.close()
      const again = await open(dir)
      expect(await said(again, 'room:1')).toHaveLength(written + 1)
      expect(existsSync(`${file}.bak`)).toBe(false)
    },
  )

  it('S34: a directory that cannot be written is reported at once, with the reason', async () => {
    const folder = newFolder()
    chmodSync(folder, 0o755)
    const dir = join(folder, 'sessions')
    mkdirSync(join(dir, 'default'), { recursive: true })
    for (const each of [dir, join(dir, 'default')]) chmodSync(each, 0o555)
    const other = startStoreProcess('hold', dir, isRoot ? { userId: nobody } : {})
    const refused = await other.next()
    await other.kill()
    expect(refused).toMatchObject({ code: 'store-unavailable' })
    expect(refused?.message).toContain(join(dir, 'default'))
    expect(refused?.message).toContain('cannot be written')
    expect(readdirSync(join(dir, 'default'))).toEqual([])
    chmodSync(dir, 0o755)
  })

  it('S40: a path where no directory can be made is unavailable', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a-file'), '')
    for (const dir of [join(folder, 'a-file'), join(folder, 'a-file', 'sessions')]) {
      await expect(open(dir)).rejects.toMatchObject({ code: 'store-unavailable', message: expect.stringContaining(dir) as unknown })
    }
  })

  it('S34: a file that cannot be written refuses only the commits of its session, and takes them later', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(numbered(1))
    const file = fileOf(dir, 'room_1')
    const content = readFileSync(file)
    rmSync(file)
    mkdirSync(file)
    await expect(store.commit(numbered(2))).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(await store.readSession('room:1')).toMatchObject({ value: { version: 1 } })
    expect(await store.commit(batch('other', 'other', [ensure('other'), say('other')]))).toMatchObject({ ok: true })
    rmSync(file, { recursive: true })
    writeFileSync(file, content)
    expect(await store.commit(numbered(2))).toMatchObject({ ok: true, version: 2 })
  })

  it('S34, S55: a claim needs no file of its session, which gets the line later', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('room:1', 'room:1', [ensure('room:1'), insert('run-1')]))
    const file = fileOf(dir, 'room_1')
    const content = readFileSync(file)
    rmSync(file)
    mkdirSync(file)
    expect((await store.claim(request)).map(({ run }) => run.id)).toEqual(['run-1'])
    await expect(store.commit(batch('more', 'room:1', [say('more')]))).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    rmSync(file, { recursive: true })
    writeFileSync(file, content)
    await store.commit(batch('more', 'room:1', [say('more')]))
    expect(linesOf(file)).toHaveLength(3)
    await store.close()
    const again = await open(dir, 'owner-b')
    expect(await again.readRun('run-1')).toMatchObject({ value: { epoch: 1, owner: 'owner-a' } })
  })
})
