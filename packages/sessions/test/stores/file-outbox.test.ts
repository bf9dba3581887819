import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/contract/batch.ts'
import { fileNameOf } from '../../src/stores/file/file-names.ts'
import { batch, ensure, fileOf, linesOf, openStores, said, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
afterEach(closeAll)

const delivery = (id: string, to: string): Delivery => ({ id, to, writes: [say(id)] })

/** Removes the last lines of a file, as if the process had died before it wrote them. */
function cutLines(file: string, lines: number): void {
  writeFileSync(file, linesOf(file).slice(0, -lines).join(''))
}

/** Creates and closes a store with a session that has delivered twice to another one. */
async function delivered(): Promise<{ dir: string; source: string; target: string }> {
  const dir = newFolder()
  const store = await open(dir)
  await store.commit(batch('target', 'target', [ensure('target')]))
  await store.commit(batch('source', 'source', [ensure('source'), say('sent')], [delivery('one', 'target'), delivery('two', 'target')]))
  expect(await said(store, 'target')).toEqual(['one', 'two'])
  await store.close()
  const [source, target] = [fileOf(dir, 'source'), fileOf(dir, 'target')]
  // Source: a batch with its deliveries, and their completion. Target: its start, and one line per delivery.
  expect([linesOf(source).length, linesOf(target).length]).toEqual([2, 3])
  return { dir, source, target }
}

describe('deliveries between files', () => {
  const deaths = [
    { when: 'before the first delivery', sourceLines: 1, targetLines: 2 },
    { when: 'between two deliveries', sourceLines: 1, targetLines: 1 },
    { when: 'before it says that all are done', sourceLines: 1, targetLines: 0 },
    { when: 'after all', sourceLines: 0, targetLines: 0 },
  ]
  for (const { when, sourceLines, targetLines } of deaths) {
    it(`S45: from a process that dies ${when} each delivery arrives once`, async () => {
      const { dir, source, target } = await delivered()
      if (sourceLines > 0) cutLines(source, sourceLines)
      if (targetLines > 0) cutLines(target, targetLines)
      for (let times = 0; times < 3; times++) {
        const store = await open(dir)
        expect(await said(store, 'target')).toEqual(['one', 'two'])
        expect(await store.readSession('target')).toMatchObject({ value: { version: 3 } })
        await store.close()
      }
    })
  }

  it('S45: a dropped delivery does not come again when its session begins later', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('source', 'source', [ensure('source')], [delivery('one', 'target')]))
    await store.commit(batch('target', 'target', [ensure('target'), say('begin')]))
    await store.close()
    expect(await said(await open(dir), 'target')).toEqual(['begin'])
  })

  it('S45: a delivery to a file that cannot be written waits until the file can be written', async () => {
    for (const reopened of [false, true]) {
      const dir = newFolder()
      const first = await open(dir)
      const inTheWay = join(dir, 'default', fileNameOf('target'))
      mkdirSync(inTheWay)
      const begins: Delivery = { id: 'begins', to: 'target', writes: [ensure('target'), say('begins')] }
      expect(await first.commit(batch('source', 'source', [ensure('source')], [begins]))).toMatchObject({ ok: true })
      expect(await first.readSession('target')).toEqual({ status: 'missing' })
      expect(await first.commit(batch('other', 'other', [ensure('other')]))).toMatchObject({ ok: true })
      rmSync(inTheWay, { recursive: true })
      if (reopened) await first.close()
      const store = reopened ? await open(dir) : first
      await store.due(10)
      expect(await said(store, 'target')).toEqual(['begins'])
      await store.commit(batch('more', 'other', [say('more')]))
      expect(await said(store, 'target')).toEqual(['begins'])
      await store.close()
    }
  })

  it('S166: a delivery to a damaged session waits, and arrives when its file is repaired', async () => {
    const { dir, source, target } = await delivered()
    cutLines(source, 1)
    cutLines(target, 2)
    const good = readFileSync(target)
    const bad = Buffer.from(good)
    bad[100] = (bad[100] ?? 0) ^ 1
    writeFileSync(target, bad)
    const store = await open(dir)
    await expect(store.readSession('target')).rejects.toMatchObject({ code: 'store-corrupt' })
    expect(await store.commit(batch('more', 'source', [say('more')], [delivery('three', 'target')]))).toMatchObject({ ok: true })
    expect(await said(store, 'source')).toEqual(['sent', 'more'])
    await store.close()
    expect(readFileSync(target).equals(bad)).toBe(true)
    writeFileSync(target, good)
    expect(await said(await open(dir), 'target')).toEqual(['one', 'two', 'three'])
  })

  it('S45: deliveries of a session that deletes itself arrive, also after a crash', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const inTheWay = join(dir, 'default', fileNameOf('target'))
    mkdirSync(inTheWay)
    const begins: Delivery = { id: 'begins', to: 'target', writes: [ensure('target'), say('begins')] }
    await store.commit(batch('source', 'source', [ensure('source'), say('secret')]))
    const deletion = { op: 'session.delete', at: 5, leavesNothing: true } as const
    expect(await store.commit(batch('end', 'source', [deletion], [begins]))).toMatchObject({ ok: true })
    expect(readFileSync(fileOf(dir, 'source'), 'utf8')).not.toContain('secret')
    await store.close()
    rmSync(inTheWay, { recursive: true })
    const again = await open(dir)
    expect(await said(again, 'target')).toEqual(['begins'])
    expect(await again.readSession('source')).toEqual({ status: 'missing' })
    expect(() => fileOf(dir, 'source')).toThrow()
  })

  it('S45: the receiver forgets a delivery once the sender knows that it has arrived', async () => {
    for (const reopened of [false, true]) {
      const { dir } = await delivered()
      const first = await open(dir)
      await first.commit(batch('more', 'source', [say('more')], [delivery('three', 'target')]))
      if (reopened) await first.close()
      const store = reopened ? await open(dir) : first
      await store.commit(batch('end', 'target', [{ op: 'session.delete', at: 5, leavesNothing: true }]))
      expect(() => fileOf(dir, 'target')).toThrow()
      await store.close()
    }
  })

  it('S49: a delivery beyond the limit is refused with its batch; a smaller one arrives', async () => {
    const store = await open(newFolder())
    await store.commit(batch('target', 'target', [ensure('target')]))
    const { maxRecordBytes } = store.capabilities
    const withInput = (input: string): Delivery => ({
      id: 'large',
      to: 'target',
      writes: [{ op: 'run.insert', run: { id: 'run-1', kind: 'user', inputHash: 'hash', input, at: 1 } }],
    })
    const most = maxRecordBytes - JSON.stringify(withInput('')).length
    const sending = (length: number) =>
      store.commit(batch(`source ${length}`, 'source', [ensure('source')], [withInput('x'.repeat(length))]))
    await expect(sending(most + 1)).rejects.toMatchObject({ code: 'entry-too-large' })
    expect(await store.readSession('source')).toEqual({ status: 'missing' })
    await sending(most)
    expect(await store.readRun('run-1')).toMatchObject({ status: 'found' })
  })

  it('S45: while the file of a sender is damaged, its receiver remembers what has arrived', async () => {
    const { dir, source } = await delivered()
    cutLines(source, 1)
    const good = readFileSync(source)
    const bad = Buffer.from(good)
    bad[100] = (bad[100] ?? 0) ^ 1
    writeFileSync(source, bad)
    const store = await open(dir)
    const row = (n: number) => ({ id: `row ${n}`, kind: 'steer', at: n, body: { inputId: `${n}`, runId: 'run-1', input: n } }) as const
    for (let n = 1; n <= 200; n++) {
      await store.commit(
        batch(`put ${n}`, 'target', [
          { op: 'inbox.put', rows: [row(n)] },
          { op: 'inbox.take', ids: [`row ${n - 1}`] },
        ]),
      )
    }
    await store.prune({ runsEndedBefore: 0 }, 10)
    expect(linesOf(fileOf(dir, 'target')).length).toBeLessThan(5)
    await store.close()
    writeFileSync(source, good)
    expect(await said(await open(dir), 'target')).toEqual(['one', 'two'])
  })
})
