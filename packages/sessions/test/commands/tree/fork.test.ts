import { emptyView, reduceEvents } from '@bowline/agent-loop'
import { memoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { recordingStore, eventTypes } from '../../recording-store.ts'
import { checkLog, logOf, types } from '../../support.ts'
import { dyingStore, ProcessDied } from './dying-store.ts'
import { look, talk, textsOf } from './talk.ts'

describe('fork', () => {
  it('S152: copies only the active path, and says where it comes from', async () => {
    const { session, say, ids, runtime } = await talk()
    await say('one', 'two')
    const [, first = '', , second = ''] = await ids()
    await session.switchTo(first)
    await say('aside')
    const fork = await session.fork({ entryId: second, key: 'room:2', metadata: { copy: true } })
    expect(await textsOf(fork)).toEqual(['one', 're: one', 'two', 're: two'])
    const info = await fork.info()
    expect(info).toMatchObject({
      key: 'room:2',
      agent: 'assistant',
      leaf: second,
      metadata: { copy: true },
      forkedFrom: { key: 'room:1', entryId: second },
    })
    expect(info).not.toHaveProperty('parent')
    expect(info?.usage).toEqual({})
    expect((await fork.branches()).items).toMatchObject([{ leaf: second, entries: 4, active: true }])
    expect(await runtime.session('room:2').info()).toEqual(info)
  })

  it('S152: neither session sees later changes of the other', async () => {
    const { session, say, texts } = await talk({ tools: [look] })
    await say('one')
    const fork = await session.fork()
    await say('here')
    await (await fork.send('there')).result()
    expect(await texts()).toEqual(['one', 're: one', 'here', 're: here'])
    expect(await textsOf(fork)).toEqual(['one', 're: one', 'there', 're: there'])
    await session.label((await session.messages()).items[0]?.id ?? '', 'x')
    expect(await fork.labels()).toEqual([])
    await checkLog(session)
    await checkLog(fork)
  })

  it('S152: keeps tool results as its own copies, and the labels and compactions of the path', async () => {
    const steps = [{ toolCalls: [{ id: 'a', name: 'look', input: {} }] }, { text: 'done' }, { text: 'on' }]
    const { session, say, ids, store } = await talk({ steps, tools: [look] })
    await say('look')
    await session.label((await ids())[0] ?? '', 'start')
    const fork = await session.fork()
    const record = await store.readSession('room:1')
    if (!('value' in record)) throw new Error('missing')
    await store.commit({ id: 'gone', key: 'room:1', expect: [], writes: [{ op: 'session.delete', at: 1 }] })
    expect(await textsOf(fork)).toEqual(['look', 'tool-call', 'a={"type":"text","value":"seen"}', 'done'])
    expect(await fork.labels()).toMatchObject([{ text: 'start' }])
    await (await fork.send('more')).result()
    await checkLog(fork)
  })

  it('S152: copies a long path in pieces, between which others run', async () => {
    const { session, say, store } = await talk()
    await say('one')
    const read = await store.readSession('room:1')
    const leaf = 'value' in read ? read.value.leaf : null
    const entries = Array.from({ length: 2_000 }, (_, n) => ({
      ...({ id: `n${n}`, parentId: n === 0 ? leaf : `n${n - 1}`, at: 1, type: 'note', text: `${n}` } as const),
    }))
    await store.commit({ id: 'fill', key: 'room:1', expect: [], writes: [{ op: 'entry.append', entries }] })
    const calls = new Set<unknown>()
    let turn = {}
    let running = true
    const beat = (): void => {
      turn = {}
      if (running) setImmediate(beat)
    }
    beat()
    const perTurn = new Map<unknown, number>()
    for (const name of ['readPath', 'commit'] as const) {
      const own = store[name].bind(store) as (...args: unknown[]) => Promise<never>
      Object.assign(store, {
        [name]: (...args: unknown[]) => (calls.add(args), perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1), own(...args)),
      })
    }
    const fork = await session.fork()
    running = false
    expect((await fork.branches()).items).toMatchObject([{ entries: 2_002 }])
    expect(calls.size).toBeGreaterThan(20)
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(5)
  })

  it('S115: a reader of its log must load the transcript', async () => {
    const { session, say } = await talk()
    await say('one')
    const log = await logOf(await session.fork())
    expect(log).toMatchObject([{ type: 'session-start', copied: true, seq: 1 }])
    expect(log.reduce(reduceEvents, emptyView).gap).toBe(true)
  })

  it('S152: an empty session has an empty fork; a used or invalid key is refused', async () => {
    const { session, say } = await talk()
    await session.open()
    expect(await textsOf(await session.fork())).toEqual([])
    await say('one')
    await expect(session.fork({ key: 'room:1' })).rejects.toMatchObject({ code: 'conflict' })
    await expect(session.fork({ key: 'room 1' })).rejects.toMatchObject({ code: 'invalid-key' })
    expect((await session.runs()).items).toHaveLength(1)
  })

  it('S5: belongs to the owner of its source', async () => {
    const { runtime } = await talk()
    const own = runtime.session('room:own', { owner: 'ann' })
    await (await own.send('one')).result()
    const fork = await own.fork({ key: 'room:2' })
    expect(await textsOf(fork)).toHaveLength(2)
    expect(await runtime.session('room:2').info()).toBeNull()
    await expect(runtime.session('room:own').fork()).rejects.toMatchObject({ code: 'session-missing' })
  })

  it('S152: a path of any length is copied in commits of bounded size', async () => {
    const inner = memoryStore()
    const store = recordingStore(inner)
    const { session, runtime } = await talk({ store })
    await session.open()
    const leaf = await fillPath(store, 450)
    const before = store.commits.length
    const fork = await session.fork({ key: 'room:2' })
    const commits = store.commits.slice(before).map(({ batch }) => batch)
    expect(commits.map((batch) => batch.writes.flatMap((write) => (write.op === 'entry.append' ? write.entries : [])).length)).toEqual([
      200, 200, 50,
    ])
    expect(commits.map(eventTypes)).toEqual([[], [], ['session-start']])
    expect(await fork.info()).toMatchObject({ leaf, metadata: {} })
    const all = await textsOf(fork)
    expect(all).toEqual(await textsOf(session))
    expect(all).toHaveLength(450)
    expect((await runtime.sessions()).items.map(({ key }) => key)).toContain('room:2')
  })
})

describe('a process that dies in the middle of a fork', () => {
  const points = [1, 2, 3].flatMap((commit) => (['before', 'after'] as const).map((at) => ({ commit, at })))

  it.each(points)('S152: leaves no visible partial copy ($at commit $commit)', async (point) => {
    const inner = memoryStore()
    const first = await talk({ store: inner })
    await first.session.open()
    await fillPath(inner, 450)
    const dying = dyingStore(inner, point)
    const doomed = await talk({ store: dying })
    await expect(doomed.session.fork({ key: 'room:2' })).rejects.toThrow(ProcessDied)
    const isWhole = point.commit === 3 && point.at === 'after'
    const seen = async () => {
      const keys = (await first.runtime.sessions()).items.map(({ key }) => key)
      return [keys, await first.runtime.session('room:2').info()]
    }
    if (isWhole) {
      expect(await textsOf(first.runtime.session('room:2'))).toHaveLength(450)
      return
    }
    expect(await seen()).toEqual([['room:1'], null])
    await expect(first.runtime.session('room:2').messages()).rejects.toMatchObject({ code: 'session-missing' })
    // The next sweep removes the rest completely.
    await (await talk({ store: inner })).runtime.sweep()
    expect(await inner.readSession('room:2')).toEqual({ status: 'missing' })
    expect(await textsOf(await first.session.fork({ key: 'room:2' }))).toHaveLength(450)
    expect(types(await checkLog(first.runtime.session('room:2')))).toEqual(['session-start'])
  })

  it('S152: another copy under the same key does not wait for the partial one', async () => {
    const inner = memoryStore()
    const first = await talk({ store: inner })
    await first.session.open()
    await fillPath(inner, 450)
    const doomed = await talk({ store: dyingStore(inner, { commit: 2, at: 'before' }) })
    await expect(doomed.session.fork({ key: 'room:2' })).rejects.toThrow(ProcessDied)
    expect(await textsOf(await first.session.fork({ key: 'room:2' }))).toHaveLength(450)
  })
})

/** Gives room:1 a path of this many messages. Resolves with the last id. */
async function fillPath(store: SessionStore, length: number): Promise<string> {
  const entries = Array.from({ length }, (_, index) => {
    const id = `m${index}`
    const message = { role: 'user', id, content: `text ${index}` } as const
    return { id, parentId: index === 0 ? null : `m${index - 1}`, at: index, type: 'message', message } as const
  })
  await store.commit({ id: 'fill', key: 'room:1', expect: [], writes: [{ op: 'entry.append', entries }] })
  return `m${length - 1}`
}
