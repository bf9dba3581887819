import assert from 'node:assert/strict'
import { SessionError } from '@bowline/sessions'
import type { PageRequest } from '@bowline/sessions'
import {
  appendEntries,
  appendEvents,
  ensure,
  insertRun,
  mark,
  openCall,
  patchRun,
  putAnswers,
  putCalls,
  room,
  startMs,
  userEntry,
} from './bench.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

/** Tests that reads return copies, in order, in pages that stay consistent while others write. */
export const reading: Topic = ({ it }) => {
  it('S40: what is not there is missing', async (bench) => {
    assert.deepEqual(await bench.store.readSession(room), { status: 'missing' })
    assert.deepEqual(await bench.store.readRun('run-1'), { status: 'missing' })
    assert.deepEqual(await bench.store.listRuns(room), { items: [] })
    assert.deepEqual(await bench.store.listSessions({}), { items: [] })
  })

  it('S40: a store that is not open is unavailable, and nothing is missing or made', async (bench, stores) => {
    await bench.store.close()
    const unavailable = (error: unknown): boolean => SessionError.isInstance(error) && error.code === 'store-unavailable' && error.retryable
    await assert.rejects(bench.store.readSession(room), unavailable)
    await assert.rejects(bench.store.readRun('run-1'), unavailable)
    await assert.rejects(bench.claim(), unavailable)
    await assert.rejects(bench.try([ensure()]), unavailable)
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.store.readSession(room), { status: 'missing' })
  })

  it('S39: a new session has its first values, and a version that rises with every commit and claim', async (bench) => {
    await bench.commit([ensure(room, { id: 'first', metadata: { tenant: 'a' } })])
    assert.deepEqual(await bench.session(), {
      key: room,
      id: 'first',
      agent: 'assistant',
      version: 1,
      firstSeq: 1,
      nextSeq: 1,
      nextRun: 1,
      leaf: null,
      turns: 0,
      usage: {},
      childUsage: {},
      settings: {},
      metadata: { tenant: 'a' },
      createdAt: startMs,
      activeAt: startMs,
    })
    const results = [await bench.commit([ensure(room, { id: 'second' })]), await bench.commit([]), await bench.commit([insertRun('run-1')])]
    assert.deepEqual(
      results.map(({ version, sessionId }) => [version, sessionId]),
      [
        [2, 'first'],
        [3, 'first'],
        [4, 'first'],
      ],
    )
    await bench.claim()
    assert.equal((await bench.session()).version, 5)
  })

  it('S44: what was given and what was read are copies', async (bench) => {
    const message = { role: 'user', id: 'a', content: [{ type: 'text', text: 'as given' }] } as const
    const input = { nested: ['as given'] }
    const batch = [ensure(room, { metadata: { list: [1] } }), insertRun('run-1', { input }), putAnswers('answer')]
    const entry = { id: 'a', parentId: null, type: 'message', at: startMs, message } as const
    const committing = bench.commit([...batch, putCalls(openCall('run-1', 'call-1')), appendEntries(entry), appendEvents(mark('a'))])
    // The batch is changed while the commit is in progress, too.
    input.nested[0] = 'changed'
    ;(message.content[0] as { text: string }).text = 'changed'
    await committing
    assert.equal(JSON.stringify(await bench.everything()).includes('changed'), false)
    const before = await bench.everything()
    spoil(await bench.everything())
    spoil(await bench.session())
    spoil(await bench.run('run-1'))
    assert.deepEqual(await bench.everything(), before)
    const claims = await bench.claim()
    const after = await bench.everything()
    spoil(claims)
    assert.deepEqual(await bench.everything(), after)
  })

  it('S50: values that are not JSON are refused before anything is written, and not shown', async (bench) => {
    await bench.commit([ensure()])
    const loop: Record<string, unknown> = {}
    loop.self = loop
    const values: unknown[] = [Number.NaN, Infinity, 10n, () => 'secret', Symbol('secret'), new Date(0), new Map(), [undefined], loop]
    for (const value of values) {
      const attempt = bench.try([appendEvents(mark('x')), insertRun('run-1', { input: { 'the-value': value } as never })])
      await assert.rejects(attempt, (error) => {
        return SessionError.isInstance(error) && error.code === 'invalid-input' && !error.message.includes('secret')
      })
    }
    assert.equal((await bench.session()).version, 1)
    const odd = {
      none: undefined,
      proto: JSON.parse('{"__proto__": {"a": 1}}') as unknown,
      text: '\u0000 \ud83d\ude00 \u2028',
      'half \ud83d': '\udc00',
      big: 2 ** 53,
      tiny: -1e-7,
    }
    await bench.commit([insertRun('run-1', { input: odd as never })])
    const { none: _, ...kept } = odd
    assert.deepEqual((await bench.run('run-1')).input, kept)
  })

  it('S7, S44: ids of any characters are read back unchanged, and stay distinct', async (bench) => {
    const ids = ['a\0b', 'a\u0001b', 'a\ud800', 'a\ud801', 'ab']
    await bench.commit([ensure(), appendEntries(...ids.map((id, index) => userEntry(id, ids[index - 1] ?? null, id)))])
    assert.deepEqual(
      (await bench.store.readPath(room)).items.map(({ id }) => id),
      ids.toReversed(),
    )
    for (const id of ids) await bench.commit([insertRun(id, { inputId: id })])
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await bench.run(id)).inputId)), ids)
  })

  it('S47: a path in pages has no entry twice and none left out while the tree grows', async (bench) => {
    await bench.commit([ensure(), appendEntries(...chain(0, 25, null))])
    let last = 24
    const read = ({ limit = 7, page }: PageRequest) =>
      bench.store.readPath(room, { limit, ...(page === undefined ? {} : { before: page }) })
    const entries = await readAll(read, 7, async () => {
      await bench.commit([appendEntries(...chain(last + 1, 3, `entry-${last}`))])
      last += 3
    })
    assert.deepEqual(
      entries.map((entry) => entry.id),
      chain(0, 25, null)
        .map((entry) => entry.id)
        .reverse(),
    )
  })

  it('S47: runs in pages come once each, in the order of acceptance, while others are added', async (bench) => {
    await bench.commit([ensure(), ...Array.from({ length: 25 }, (_, index) => insertRun(`run-${index}`))])
    let more = 25
    const runs = await readAll(
      (page) => bench.store.listRuns(room, page),
      7,
      () => bench.commit([insertRun(`run-${more++}`)]),
    )
    assert.deepEqual(
      runs.map((run) => run.id),
      Array.from({ length: more }, (_, index) => `run-${index}`),
    )
    const some = await bench.store.listRuns(room, { status: ['running', 'aborted'] })
    assert.deepEqual(some, { items: [] })
    await bench.commit([patchRun('run-3', { status: 'aborted' })])
    const aborted = await bench.store.listRuns(room, { status: ['running', 'aborted'] })
    assert.deepEqual(
      aborted.items.map((run) => run.id),
      ['run-3'],
    )
    const newest = await bench.store.listRuns(room, { newestFirst: true, limit: 2 })
    assert.deepEqual(
      newest.items.map((run) => run.id),
      [`run-${more - 1}`, `run-${more - 2}`],
    )
    const older = await bench.store.listRuns(room, { newestFirst: true, limit: 1, page: newest.next ?? '' })
    assert.deepEqual(
      older.items.map((run) => run.id),
      [`run-${more - 3}`],
    )
  })

  it('S47: sessions in pages come once each, newest activity first, while others are made', async (bench) => {
    for (let index = 0; index < 25; index++) {
      const key = `room:${index}`
      // Creates several of them in the same millisecond.
      if (index % 3 === 0) await bench.clock.advance(1)
      await bench.commit([ensure(key, { agent: index % 2 ? 'odd' : 'even' })], { key })
    }
    let more = 100
    const sessions = await readAll(
      (page) => bench.store.listSessions(page),
      7,
      async () => {
        await bench.clock.advance(1)
        // A session that was listed moves to the front and must not be listed again.
        await bench.commit([], { key: 'room:24' })
        await bench.commit([ensure(`room:${more}`)], { key: `room:${more}` })
        more += 1
      },
    )
    assert.deepEqual(sessions.map((session) => session.key).sort(), Array.from({ length: 25 }, (_, index) => `room:${index}`).sort())
    const times = sessions.slice(1).map((session, index) => session.activeAt <= sessions[index]!.activeAt)
    assert.ok(times.every(Boolean))
    const odd = await bench.store.listSessions({ agent: 'odd', keyPrefix: 'room:1' })
    assert.deepEqual(odd.items.map((session) => session.key).sort(), ['room:1', 'room:11', 'room:13', 'room:15', 'room:17', 'room:19'])
    assert.deepEqual((await bench.store.listSessions({ keyPrefix: 'ROOM' })).items, [])
    assert.deepEqual((await bench.store.listSessions({ keyPrefix: 'room_' })).items, [])
    assert.deepEqual((await bench.store.listSessions({ status: ['queued', 'running'] })).items, [])
    await assert.rejects(bench.store.listSessions({ page: 'made up' }), { code: 'invalid-cursor' })
    await assert.rejects(bench.store.listRuns('room:1', { page: 'made up' }), { code: 'invalid-cursor' })
  })
}

function chain(from: number, count: number, parentId: string | null) {
  return Array.from({ length: count }, (_, index) =>
    userEntry(`entry-${from + index}`, index === 0 ? parentId : `entry-${from + index - 1}`),
  )
}

/** Changes every field of a value, at any depth. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const item of Object.values(value)) spoil(item)
  for (const name of Object.keys(value)) (value as Record<string, unknown>)[name] = 'changed'
}
