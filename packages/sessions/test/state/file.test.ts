import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { fileStore } from '@bowline/sessions/file'
import { testStateStore } from '@bowline/testing/stores'
import { printLine } from '../../src/stores/file/log-line.ts'
import { ensure, batch, linesOf, openStores } from '../stores/file-support.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
afterEach(closeAll)

let folder: string | undefined

async function openIn(dir: string, clock: Clock) {
  const store = fileStore({ dir })
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  return { ...store.state, close: () => store.close() }
}

testStateStore({
  name: 'file',
  create: (clock) => openIn((folder = mkdtempSync(join(tmpdir(), 'bowline-state-'))), clock),
  reopen: (_store, clock) => openIn(String(folder), clock),
  destroy: async () => rmSync(String(folder), { recursive: true }),
  runner: { describe, it },
})

const forever = { ttlMs: 'never' } as const
const fileIn = (dir: string): string => join(dir, 'default', 'state.jsonl')
const recordsIn = (dir: string): unknown[] => linesOf(fileIn(dir)).map((line) => (JSON.parse(line) as { record: unknown }).record)

/** Creates and closes a store with three versions of one record, and another record. */
async function filled(): Promise<string> {
  const dir = newFolder()
  const store = await open(dir)
  await store.commit(batch('begin', 'room:1', [ensure('room:1')]))
  for (const expected of [null, 1, 2]) await store.state.compareAndSet('s', 'a', expected, { secret: expected }, forever)
  await store.state.compareAndSet('t', 'b', null, 'other', forever)
  await store.close()
  return dir
}

function flip(file: string, at: number): Buffer {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(file, bytes)
  return bytes
}

describe('the state of a file store', () => {
  it('O57: a change is one line; a refused change, a read and an empty sweep write none', async () => {
    const dir = newFolder()
    const { state } = await open(dir)
    expect(existsSync(fileIn(dir))).toBe(false)
    await state.compareAndSet('s', 'a', null, { n: 1 }, { ttlMs: 500 })
    await state.touch('s', 'a', 700)
    await state.compareAndSet('s', 'a', null, 'refused', forever)
    await state.compareAndSet('s', 'a', 7, 'refused', forever)
    await state.delete('s', 'a', 7)
    await state.delete('s', 'b')
    await state.touch('s', 'b', 1)
    await state.get('s', 'a')
    await state.list('s', {})
    await state.sweep(10)
    await state.delete('s', 'a')
    const at = { space: 's', id: 'a', version: 1 }
    expect(recordsIn(dir)).toEqual([
      { format: 1, states: [{ ...at, life: { usedAt: 1000, expiresAt: 1500 }, value: { n: 1 } }] },
      // The value is not written again.
      { format: 1, states: [{ ...at, life: { usedAt: 1000, expiresAt: 1700 } }] },
      { format: 1, states: [at] },
    ])
  })

  it('O54: a sweep is one line', async () => {
    const dir = newFolder()
    const clock = manualClock(1_000)
    const state = await openIn(dir, clock)
    for (const id of ['a', 'b', 'c']) await state.compareAndSet('s', id, null, 1, { ttlMs: 10 })
    await clock.advance(10)
    expect(await state.sweep(2)).toBe(2)
    expect(linesOf(fileIn(dir))).toHaveLength(4)
    await state.close()
    const again = await openIn(dir, clock)
    const found = await Promise.all(['a', 'b', 'c'].map((id) => again.get('s', id)))
    expect(found.map(({ status }) => status)).toEqual(['missing', 'missing', 'expired'])
    expect(await again.compareAndSet('s', 'c', null, 2, forever)).toMatchObject({ version: 2 })
    await again.close()
  })

  it('O57: a record lives in the file for its lifetime, touches included', async () => {
    const dir = newFolder()
    const clock = manualClock(1_000)
    const state = await openIn(dir, clock)
    await state.compareAndSet('s', 'a', null, 'kept', { ttlMs: 500 })
    await clock.advance(100)
    await state.touch('s', 'a', 500)
    const before = await state.get('s', 'a')
    await state.close()
    const again = await openIn(dir, clock)
    expect(await again.get('s', 'a')).toEqual(before)
    await clock.advance(500)
    expect(await again.get('s', 'a')).toEqual({ status: 'expired', at: 1_600 })
    await again.close()
  })

  it('O57: a file that is cut in its last line keeps the earlier lines, and the next line is separate', async () => {
    const dir = await filled()
    const file = fileIn(dir)
    const [lines, bytes] = [linesOf(file), readFileSync(file)]
    const start = bytes.length - Buffer.byteLength(lines.at(-1) ?? '')
    for (const length of [start, start + 1, start + 50, bytes.length - 2, bytes.length - 1]) {
      writeFileSync(file, bytes)
      truncateSync(file, length)
      rmSync(`${file}.bak`, { force: true })
      const cut = await open(dir)
      expect(await cut.state.get('s', 'a')).toMatchObject({ value: { version: 3 } })
      expect(await cut.state.get('t', 'b')).toEqual({ status: 'missing' })
      expect(existsSync(`${file}.bak`) && readFileSync(`${file}.bak`).equals(bytes.subarray(0, length))).toBe(length > start)
      expect(await cut.state.compareAndSet('t', 'b', null, 'next', forever)).toEqual({ ok: true, version: 1 })
      await cut.close()
      const again = await open(dir)
      expect(await again.state.get('t', 'b')).toMatchObject({ value: { value: 'next' } })
      await again.close()
    }
  })

  it('O57: a first line that is cut is dropped, and records can begin', async () => {
    const dir = newFolder()
    mkdirSync(join(dir, 'default'))
    writeFileSync(fileIn(dir), '{"line":1,')
    const store = await open(dir)
    expect([existsSync(fileIn(dir)), readFileSync(`${fileIn(dir)}.bak`, 'utf8')]).toEqual([false, '{"line":1,'])
    await store.state.compareAndSet('s', 'a', null, 1, forever)
    expect(linesOf(fileIn(dir))).toHaveLength(1)
  })

  it('O58: a flipped byte in a line makes the states unreadable, and no write overwrites it', async () => {
    const dir = await filled()
    const file = fileIn(dir)
    const good = readFileSync(file)
    const [first = '', second = ''] = linesOf(file)
    for (let at = first.length; at < first.length + second.length; at += 10) {
      writeFileSync(file, good)
      const damaged = flip(file, at)
      const store = await open(dir)
      const message = expect.stringContaining(`${file} is damaged in line 2`) as unknown
      await expect(store.state.get('s', 'a'), String(at)).rejects.toMatchObject({ code: 'store-corrupt', message })
      await expect(store.state.compareAndSet('t', 'b', 1, 2, forever)).rejects.toMatchObject({ code: 'store-corrupt', message })
      await store.close()
      expect(readFileSync(file).equals(damaged)).toBe(true)
    }
  })

  it('O58: every operation on the states of a damaged file reports the damage, and the sessions work', async () => {
    for (const line of [1, 3, 4]) {
      const dir = await filled()
      const file = fileIn(dir)
      const damaged = flip(file, linesOf(file).slice(0, line).join('').length - 20)
      const store = await open(dir)
      const { state } = store
      const calls = [
        () => state.get('s', 'a'),
        () => state.compareAndSet('s', 'a', 3, 4, forever),
        () => state.compareAndSet('u', 'new', null, 4, forever),
        () => state.touch('s', 'a', 5),
        () => state.delete('s', 'a'),
        () => state.list('s', {}),
        () => state.sweep(5),
      ]
      for (const call of calls) {
        const error: unknown = await call().catch((thrown: unknown) => thrown)
        expect(error, String(call)).toMatchObject({
          code: 'store-corrupt',
          message: expect.stringContaining(`${file} is damaged in line ${line}`) as unknown,
        })
        expect(String(error)).not.toContain('secret')
      }
      expect(await store.readSession('room:1')).toMatchObject({ status: 'found' })
      expect(await store.commit(batch('more', 'room:1', []))).toMatchObject({ ok: true })
      await store.prune({ runsEndedBefore: 1e15 }, 100)
      await store.close()
      expect(readFileSync(file).equals(damaged)).toBe(true)
      expect(existsSync(`${file}.bak`)).toBe(false)
    }
  })

  it('O58: lines that are lost, repeated, reordered or inconsistent are damage', async () => {
    const line = (number: number, state: object): string => String(printLine(number, JSON.stringify({ format: 1, states: [state] })))
    const at = { space: 's', id: 'a' }
    const life = { usedAt: 1, expiresAt: 'never' }
    const changes: Readonly<Record<number, ((lines: readonly string[]) => readonly string[])[]>> = {
      1: [([, ...others]) => others, () => [line(1, { ...at, version: 1, life })]],
      2: [
        ([first = '', , ...others]) => [first, ...others],
        ([first = '', second = '', third = '']) => [first, third, second],
        ([first = '', ...others]) => [first, first, ...others],
        ([first = '']) => [first, line(2, { ...at, version: 1, life, value: 'again' })],
        ([first = '']) => [first, line(2, { ...at, version: 2, life })],
        ([first = '']) => [first, line(2, { ...at, version: 2 })],
      ],
    }
    for (const [number, all] of Object.entries(changes)) {
      for (const change of all) {
        const dir = await filled()
        writeFileSync(fileIn(dir), change(linesOf(fileIn(dir))).join(''))
        const { state } = await open(dir)
        await expect(state.get('s', 'a')).rejects.toMatchObject({
          code: 'store-corrupt',
          message: expect.stringContaining(`line ${number};`) as unknown,
        })
        await closeAll()
      }
    }
  })

  it('O58: a file that another program changes while it is in use is no longer written', async () => {
    const dir = await filled()
    const { state } = await open(dir)
    appendFileSync(fileIn(dir), 'by hand\n')
    const changed = readFileSync(fileIn(dir), 'utf8')
    await expect(state.compareAndSet('s', 'a', 3, 4, forever)).rejects.toMatchObject({ code: 'store-corrupt' })
    expect(readFileSync(fileIn(dir), 'utf8')).toBe(changed)
    expect(await state.get('s', 'a')).toMatchObject({ value: { version: 3 } })
  })

  it('S52: a file of a newer format is refused, and no file is changed', async () => {
    const dir = await filled()
    const session = join(dir, 'default', readdirSync(join(dir, 'default')).find((name) => name.startsWith('room_1-')) ?? '')
    const newer = printLine(1, JSON.stringify({ format: 3, news: [] }))
    const cut = (file: string): void => truncateSync(file, statSync(file).size - 1)
    const expectRefusal = async (file: string): Promise<void> => {
      const before = [session, fileIn(dir)].map((path) => readFileSync(path, 'utf8'))
      await expect(open(dir)).rejects.toMatchObject({ code: 'schema-too-new', message: expect.stringContaining(file) as unknown })
      expect([session, fileIn(dir)].map((path) => readFileSync(path, 'utf8'))).toEqual(before)
      expect(readdirSync(join(dir, 'default')).filter((name) => name.endsWith('.bak'))).toEqual([])
    }
    const good = readFileSync(fileIn(dir))
    cut(session)
    writeFileSync(fileIn(dir), newer)
    await expectRefusal(fileIn(dir))
    writeFileSync(session, newer)
    writeFileSync(fileIn(dir), good)
    cut(fileIn(dir))
    await expectRefusal(session)
  })

  it('O61: nothing of a deleted record is left after the next opening or pruning, and its versions are not used again', async () => {
    for (const by of ['opening', 'pruning'] as const) {
      const dir = await filled()
      writeFileSync(`${fileIn(dir)}.bak`, 'secret')
      const first = await open(dir)
      await first.state.delete('s', 'a')
      if (by === 'opening') await first.close()
      const store = by === 'opening' ? await open(dir) : first
      await store.prune({ runsEndedBefore: 0 }, 10)
      expect(recordsIn(dir)).toMatchObject([{ states: [{ id: 'b', value: 'other' }] }, { states: [], deleted: 3 }])
      expect(readFileSync(fileIn(dir), 'utf8')).not.toContain('secret')
      expect(existsSync(`${fileIn(dir)}.bak`)).toBe(false)
      expect(await store.state.compareAndSet('s', 'a', null, 'anew', forever)).toEqual({ ok: true, version: 4 })
      await store.close()
      expect(await (await open(dir)).state.get('s', 'a')).toMatchObject({ value: { version: 4, value: 'anew' } })
      await closeAll()
    }
  })

  it('O57: a file with little live content is rewritten while it is in use, and reads the same', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const value = 'x'.repeat(1_000)
    await store.state.compareAndSet('s', 'other', null, 'kept', { ttlMs: 500 })
    await store.state.compareAndSet('s', 'a', null, 'first', forever)
    const sizes: number[] = []
    for (let version = 1; version <= 500; version++) {
      if (version % 10 === 0) {
        await store.state.compareAndSet('s', `gone-${version}`, null, 1, forever)
        await store.state.delete('s', `gone-${version}`)
      }
      await store.state.compareAndSet('s', 'a', version, `${value} ${version}`, forever)
      sizes.push(statSync(fileIn(dir)).size)
      expect(recordsIn(dir).at(-1)).toMatchObject({ states: [{ id: 'a', version: version + 1 }] })
    }
    expect(Math.max(...sizes)).toBeLessThan(100_000)
    // Rewritten only now and then.
    expect(sizes.filter((size, index) => size < (sizes[index - 1] ?? 0)).length).toBeLessThan(10)
    const everything = async (from: typeof store) => [
      await from.state.list('s', {}),
      await from.state.get('s', 'a'),
      await from.state.get('s', 'gone-10'),
    ]
    const before = await everything(store)
    await store.close()
    const again = await open(dir)
    expect(await everything(again)).toEqual(before)
    // Nothing is left of fifty deleted records but their highest version.
    expect(readFileSync(fileIn(dir), 'utf8')).not.toContain('gone')
    expect(await again.state.compareAndSet('s', 'gone-10', null, 2, forever)).toEqual({ ok: true, version: 51 })
  })

  it('O57: a file whose records are all live is not rewritten as it grows', async () => {
    const dir = newFolder()
    const { state } = await open(dir)
    const inode = () => statSync(fileIn(dir)).ino
    await state.compareAndSet('s', 'first', null, 1, forever)
    const first = inode()
    for (let n = 0; n < 300; n++) await state.compareAndSet('s', `id-${n}`, null, 'x'.repeat(1_000), forever)
    expect(inode()).toBe(first)
    expect(linesOf(fileIn(dir))).toHaveLength(301)
  })

  it('O58: a file that cannot be written refuses the change, keeps the old value, and takes the change later', async () => {
    const dir = newFolder()
    const { state } = await open(dir)
    await state.compareAndSet('s', 'a', null, 1, forever)
    const content = readFileSync(fileIn(dir))
    rmSync(fileIn(dir))
    mkdirSync(fileIn(dir))
    const changes = [() => state.compareAndSet('s', 'a', 1, 2, forever), () => state.touch('s', 'a', 5), () => state.delete('s', 'a')]
    for (const change of changes) await expect(change()).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(await state.get('s', 'a')).toEqual({ status: 'found', value: { version: 1, value: 1, usedAt: 1000, expiresAt: 'never' } })
    rmSync(fileIn(dir), { recursive: true })
    writeFileSync(fileIn(dir), content)
    expect(await state.compareAndSet('s', 'a', 1, 2, forever)).toEqual({ ok: true, version: 2 })
  })

  it('O57: a file that cannot be rewritten still takes changes', async () => {
    const dir = newFolder()
    const { state } = await open(dir)
    mkdirSync(`${fileIn(dir)}.tmp`)
    for (let version = 0; version < 200; version++) {
      expect(await state.compareAndSet('s', 'a', version || null, 'x'.repeat(1_000), forever)).toEqual({ ok: true, version: version + 1 })
    }
    expect(linesOf(fileIn(dir))).toHaveLength(200)
  })

  it('O57: a record that is too large is refused', async () => {
    const { state } = await open(newFolder())
    const largest = 16 * 1024 * 1024 - 2
    await expect(state.compareAndSet('s', 'a', null, 'x'.repeat(largest + 1), forever)).rejects.toMatchObject({ code: 'entry-too-large' })
    expect(await state.get('s', 'a')).toEqual({ status: 'missing' })
    expect(await state.compareAndSet('s', 'a', null, 'x'.repeat(largest), forever)).toMatchObject({ ok: true })
  })

  it('O60: namespaces of one directory have separate states', async () => {
    const dir = await filled()
    const other = fileStore({ dir, fsync: false })
    await other.open({ namespace: 'other', owner: 'owner-a', clock: manualClock() })
    expect(await other.state.get('s', 'a')).toEqual({ status: 'missing' })
    await other.close()
  })
})
