import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { fileNameOf } from '../../src/stores/file/file-names.ts'
import { printLine } from '../../src/stores/file/log-line.ts'
import { batch, ensure, fileOf, linesOf, numbered, openStores, said, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
afterEach(closeAll)

const runIn = (key: string, id: string) =>
  ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: `secret ${key}`, at: 1 } }) as const

/** Creates and closes a store with two sessions, the first with this many commits. */
async function filled(commits: number): Promise<string> {
  const dir = newFolder()
  const store = await open(dir)
  for (let n = 1; n <= commits; n++) await store.commit(numbered(n))
  await store.commit(batch('run', 'room:1', [runIn('room:1', 'run-1')]))
  await store.commit(batch('other', 'room:2', [ensure('room:2'), say('other'), runIn('room:2', 'run-2')]))
  await store.close()
  return dir
}

/** Creates sessions whose files differ only in the key, one for each byte of a part of them. */
async function alike(dir: string, commits: number, partOf: (ends: readonly number[]) => { from: number; to: number }) {
  const store = await open(dir)
  for (let n = 1; n <= commits; n++) await store.commit(numbered(n, 's-0000'))
  await store.close()
  const pathOf = (key: string): string => join(dir, 'default', fileNameOf(key))
  const lines = linesOf(pathOf('s-0000'))
  const ends: number[] = []
  for (const line of lines) ends.push((ends.at(-1) ?? 0) + line.length)
  const { from, to } = partOf(ends)
  const keys = Array.from({ length: to - from }, (_, index) => `s-${String(index).padStart(4, '0')}`)
  const recordOf = (line: string): string => JSON.stringify((JSON.parse(line) as { record: unknown }).record)
  for (const key of keys.slice(1)) {
    const own = lines.map((line, index) => printLine(index + 1, recordOf(line).replaceAll('s-0000', key)))
    writeFileSync(pathOf(key), Buffer.concat(own))
  }
  return { keys, ends, pathOf }
}

const runRequest = { owner: 'owner-b', max: 10, leaseMs: 1000, agents: ['assistant'], holds: [] }

/** Returns every operation on the session and its run. */
function everyOperation(store: SessionStore): (() => Promise<unknown>)[] {
  return [
    () => store.commit(numbered(99)),
    () => store.commit(batch('anew', 'room:1', [ensure('room:1')])),
    () => store.commit(batch('delete', 'room:1', [{ op: 'session.delete', at: 1 }])),
    () => store.readSession('room:1'),
    () => store.readPath('room:1'),
    () => store.readEvents('room:1', 0, 10),
    () => store.readCall('room:1', 'call'),
    () => store.readInbox('room:1', ['answer']),
    () => store.listRuns('room:1'),
    () => store.listBranches('room:1'),
    () => store.listChildren({ parent: { session: 'room:1' } }),
  ]
}

const ofItsRun = (store: SessionStore) => [
  () => store.readRun('run-1'),
  () => store.readCalls('run-1'),
  () => store.listChildren({ parent: { runId: 'run-1' } }),
  () => store.claim({ ...runRequest, runId: 'run-1' }),
]

function flip(file: string, at: number, bits = 0x01): Buffer {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] ?? 0) ^ bits
  writeFileSync(file, bytes)
  return bytes
}

async function expectOthersWork(store: SessionStore): Promise<void> {
  expect((await store.listSessions({})).items.map((session) => session.key)).toEqual(['room:2'])
  expect(await said(store, 'room:2')).toEqual(['other'])
  expect((await store.claim(runRequest)).map((claim) => claim.run.id)).toEqual(['run-2'])
  expect(await store.commit(batch('more', 'room:2', [say('more')]))).toMatchObject({ ok: true })
  await store.prune({ runsEndedBefore: 1e15 }, 100)
}

describe('a damaged file', () => {
  it('S165: a file that is cut anywhere in its last three lines keeps the earlier lines, and the next line is separate', async () => {
    const dir = newFolder()
    const { keys, ends, pathOf } = await alike(dir, 5, (all) => ({ from: all[1] ?? 0, to: all[4] ?? 0 }))
    const whole = keys.map((_, index) => ends.filter((end) => end <= (ends[1] ?? 0) + index).length)
    const before = keys.map((key, index) => {
      truncateSync(pathOf(key), (ends[1] ?? 0) + index)
      return readFileSync(pathOf(key))
    })
    const cut = await open(dir)
    for (const [index, key] of keys.entries()) {
      expect(await cut.readSession(key)).toMatchObject({ value: { version: whole[index], leaf: `${key}/${whole[index]}` } })
      const isTorn = !ends.includes(before[index]?.length ?? 0)
      expect(existsSync(`${pathOf(key)}.bak`)).toBe(isTorn)
      if (isTorn) expect(readFileSync(`${pathOf(key)}.bak`).equals(before[index] ?? Buffer.of())).toBe(true)
    }
    await Promise.all(keys.map((key) => cut.commit(batch(`next of ${key}`, key, [say('next')]))))
    await cut.close()
    const again = await open(dir)
    for (const [index, key] of keys.entries()) {
      const kept = Array.from({ length: whole[index] ?? 0 }, (_, n) => `${key}/${n + 1}`)
      expect(await said(again, key)).toEqual([...kept, 'next'])
    }
  })

  it('S165: a first line that is cut leaves no session, and one can begin there', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(numbered(1))
    await store.close()
    const file = fileOf(dir, 'room_1')
    truncateSync(file, readFileSync(file).length - 1)
    const again = await open(dir)
    expect(await again.readSession('room:1')).toEqual({ status: 'missing' })
    expect([existsSync(file), existsSync(`${file}.bak`)]).toEqual([false, true])
    expect(await again.commit(numbered(1))).toMatchObject({ ok: true, version: 1 })
    expect(linesOf(file)).toHaveLength(1)
  })

  it('S165: a last line with blocks that were never written counts as torn', async () => {
    const dir = await filled(3)
    const file = fileOf(dir, 'room_1')
    const bytes = readFileSync(file)
    bytes.fill(0, bytes.length - 50, bytes.length - 10)
    writeFileSync(file, bytes)
    const store = await open(dir)
    expect(await store.readSession('room:1')).toMatchObject({ value: { version: 3 } })
    expect(readFileSync(`${file}.bak`).equals(bytes)).toBe(true)
  })

  it('S166: a flipped byte anywhere in a line makes its session unreadable, and no write overwrites it', async () => {
    const dir = newFolder()
    const { keys, ends, pathOf } = await alike(dir, 4, (all) => ({ from: all[0] ?? 0, to: all[1] ?? 0 }))
    const damaged = keys.map((key, index) => flip(pathOf(key), (ends[0] ?? 0) + index))
    const store = await open(dir)
    for (const key of keys) {
      const refused = { code: 'store-corrupt', message: expect.stringContaining(`${pathOf(key)} is damaged in line 2`) as unknown }
      await expect(store.readSession(key)).rejects.toMatchObject(refused)
      await expect(store.commit(numbered(5, key))).rejects.toMatchObject(refused)
    }
    await store.close()
    for (const [index, key] of keys.entries()) expect(readFileSync(pathOf(key)).equals(damaged[index] ?? Buffer.of())).toBe(true)
  })

  it('S166: every operation on a session with a damaged file reports the damage, and all other sessions work', async () => {
    for (const line of [1, 3, 5]) {
      const dir = await filled(4)
      const file = fileOf(dir, 'room_1')
      const lines = linesOf(file)
      expect(lines).toHaveLength(5)
      const damaged = flip(file, lines.slice(0, line).join('').length - 20)
      const store = await open(dir)
      // The run is in the last line. If that line is damaged, nothing tells which session the run belongs to.
      for (const operation of [...everyOperation(store), ...(line < 5 ? ofItsRun(store) : [])]) {
        const error: unknown = await operation().catch((thrown: unknown) => thrown)
        expect(error, String(operation)).toMatchObject({
          code: 'store-corrupt',
          message: expect.stringContaining(`${file} is damaged in line ${line}`) as unknown,
        })
        expect(String(error)).not.toContain('secret')
      }
      await expectOthersWork(store)
      await store.close()
      expect(readFileSync(file).equals(damaged)).toBe(true)
      expect(existsSync(`${file}.bak`)).toBe(false)
    }
  })

  it('S166: lines that are lost, empty, repeated, reordered or of another session are damage', async () => {
    const changes: ((lines: readonly string[]) => readonly string[])[] = [
      ([, ...others]) => others,
      ([first = '', , ...others]) => [first, ...others],
      ([first = '', second = '', ...others]) => [first, `${'\0'.repeat(second.length - 1)}\n`, ...others],
      ([first = '', , ...others]) => [first, String(printLine(2, JSON.stringify({ format: 2, key: 'room:2', rows: [] }))), ...others],
      ([first = '', ...others]) => [first, first, ...others],
      ([first = '', second = '', third = '', ...others]) => [first, third, second, ...others],
    ]
    for (const change of changes) {
      const dir = await filled(3)
      const file = fileOf(dir, 'room_1')
      writeFileSync(file, change(linesOf(file)).join(''))
      const store = await open(dir)
      await expect(store.readSession('room:1')).rejects.toMatchObject({ code: 'store-corrupt' })
      await expectOthersWork(store)
    }
  })

  it('S166: a file under the name of another session is damage of that session', async () => {
    const dir = await filled(3)
    copyFileSync(fileOf(dir, 'room_2'), fileOf(dir, 'room_1'))
    const store = await open(dir)
    await expect(store.readSession('room:1')).rejects.toMatchObject({ code: 'store-corrupt' })
    await expectOthersWork(store)
  })

  it('S166: a file that another program changes while it is in use is no longer written', async () => {
    const dir = await filled(3)
    const file = fileOf(dir, 'room_1')
    const store = await open(dir)
    const changed = `${readFileSync(file, 'utf8')}by hand\n`
    writeFileSync(file, changed)
    await expect(store.commit(batch('x', 'room:1', [say('x')]))).rejects.toMatchObject({ code: 'store-corrupt' })
    expect(readFileSync(file, 'utf8')).toBe(changed)
    expect(await said(store, 'room:2')).toEqual(['other'])
    expect((await store.claim(runRequest)).map((claim) => claim.run.id)).toContain('run-2')
    expect(await store.commit(batch('more', 'room:2', [say('more')]))).toMatchObject({ ok: true })
    await store.close()
    expect(readFileSync(file, 'utf8')).toBe(changed)
  })

  it('S166: a file that another program puts under the name of a new session is left as it is', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const file = join(dir, 'default', fileNameOf('room:1'))
    writeFileSync(file, 'by hand')
    await expect(store.commit(numbered(1))).rejects.toMatchObject({ code: 'store-corrupt' })
    expect(readFileSync(file, 'utf8')).toBe('by hand')
    expect(await store.readSession('room:1')).toEqual({ status: 'missing' })
  })

  it('S166: a damaged definition damages only that definition', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const define = (hash: string) => ({ op: 'definition.put', hash, body: { instructions: hash } }) as const
    await store.commit(batch('one', 'room:1', [ensure('room:1'), define('h1'), define('h2')]))
    await store.close()
    const folder = join(dir, 'default', 'definitions')
    const [one, two] = ['h1', 'h2'].map((hash) => join(folder, fileNameOf(hash))) as [string, string]
    for (const damage of [() => flip(one, 90), () => copyFileSync(two, one)]) {
      damage()
      const again = await open(dir)
      await expect(again.readDefinition('h1')).rejects.toMatchObject({
        code: 'store-corrupt',
        message: expect.stringContaining(one) as unknown,
      })
      expect(await again.readDefinition('h2')).toEqual({ instructions: 'h2' })
      expect(await again.readSession('room:1')).toMatchObject({ status: 'found' })
      await again.close()
    }
  })

  it('S52: a file of a newer format is refused, and no file is changed', async () => {
    const dir = await filled(3)
    const other = fileOf(dir, 'room_1')
    truncateSync(other, readFileSync(other).length - 1)
    const file = fileOf(dir, 'room_2')
    writeFileSync(file, printLine(1, JSON.stringify({ format: 3, key: 'room:2', news: [] })))
    const contents = () => [other, file].map((path) => readFileSync(path, 'utf8'))
    const before = contents()
    await expect(open(dir)).rejects.toMatchObject({ code: 'schema-too-new', message: expect.stringContaining(file) as unknown })
    expect(contents()).toEqual(before)
    expect(existsSync(`${other}.bak`)).toBe(false)
  })
})
