import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { fileNameOf } from '../../src/stores/file/file-names.ts'
import { batch, ensure, fileOf, linesOf, numbered, openStores, said, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
afterEach(closeAll)

const journalIn = (dir: string): string => join(dir, 'default', 'journal.jsonl')
const delivery = (id: string, to: string): Delivery => ({ id, to, writes: [say(id)] })

/** Copies the files of an open store, as a crash leaves them. */
function copyOf(dir: string): string {
  const copy = newFolder()
  cpSync(join(dir, 'default'), join(copy, 'default'), { recursive: true, filter: (path) => !/lock[^/]*$/.test(path) })
  return copy
}

async function all(store: SessionStore): Promise<readonly (readonly unknown[])[]> {
  return Promise.all(['source', 'target', 'other'].map((key) => said(store, key)))
}

/** Commits to several sessions at once. Returns a copy of the files and the content of the sessions after each commit. */
async function written(dir: string): Promise<readonly { readonly copy: string; readonly content: readonly (readonly unknown[])[] }[]> {
  const store = await open(dir)
  await store.commit(batch('target', 'target', [ensure('target'), say('begin')]))
  await store.close()
  const again = await open(dir)
  const states = [{ copy: copyOf(dir), content: await all(again) }]
  const steps = [
    () => again.commit(batch('source', 'source', [ensure('source'), say('sent')], [delivery('one', 'target'), delivery('two', 'target')])),
    () => again.commit(batch('other', 'other', [ensure('other'), say('alone')])),
    () => again.commit(batch('more', 'source', [say('more')], [delivery('three', 'target'), delivery('four', 'other')])),
  ]
  for (const step of steps) {
    expect(await step()).toMatchObject({ ok: true })
    states.push({ copy: copyOf(dir), content: await all(again) })
  }
  await again.close()
  return states
}

describe('the journal', () => {
  it('S45: a journal that is cut at any byte has each commit completely or not at all, in all of its sessions', async () => {
    const states = await written(newFolder())
    for (const [place, { copy }] of states.entries()) {
      const whole = readFileSyncOr(journalIn(copy))
      const before = states[place - 1]
      if (!before) continue
      const start = readFileSyncOr(journalIn(before.copy)).length
      expect(whole.length).toBeGreaterThan(start)
      for (let length = start; length <= whole.length; length += 7) {
        const isWhole = length === whole.length
        // The files of the sessions get their lines after the journal has them.
        const cut = copyOf(isWhole ? copy : before.copy)
        writeFileSync(journalIn(cut), whole.subarray(0, length))
        const store = await open(cut)
        expect(await all(store), `${place}, ${length}`).toEqual(isWhole ? states[place]?.content : before.content)
        await store.close()
      }
    }
  })

  it('S165: files of sessions that are cut anywhere in the lines of the journal, or hold blocks that were never written, get these lines again', async () => {
    const states = await written(newFolder())
    const [first, last] = [states[0], states.at(-1)]
    for (const key of ['source', 'target', 'other']) {
      const path = fileOf(last?.copy ?? '', key)
      const [start, end] = [sizeOr0(join(first?.copy ?? '', 'default', fileNameOf(key))), statSync(path).size]
      for (let length = start; length <= end; length += 50) {
        for (const isZero of [false, true]) {
          const cut = copyOf(last?.copy ?? '')
          const file = fileOf(cut, key)
          const bytes = readFileSync(file)
          if (isZero) writeFileSync(file, bytes.fill(0, length))
          else truncateSync(file, length)
          const store = await open(cut)
          expect(await all(store), `${key}, ${length}`).toEqual(last?.content)
          expect(readFileSync(file, 'utf8')).toBe(readFileSync(path, 'utf8'))
          await store.close()
        }
      }
    }
  })

  it('S166: damage in the middle of the journal is refused with its line, and no file is changed', async () => {
    const states = await written(newFolder())
    const { copy = '' } = states.at(-1) ?? {}
    const bytes = readFileSync(journalIn(copy))
    bytes[100] = (bytes[100] ?? 0) ^ 1
    writeFileSync(journalIn(copy), bytes)
    await expect(open(copy)).rejects.toMatchObject({
      code: 'store-corrupt',
      message: expect.stringContaining(`${journalIn(copy)} is damaged in line 1`) as unknown,
    })
    expect(readFileSync(journalIn(copy)).equals(bytes)).toBe(true)
  })

  it('S34: what the journal has is stored when the process dies while it is opened again', async () => {
    const states = await written(newFolder())
    const { copy = '', content } = states.at(-1) ?? {}
    const opened = copyOf(copy)
    await open(opened)
    // The journal is still there, and some files have its lines already.
    for (const name of readdirSync(join(opened, 'default')).filter((each) => each.endsWith('.jsonl'))) {
      const mixed = copyOf(copy)
      cpSync(join(opened, 'default', name), join(mixed, 'default', name))
      const store = await open(mixed)
      expect(await all(store)).toEqual(content)
      await store.close()
    }
  })

  it('S164: the journal is emptied when it is long, and files with mostly obsolete lines are rewritten then', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1')]))
    const text = 'x'.repeat(10_000)
    const sizes = { journal: 0, file: 0 }
    for (let n = 1; n <= 300; n++) {
      await store.commit(batch(`name ${n}`, 'room:1', [{ op: 'session.patch', patch: { metadata: { text: `${n} ${text}` } } }]))
      sizes.journal = Math.max(sizes.journal, sizeOr0(journalIn(dir)))
      sizes.file = Math.max(sizes.file, statSync(fileOf(dir, 'room_1')).size)
    }
    expect(sizes.journal).toBeLessThan(1_200_000)
    expect(sizes.file).toBeLessThan(1_400_000)
    const read = await store.readSession('room:1')
    const again = await open(copyOf(dir))
    expect(await again.readSession('room:1')).toEqual(read)
  })

  it('S34: the journal keeps the lines of a file that cannot be written, and empties itself of all others', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const inTheWay = join(dir, 'default', fileNameOf('target'))
    mkdirSync(inTheWay)
    const begin: Delivery = { id: 'begin', to: 'target', writes: [ensure('target'), say('begin')] }
    await store.commit(numbered(1))
    await expect(store.commit(batch('source', 'source', [ensure('source')], [begin]))).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(await store.readSession('source')).toEqual({ status: 'missing' })
    rmSync(inTheWay, { recursive: true })
    expect(await store.commit(batch('source', 'source', [ensure('source')], [begin]))).toMatchObject({ ok: true })
    await store.close()
    expect(existsSync(journalIn(dir))).toBe(false)
    expect(linesOf(fileOf(dir, 'target'))).toHaveLength(1)
  })
})

function sizeOr0(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function readFileSyncOr(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.of()
}
