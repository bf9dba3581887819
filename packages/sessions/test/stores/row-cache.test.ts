import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { systemClock } from '@bowline/llm'
import type { ToolCallRecord, Write } from '@bowline/sessions'
import { describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import { RowCache } from '../../src/stores/sqlite/row-cache.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const ensure = { op: 'session.ensure', session: { id: 's', agent: 'assistant', metadata: {}, at: 1 } } as const
const run = { op: 'run.insert', run: { id: 'run-1', kind: 'user', inputHash: 'hash', input: 'go', at: 1 } } as const

describe('the rows that the process of a SQLite store remembers', () => {
  it('S54: a commit of a run reads nothing from the file again', async () => {
    const store = sqliteStore({ file: join(newFolder(), 'sessions.db') })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    await store.commit({ id: 'batch-1', key: 'room:1', expect: [], writes: [ensure, run] })
    const [claim] = await store.claim({ owner: 'a', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] })
    const reads = vi.spyOn(StatementSync.prototype, 'all')
    const fence = { that: 'fence', runId: 'run-1', epoch: claim?.run.epoch ?? 0 } as const
    const step = { op: 'run.patch', runId: 'run-1', patch: { step: 1 } } as const
    expect(await store.commit({ id: 'batch-2', key: 'room:1', expect: [fence], writes: [step] })).toMatchObject({ ok: true })
    expect(await store.readInbox('room:1', ['steer'])).toEqual([])
    expect(reads).not.toHaveBeenCalled()
    reads.mockRestore()
    expect(await store.readRun('run-1')).toMatchObject({ value: { status: 'running', step: 1, input: 'go' } })
    await store.close()
  })

  it('S54: the commit of a tool call executes eight statements, one of them to see that the call is new', async () => {
    const store = sqliteStore({ file: join(newFolder(), 'sessions.db') })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    const entry = (id: string, parentId: string | null): Write => ({
      op: 'entry.append',
      entries: [{ id, parentId, type: 'message', message: { role: 'user', content: 'go', id, at: 1 }, at: 1 }],
    })
    await store.commit({ id: 'batch-1', key: 'room:1', expect: [], writes: [ensure, run, entry('first', null)] })
    const [claim] = await store.claim({ owner: 'a', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] })
    const key = { runId: 'run-1', step: 1, toolCallId: 'call-1' }
    const call = { ...key, session: 'room:1', index: 0, name: 'x', input: {}, effect: 'once', state: 'started', at: 1 } as const
    const calls = [{ ...call, idempotencyKey: 'run-1/1/call-1' }] as unknown as readonly ToolCallRecord[]
    const writes: readonly Write[] = [
      entry('second', 'first'),
      { op: 'call.put', calls },
      { op: 'run.patch', runId: 'run-1', patch: { step: 1 } },
      { op: 'event.append', events: [{ event: { type: 'step-start', at: 1 } }] },
    ]
    const statements = [vi.spyOn(StatementSync.prototype, 'all'), vi.spyOn(StatementSync.prototype, 'run')]
    const fence = { that: 'fence', runId: 'run-1', epoch: claim?.run.epoch ?? 0 } as const
    expect(await store.commit({ id: 'batch-2', key: 'room:1', expect: [fence], writes })).toMatchObject({ ok: true })
    const executed = statements.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
    for (const spy of statements) spy.mockRestore()
    await store.close()
    expect(executed).toBe(8)
  })

  it('S54: the oldest of a thousand rows is forgotten, and a long row at once', () => {
    const cache = new RowCache()
    const put = (key: string, body: string): void => cache.apply({ put: 'session', row: { key, body } })
    for (let n = 0; n <= 1000; n++) put(`key-${n}`, '')
    expect([cache.find('session', ['key-0']), cache.find('session', ['key-1'])]).toEqual([undefined, { key: 'key-1', body: '' }])
    put('key-2', 'x'.repeat(16 * 1024 + 1))
    expect(cache.find('session', ['key-2'])).toBeUndefined()
  })

  it('S54: a row that was dropped is known to be missing, and all are forgotten if many rows were deleted', () => {
    const cache = new RowCache()
    cache.apply({ insert: 'run', row: { id: 'a', status: 'queued', body: 1 } })
    cache.apply({ update: 'run', id: ['a'], set: { status: 'running' } })
    expect(cache.find('run', ['a'])).toEqual({ id: 'a', status: 'running', body: 1 })
    cache.apply({ drop: 'run', id: ['a'] })
    expect(cache.find('run', ['a'])).toBeNull()
    cache.apply({ update: 'run', id: ['unknown'], set: { status: 'running' } })
    expect(cache.find('run', ['unknown'])).toBeUndefined()
    cache.apply({ dropAll: { scan: 'run', index: 'n', equal: ['room:1'], limit: Infinity } })
    expect(cache.find('run', ['a'])).toBeUndefined()
  })
})
