import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import type { RunPatch, Write } from '../../src/contract/batch.ts'
import { fileStore } from '../../src/file.ts'
import { fileNameOf } from '../../src/stores/file/file-names.ts'
import { printLine } from '../../src/stores/file/log-line.ts'
import { batch, ensure, fileOf, linesOf, numbered, openStores, said, say } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const { open, closeAll } = openStores()
afterEach(closeAll)

const never = { runsEndedBefore: 0 }
const request = { owner: 'owner-a', max: 10, leaseMs: 1000, agents: ['assistant'], holds: [] }
const insert = (id: string, input = 'input'): Write => ({ op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input, at: 1 } })
const patch = (runId: string, fields: RunPatch): Write => ({ op: 'run.patch', runId, patch: fields })

describe('the files of sessions', () => {
  it('S165: a commit is one line with its number, length and checksum; a refused commit writes none', async () => {
    const dir = newFolder()
    const store = await open(dir)
    for (let n = 1; n <= 3; n++) await store.commit(numbered(n, 'room:1', 'ä 🙂 \ud800'))
    const file = fileOf(dir, 'room_1')
    const before = readFileSync(file)
    expect(await store.commit({ ...numbered(4), expect: [{ that: 'session', id: null }] })).toMatchObject({ ok: false })
    expect(await store.commit({ ...numbered(4), id: 'again', writes: numbered(3).writes })).toMatchObject({ ok: false })
    expect(await store.commit(numbered(3, 'room:1', 'a repeat'))).toMatchObject({ ok: true, version: 3 })
    expect(readFileSync(file).equals(before)).toBe(true)
    const lines = linesOf(file)
    expect(lines).toHaveLength(3)
    for (const [index, line] of lines.entries()) {
      const { line: number, bytes, crc32: checksum, record } = JSON.parse(line) as Record<string, unknown>
      const text = JSON.stringify(record)
      expect([number, bytes, checksum]).toEqual([index + 1, Buffer.byteLength(text), crc32(text).toString(16).padStart(8, '0')])
    }
  })

  it('S55: a claim is one line; a renewed lease writes none', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1'), insert('run-1')]))
    await store.claim(request)
    expect(linesOf(fileOf(dir, 'room_1'))).toHaveLength(2)
    await store.renew([{ runId: 'run-1', epoch: 1 }], 5000)
    expect(await store.claim({ ...request, holds: ['run-1'] })).toEqual([])
    expect(linesOf(fileOf(dir, 'room_1'))).toHaveLength(2)
    await closeAll()
    const next = await open(dir, 'owner-b')
    expect(await next.commit({ ...batch('late', 'room:1', [say('x')]), expect: [{ that: 'fence', runId: 'run-1', epoch: 2 }] })).toEqual({
      ok: false,
      reason: 'fenced',
    })
    expect(await next.claim({ ...request, owner: 'owner-b' })).toMatchObject([{ run: { epoch: 2, attempts: 1 }, previous: 'running' }])
  })

  it('S56: an ended run blocks no new run after reopening', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1'), insert('run-1'), patch('run-1', { status: 'aborted' })]))
    await store.close()
    const again = await open(dir)
    expect(await again.commit({ ...batch('b', 'room:1', [insert('run-2')]), expect: [{ that: 'idle' }] })).toMatchObject({ ok: true })
    expect(await again.claim(request)).toMatchObject([{ run: { id: 'run-2' } }])
  })

  it('S7: file names are short, and differ if keys differ in case, in odd characters or only near the end', () => {
    const long = 'k'.repeat(699)
    const keys = ['a', 'A', 'a:b', 'a_b', 'a/b', '..', '.', 'con', `${long}a`, `${long}b`, `${long}A`, 'a~b~c', 'ä', '']
    const names = keys.map((key) => fileNameOf(key))
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(keys.length)
    for (const name of names) {
      expect(name).toMatch(/^[a-z0-9._-]*-[0-9a-f]{64}\.jsonl$/)
      expect(`${name}.bak.tmp`.length).toBeLessThan(255)
    }
  })

  it('S164: a file with little live content is rewritten, and reads the same', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(
      batch('a', 'room:1', [
        ensure('room:1'),
        say('first'),
        { op: 'timer.put', timers: [{ id: 't', kind: 'deadline', dueAt: 9, body: {} }] },
      ]),
    )
    for (let n = 1; n <= 60; n++) {
      await store.commit(batch(`in ${n}`, 'room:1', [insert(`run-${n}`, `input ${'x'.repeat(500)}`), say(`event ${n}`)]))
      await store.commit(batch(`out ${n}`, 'room:1', [patch(`run-${n}`, { status: 'aborted' })]))
    }
    await store.commit(batch('open', 'room:1', [insert('open', 'kept')]))
    const file = fileOf(dir, 'room_1')
    const before = statSync(file).size
    await store.prune(never, 100)
    expect(statSync(file).size).toBe(before)
    expect(await store.prune({ ...never, runsEndedBefore: 1e15 }, 100)).toMatchObject({ runs: 60 })
    expect(statSync(file).size).toBeLessThan(before / 20)
    const everything = async (from: typeof store) => [
      await from.readSession('room:1'),
      await from.readEvents('room:1', 0, 100),
      await from.listRuns('room:1'),
      await from.due(10),
      await from.readRun('run-1'),
    ]
    const now = await everything(store)
    await store.close()
    const again = await open(dir)
    expect(await everything(again)).toEqual(now)
    expect(await again.commit(batch('more', 'room:1', [say('more')]))).toMatchObject({ ok: true, version: 123 })
    await again.close()
    expect((await (await open(dir)).readEvents('room:1', 0, 100)).lastSeq).toBe(62)
  })

  it('S164: rows that were replaced many times are removed when the store is opened', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1')]))
    const row = (n: number) =>
      ({ id: `row ${n}`, kind: 'steer', at: n, body: { inputId: `${n}`, runId: 'run-1', input: 'x'.repeat(1000) } }) as const
    for (let n = 1; n <= 200; n++) {
      await store.commit(
        batch(`put ${n}`, 'room:1', [
          { op: 'inbox.put', rows: [row(n)] },
          { op: 'inbox.take', ids: [`row ${n - 1}`] },
        ]),
      )
    }
    const before = statSync(fileOf(dir, 'room_1')).size
    await store.close()
    const again = await open(dir)
    expect(statSync(fileOf(dir, 'room_1')).size).toBeLessThan(before / 50)
    expect(await again.readInbox('room:1', ['steer'])).toEqual([row(200)])
    expect(await again.commit(batch('put 200', 'room:1', []))).toMatchObject({ ok: true, version: 201 })
  })

  it('S105: a deleted session leaves one line without its content; a deleted child leaves nothing', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const child = 'room:1~helper~1'
    await store.commit(batch('a', 'room:1', [ensure('room:1'), insert('run-1', 'secret'), say('secret')]))
    await store.commit(batch('b', child, [ensure(child, { parent: 'room:1' }), say('secret')]))
    writeFileSync(`${fileOf(dir, 'room_1')}.bak`, 'secret')
    await store.commit(batch('c', child, [{ op: 'session.delete', at: 7, leavesNothing: true }]))
    await store.commit(batch('d', 'room:1', [{ op: 'session.delete', at: 7 }]))
    const file = fileOf(dir, 'room_1')
    expect(linesOf(file)).toHaveLength(1)
    expect(readFileSync(file, 'utf8')).not.toContain('secret')
    expect(existsSync(`${file}.bak`)).toBe(false)
    expect(readdirSync(join(dir, 'default')).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1)
    await store.close()
    const again = await open(dir)
    expect(await again.readSession('room:1')).toEqual({ status: 'deleted', at: 7 })
    expect(await again.readSession(child)).toEqual({ status: 'missing' })
    expect(await again.commit(batch('e', 'room:1', [ensure('room:1'), say('anew')]))).toMatchObject({ version: 3, firstSeq: 3 })
    await again.close()
    expect(await said(await open(dir), 'room:1')).toEqual(['anew'])
  })

  it('S39: a session that was created again is present after its file was rewritten', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1')]))
    await store.commit(batch('b', 'room:1', [{ op: 'session.delete', at: 7 }]))
    await store.commit(batch('c', 'room:1', [ensure('room:1')]))
    for (let n = 1; n <= 120; n++)
      await store.commit(batch(`name ${n}`, 'room:1', [{ op: 'session.patch', patch: { metadata: { n, text: `${n}`.repeat(500) } } }]))
    await store.close()
    for (let times = 0; times < 2; times++) {
      const again = await open(dir)
      expect(linesOf(fileOf(dir, 'room_1')).length).toBeLessThan(5)
      expect(await again.readSession('room:1')).toMatchObject({ status: 'found', value: { version: 123, metadata: { n: 120 } } })
      await again.close()
    }
  })

  it('S105: a deletion with only its line written counts, and is completed at the next opening', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(batch('a', 'room:1', [ensure('room:1'), say('secret')]))
    const file = fileOf(dir, 'room_1')
    const before = readFileSync(file)
    await store.commit(batch('b', 'room:1', [{ op: 'session.delete', at: 7 }]))
    await store.close()
    const { record } = JSON.parse(readFileSync(file, 'utf8')) as { record: object }
    writeFileSync(file, Buffer.concat([before, printLine(2, JSON.stringify({ ...record, deleted: true }))]))
    const again = await open(dir)
    expect(await again.readSession('room:1')).toEqual({ status: 'deleted', at: 7 })
    expect(readFileSync(file, 'utf8')).not.toContain('secret')
  })

  it('S34: an unfinished rewrite of a file from a dead process is ignored', async () => {
    const dir = newFolder()
    const store = await open(dir)
    await store.commit(numbered(1))
    await store.close()
    const file = fileOf(dir, 'room_1')
    writeFileSync(`${file}.tmp`, linesOf(file).join('').slice(0, 50))
    const again = await open(dir)
    expect(await again.readSession('room:1')).toMatchObject({ value: { version: 1 } })
    expect(existsSync(`${file}.tmp`)).toBe(false)
  })

  it('S109: a definition has one file, which outlives the session that stored it and is removed when no run refers to it', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const define = { op: 'definition.put', hash: 'h1', body: { instructions: 'be brief' } } as const
    for (const key of ['room:1', 'room:2']) {
      await store.commit(
        batch(`begin ${key}`, key, [ensure(key), define, insert(`run of ${key}`), patch(`run of ${key}`, { definition: 'h1' })]),
      )
    }
    const files = () => readdirSync(join(dir, 'default', 'definitions'))
    expect(files()).toEqual([fileNameOf('h1')])
    await store.commit(batch('end', 'room:1', [{ op: 'session.delete', at: 7 }]))
    await store.prune(never, 100)
    await store.close()
    const again = await open(dir)
    expect(await again.readDefinition('h1')).toEqual(define.body)
    await again.commit(batch('end 2', 'room:2', [{ op: 'session.delete', at: 7 }]))
    await again.prune(never, 100)
    expect(files()).toEqual([])
    expect(await again.readDefinition('h1')).toBeUndefined()
  })

  it('S34: approvals, input ids and definitions in use are known after reopening', async () => {
    const dir = newFolder()
    const store = await open(dir)
    const accept: Write = { op: 'run.insert', run: { id: 'run-1', kind: 'user', inputId: 'input-1', inputHash: 'hash', input: 1, at: 1 } }
    const call = {
      runId: 'run-1',
      step: 1,
      toolCallId: 'call',
      session: 'room:1',
      index: 0,
      name: 'pay',
      effect: 'once',
      idempotencyKey: 'k',
      inputHash: 'h',
      input: {},
      state: 'pending',
      attempt: 0,
    } as const
    const put: Write = { op: 'call.put', calls: [{ ...call, approval: { approvalId: 'approval', at: 1 } }] as never }
    await store.commit(
      batch('a', 'room:1', [
        ensure('room:1'),
        accept,
        { op: 'definition.put', hash: 'h1', body: {} },
        patch('run-1', { definition: 'h1' }),
        put,
      ]),
    )
    await store.close()
    const again = await open(dir)
    expect(await again.readApproval('approval')).toMatchObject({ status: 'found', value: { toolCallId: 'call' } })
    expect(await again.commit(batch('b', 'room:1', [accept]))).toMatchObject({ ok: true, existing: { runId: 'run-1' } })
    await again.prune(never, 10)
    expect(await again.readDefinition('h1')).toEqual({})
  })

  it('S40: durable says what a commit survives; a store without a directory is refused', () => {
    expect(fileStore({ dir: 'x' }).capabilities).toMatchObject({ durable: 'power', processes: 'one' })
    expect(fileStore({ dir: 'x', fsync: false }).capabilities.durable).toBe('process')
    expect(() => fileStore({ dir: '' })).toThrow(/directory/)
  })
})
