import { createHash } from 'node:crypto'
import { memoryStore } from '@bowline/sessions/memory'
import type { Session, SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { checkLog, logOf, types } from '../../support.ts'
import { dyingStore, ProcessDied } from './dying-store.ts'
import { echo, fileOf, linesOf, look, talk, textsOf, type Talk } from './talk.ts'

type Line = Record<string, unknown> & { readonly type: string }

const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line)

/** Adds the footer for these lines. */
function closed(lines: readonly Line[]): string[] {
  const texts = lines.filter(({ type }) => type !== 'footer').map((line) => JSON.stringify(line))
  const sha256 = createHash('sha256')
    .update(texts.map((text) => `${text}\n`).join(''))
    .digest('hex')
  const count = (type: string): number => lines.filter((line) => line.type === type).length
  return [...texts, JSON.stringify({ type: 'footer', entries: count('entry'), events: count('event'), sha256 })]
}

const header = { type: 'header', format: 1, schemaVersion: 1, key: 'room:9', agent: 'assistant', leaf: null, metadata: {}, settings: {} }
const user = (id: string, parentId: string | null): Line => ({
  type: 'entry',
  entry: { id, parentId, type: 'message', at: 1, message: { role: 'user', id, content: id } },
})

/** Creates a talk with a branch, labels, a summary and a tool call. */
async function grown(options: Parameters<typeof talk>[0] = {}): Promise<Talk> {
  const made = await talk({
    tools: [look],
    steps: async (call, index) =>
      index === 0 ? { toolCalls: [{ id: 'a', name: 'look', input: {} }] } : typeof echo === 'function' ? echo(call, index) : { text: '' },
    ...options,
  })
  const { session, say, ids } = made
  await say('one', 'two')
  const all = await ids()
  await session.label(all[3] ?? '', 'first answer')
  await session.switchTo(all[3] ?? '')
  await say('aside')
  await session.label((await ids()).at(-1) ?? '', 'end of the aside')
  await session.switchTo(all.at(-1) ?? '', { summarize: true })
  await say('three')
  return made
}

/** Returns tree, labels, texts and leaf as a user can see them. */
async function stateOf(session: Session) {
  const { items } = await session.branches()
  const branches = await Promise.all(
    items.map(async (branch) => ({
      ...branch,
      messages: (await session.messages({ leaf: branch.leaf, limit: 1000 })).items,
      labels: await session.labels({ leaf: branch.leaf }),
    })),
  )
  return { leaf: (await session.info())?.leaf, branches, messages: (await session.messages()).items, labels: await session.labels() }
}

async function treeOf(store: SessionStore, key: string): Promise<unknown> {
  const branches = (await store.listBranches(key)).items
  const paths = await Promise.all(branches.map(async ({ leaf }) => (await store.readPath(key, { leaf, limit: 1000 })).items))
  return paths.map((path) => path.map(({ n: _n, runId: _runId, ...entry }) => entry))
}

describe('an export', () => {
  it('S159: has a header, a line per entry in tree order, events on request, and a footer with counts and SHA-256', async () => {
    const { session } = await grown()
    const lines = await linesOf(session.export({ allBranches: true, events: true }))
    expect(lines.every((line) => !line.includes('\n'))).toBe(true)
    const all = parsed(lines)
    const info = await session.info()
    expect(all[0]).toEqual({ ...header, key: 'room:1', leaf: info?.leaf })
    const entries = all.flatMap((line) => (line.type === 'entry' ? [line.entry as { id: string; parentId: string | null }] : []))
    for (const [index, { parentId }] of entries.entries())
      expect(parentId === null || entries.slice(0, index).some(({ id }) => id === parentId)).toBe(true)
    const events = all.flatMap((line) => (line.type === 'event' ? [line.event] : []))
    expect(events).toEqual((await logOf(session)).map(({ cursor: _cursor, ...event }) => event))
    expect(all.at(-1)).toEqual(JSON.parse(closed(all).at(-1) ?? ''))
    expect(all.map(({ type }) => type)).toEqual(['header', ...entries.map(() => 'entry'), ...events.map(() => 'event'), 'footer'])
  })

  it('S159: of the active path alone leaves out its siblings', async () => {
    const { session, store } = await grown()
    const lines = parsed(await linesOf(session.export()))
    const { items } = await store.readPath('room:1', { limit: 1000 })
    expect(lines.flatMap((line) => (line.type === 'entry' ? [(line.entry as { id: string }).id] : []))).toEqual(
      items.map(({ id }) => id).reverse(),
    )
    expect(JSON.stringify(lines)).not.toContain('end of the aside')
  })

  it('S28: contains no overlay that was shown and waits to be shown again', async () => {
    const { session, say, model } = await grown()
    await session.overlay('A SECRET', { turns: 3 })
    await say('over')
    expect((await linesOf(session.export({ allBranches: true, events: true }))).join()).not.toContain('SECRET')
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('SECRET')
  })

  it('S159: contains the session at the time of the first line, and reads one page at a time', async () => {
    const { session, say } = await grown()
    const lines = session.export({ events: true })[Symbol.asyncIterator]()
    const first: unknown = JSON.parse((await lines.next()).value as string)
    const before = await logOf(session)
    await say('later')
    const rest = parsed(await linesOf({ [Symbol.asyncIterator]: () => lines }))
    expect(JSON.stringify([first, rest])).not.toContain('later')
    expect(rest.at(-1)).toMatchObject({ events: before.length })
  })
})

describe('an import', () => {
  it('S159: of an export gives equal messages, tree, labels and leaf', async () => {
    const source = await grown()
    const lines = await linesOf(source.session.export({ allBranches: true, events: true }))
    const target = await talk({ tools: [look] })
    const copy = await target.runtime.importSession(fileOf(lines))
    expect(copy.key).toBe('room:1')
    expect(await stateOf(copy)).toEqual(await stateOf(source.session))
    expect(await treeOf(target.store, 'room:1')).toEqual(await treeOf(source.store, 'room:1'))
    expect(types(await logOf(copy))).toEqual(['session-start'])
    await (await copy.send('more')).result()
    expect((await textsOf(copy)).slice(-2)).toEqual(['more', 're: more'])
    await checkLog(copy)
    // Again, under another key and with the line ends of other systems.
    const again = await target.runtime.importSession(fileOf(lines.map((line) => `${line}\r\n`)), {
      key: 'room:2',
      owner: 'ann',
      metadata: { from: 'file' },
    })
    expect(await again.info()).toMatchObject({ key: 'room:2', metadata: { from: 'file' } })
    expect((await stateOf(again)).messages).toEqual((await stateOf(source.session)).messages)
    expect(await target.runtime.session('room:2').info()).toBeNull()
  })

  it('S159: works for a single path and for an empty session', async () => {
    const source = await grown()
    const target = await talk()
    const path = await target.runtime.importSession(source.session.export())
    expect(await textsOf(path)).toEqual(await textsOf(source.session))
    const empty = await target.runtime.importSession(fileOf(closed([header])))
    expect(await empty.info()).toMatchObject({ key: 'room:9', leaf: null })
  })

  it('S159: a wrong checksum, count or format is refused, and nothing is kept', async () => {
    const source = await grown()
    const { runtime } = await talk()
    const good = await linesOf(source.session.export({ events: true }))
    const footer = good.at(-1) ?? ''
    const changed: Record<string, readonly string[]> = {
      checksum: good.map((line) => line.replace('re: two', 're: tow')),
      entries: [...good.slice(0, -1), footer.replace(/"entries":\d+/, '"entries":1')],
      events: [...good.slice(0, -1), footer.replace(/"events":\d+/, '"events":1')],
      format: closed([{ ...header, format: 2 }]),
      header: good.slice(1),
      'cut off': good.slice(0, -1),
      'a line is missing': good.toSpliced(2, 1),
      'behind the footer': [...good, good[1] ?? ''],
      'no JSON': good.with(2, '{"type":'),
      'no object': good.with(2, '[]'),
      'unknown line': closed([header, { type: 'page' }]),
      empty: [],
    }
    for (const [why, lines] of Object.entries(changed)) {
      await expect(runtime.importSession(fileOf(lines)), why).rejects.toMatchObject({ code: 'invalid-input', line: expect.any(Number) })
    }
    await expect(runtime.importSession(fileOf(closed([{ ...header, schemaVersion: 2 }])))).rejects.toMatchObject({ code: 'schema-too-new' })
    await expect(runtime.importSession(fileOf(closed([{ ...header, agent: 'nobody' }])))).rejects.toMatchObject({ code: 'unknown-agent' })
    await expect(runtime.importSession(fileOf(closed([{ ...header, key: 'a b' }])))).rejects.toMatchObject({ code: 'invalid-key' })
    expect((await runtime.sessions()).items).toEqual([])
    expect(await runtime.store.readSession('room:1')).toEqual({ status: 'missing' })
  })

  it('S158: cyclic and missing parents are reported with their line', async () => {
    const { runtime } = await talk()
    const wrong: readonly (readonly [string, number, readonly Line[]])[] = [
      ['missing', 3, [user('a', null), user('b', 'nowhere')]],
      ['a circle of two', 2, [user('a', 'b'), user('b', 'a')]],
      ['a circle of one', 2, [user('a', 'a')]],
      ['an id twice', 3, [user('a', null), user('a', null)]],
    ]
    for (const [why, line, entries] of wrong) {
      await expect(runtime.importSession(fileOf(closed([header, ...entries]))), why).rejects.toMatchObject({ code: 'invalid-input', line })
    }
    await expect(runtime.importSession(fileOf(closed([{ ...header, leaf: 'nowhere' }, user('a', null)])))).rejects.toMatchObject({
      code: 'invalid-input',
    })
    expect((await runtime.sessions()).items).toEqual([])
  })

  it('S158: invalid entries are refused with their line', async () => {
    const { runtime } = await talk()
    const entry = (body: object): Line => ({ type: 'entry', entry: { id: 'b', parentId: 'a', at: 1, ...body } })
    const compaction = {
      compactionId: 'b',
      summary: 's',
      firstKeptMessageId: 'nowhere',
      tokensBefore: 2,
      tokensAfter: 1,
      facts: [],
      source: 'default',
      usage: {},
    }
    const wrong = [
      { type: 'entry' },
      entry({ type: 'poem' }),
      entry({ type: 'message', message: { role: 'user', id: 'b' } }),
      entry({ type: 'message', message: { role: 'oracle', id: 'b', content: 'x' } }),
      entry({
        type: 'message',
        message: { role: 'tool-result', id: 'b', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: 'x' } },
      }),
      entry({ type: 'note' }),
      entry({ id: 'b'.repeat(801), type: 'note', text: 'x' }),
      entry({ type: 'custom', data: 'x' }),
      entry({ type: 'branch-summary', summary: { text: 'x' } }),
      entry({ type: 'label', label: { entryId: 'nowhere', text: 'x' } }),
      entry({ type: 'compaction', compaction: {} }),
      entry({ type: 'compaction', compaction }),
    ]
    for (const line of wrong) {
      await expect(runtime.importSession(fileOf(closed([header, user('a', null), line]))), JSON.stringify(line)).rejects.toMatchObject({
        code: 'invalid-input',
        line: 3,
      })
    }
  })

  it('S159: open calls are refused, or settled as unknown with repair', async () => {
    const source = await grown()
    const all = parsed(await linesOf(source.session.export()))
    const isResult = (line: Line): boolean => JSON.stringify(line).includes('"role":"tool-result"')
    const result = all.findIndex(isResult)
    const { id: resultId, parentId: callId } = (all[result]?.entry ?? {}) as { id: string; parentId: string }
    const without = all
      .toSpliced(result, 1)
      .map((line) => JSON.parse(JSON.stringify(line).replace(`"parentId":"${resultId}"`, `"parentId":"${callId}"`)) as Line)
    const { runtime, store } = await talk({ tools: [look] })
    await expect(runtime.importSession(fileOf(closed(without)))).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('repair'),
    })
    const repaired = await runtime.importSession(fileOf(closed(without)), { repair: true })
    expect((await repaired.messages()).items[2]).toMatchObject({
      role: 'tool-result',
      toolCallId: 'a',
      toolName: 'look',
      status: 'unknown',
    })
    expect(await textsOf(repaired)).toHaveLength((await textsOf(source.session)).length)
    await (await repaired.send('more')).result()
    await checkLog(repaired)

    // A file that ends with the call, like one of a session with an open run.
    const ended = [{ ...all[0], key: 'room:2', leaf: callId } as Line, ...all.slice(1, result)]
    await expect(runtime.importSession(fileOf(closed(ended)))).rejects.toMatchObject({ code: 'invalid-input' })
    const end = await runtime.importSession(fileOf(closed(ended)), { repair: true })
    expect((await end.messages()).items.at(-1)).toMatchObject({ role: 'tool-result', status: 'unknown' })
    expect((await end.info())?.leaf).toBe((await store.readPath('room:2')).items[0]?.id)
    await (await end.send('more')).result()
    expect((await end.messages()).items.at(-1)).toMatchObject({ role: 'assistant', stopReason: 'stop' })
  })

  it('S148: an existing session is never overwritten', async () => {
    const { runtime, session, say } = await talk()
    await say('one')
    const lines = await linesOf(session.export())
    const before = await session.info()
    await expect(runtime.importSession(fileOf(lines))).rejects.toMatchObject({ code: 'conflict' })
    expect(await session.info()).toEqual(before)
  })

  it('S39: the event numbers of a deleted session go on, also after a failed import', async () => {
    const { runtime, session, say, store } = await talk()
    await say('one')
    const lines = await linesOf(session.export())
    const { version = 0, cursor = '' } = (await session.info()) ?? {}
    await session.delete()
    await expect(runtime.importSession(fileOf(longFile('room:1').slice(0, -1)))).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await store.readSession('room:1')).toMatchObject({ status: 'deleted' })
    const info = await (await runtime.importSession(fileOf(lines))).info()
    expect(info?.version).toBeGreaterThan(version)
    expect(Number(info?.cursor)).toBeGreaterThan(Number(cursor))
  })
})

function longFile(key: string, length = 450): string[] {
  return closed([
    { ...header, key, leaf: `m${length - 1}` },
    ...Array.from({ length }, (_, index) => user(`m${index}`, index === 0 ? null : `m${index - 1}`)),
  ])
}

describe('a process that dies in the middle of an import', () => {
  it.each([1, 2, 3])('S152: leaves nothing visible (commit %i)', async (commit) => {
    const inner = memoryStore()
    const doomed = await talk({ store: dyingStore(inner, { commit, at: 'before' }) })
    await expect(doomed.runtime.importSession(fileOf(longFile('room:9')))).rejects.toThrow(ProcessDied)
    const next = await talk({ store: inner })
    await next.runtime.sweep()
    expect((await next.runtime.sessions()).items).toEqual([])
    expect(await inner.readSession('room:9')).toEqual({ status: 'missing' })
    expect(await textsOf(await next.runtime.importSession(fileOf(longFile('room:9'))))).toHaveLength(450)
  })

  it('S152: a partial session is invisible, even to a handle that existed before', async () => {
    const { runtime, store } = await talk()
    const handle = runtime.session('room:9')
    let halfway: readonly unknown[] = []
    async function* watched(): AsyncGenerator<string> {
      const lines = longFile('room:9')
      yield* lines.slice(0, 300)
      halfway = [(await store.readSession('room:9')).status, await handle.info(), (await runtime.sessions()).items]
      // Another runtime of this process does not remove it.
      await (await talk({ store })).runtime.sweep()
      yield* lines.slice(300)
    }
    await runtime.importSession(watched())
    expect(halfway).toEqual(['found', null, []])
    expect(await handle.info()).toMatchObject({ leaf: 'm449' })
  })

  it('S158: the source of the lines is closed if a line is refused', async () => {
    const { runtime } = await talk()
    let released = false
    async function* source(): AsyncGenerator<string> {
      try {
        yield '{}'
        yield '{}'
      } finally {
        released = true
      }
    }
    await expect(runtime.importSession(source())).rejects.toMatchObject({ line: 1 })
    expect(released).toBe(true)
  })
})
