import assert from 'node:assert/strict'
import { manualClock } from '@bowline/llm/testing'
import { SessionError } from '@bowline/sessions'
import { describe } from 'vitest'
import {
  appendEntries,
  appendEvents,
  deliver,
  ensure,
  fence,
  insertRun,
  mark,
  openCall,
  other,
  parentOf,
  patchRun,
  putAnswers,
  putCalls,
  putTimers,
  room,
  settledCall,
  startMs,
  timer,
  userEntry,
} from '../core/rules/bench.ts'
import type { Bench } from '../core/rules/bench.ts'
import { rowsOfEachKind } from '../core/rules/inbox.ts'
import { testTopics, type StorePlace, type Topic } from '../core/rules/kit.ts'
import { deltas } from './whole-deltas.ts'
import { growth } from './whole-growth.ts'

export interface WholeStore extends StorePlace {
  readonly name: string
  /** True if the store refuses records above its `maxRecordBytes`. Default true. */
  readonly limitsRecords?: boolean
  /** True if the store carries live deltas between processes. Default false. */
  readonly sharesDeltas?: boolean
}

/**
 * Tests that the parts of a session store are put together well: its rows, its time and its processes. The rules are tested once, in
 * `core/rules.test.ts`, and the rows by `testRowStore`.
 */
export function testWholeStore({ name, limitsRecords = true, sharesDeltas = false, ...place }: WholeStore): void {
  const topics = {
    kept,
    ...(limitsRecords && { limited }),
    ...(place.second && { shared }),
    ...(place.bytesWritten && { growth }),
    ...(sharesDeltas && { deltas }),
  }
  describe(`S177: session store: ${name}`, () => testTopics(place, topics))
}

/** Tests of what a store keeps. */
const kept: Topic = ({ it }) => {
  it('S34: everything that was acknowledged is there after reopening', async (bench, stores) => {
    const claim = await bench.running('run-1')
    const call = { runId: 'run-1', step: 1, toolCallId: 'done' }
    const entry = { id: 'result-done', parentId: 'a', type: 'message', at: startMs, call } as const
    await bench.commit(
      [
        putCalls(settledCall('run-1', 'done'), openCall('run-1', 'open')),
        appendEntries(userEntry('a', null), entry),
        appendEvents(mark('one'), { event: { type: 'run-queued', at: startMs }, refers: { runInput: 'run-1' } }),
        putAnswers('answer'),
        patchRun('run-1', { stop: { at: 1 }, error: { code: 'crash-loop', message: 'lost' } }),
        { op: 'session.patch', patch: { turns: 1, metadata: { a: [1, null] } } },
      ],
      { expect: [fence(claim)] },
    )
    const before = await bench.everything()
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.everything(), before)
  })

  it('S34: what waits, what is due, children, branches and definitions are there after reopening', async (bench, stores) => {
    const child = `${room}~researcher~1`
    await bench.commit([ensure(room, { ttl: { idleMs: 5000, maxAgeMs: 'never' } }), insertRun('run-1', { lane: 'interrupt' })])
    await bench.commit(
      [
        { op: 'inbox.put', rows: rowsOfEachKind },
        putTimers(timer('due', startMs - 1), timer('later', startMs + 700, { kind: 'deadline' })),
        { op: 'definition.put', hash: 'hash', body: { model: 'large' } },
        patchRun('run-1', { definition: 'hash' }),
        insertRun('run-2', { kind: 'follow-up', notBefore: startMs + 900 }),
        appendEntries(userEntry('a', null), userEntry('b', 'a'), userEntry('c', 'a')),
        { op: 'session.patch', patch: { leaf: 'b', childUsage: { inputTokens: 1 } } },
      ],
      { deliver: [deliver(child, [ensure(child, { parent: room }), insertRun('child-1', { kind: 'child', parent: parentOf('run-1') })])] },
    )
    await bench.commit([ensure(other, { ttl: { maxAgeMs: 10 } })], { key: other })
    await bench.clock.advance(10)
    const of = async (opened: Bench) => [await opened.everything(), await opened.everything(child), await opened.everything(other)]
    const before = await of(bench)
    const text = JSON.stringify(before)
    for (const part of ['"steer-1"', '"due"', '"child-1"', '"leaf":"c"', '"large"', '"idleMs":5000', '"over":true'])
      assert.ok(text.includes(part), part)
    assert.deepEqual(await of(await stores.reopen(bench)), before)
  })

  it('S35: a repeat after reopening is known', async (bench, stores) => {
    const writes = [ensure(), appendEvents(mark('a'))]
    const first = await bench.commit(writes, { id: 'last' })
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.try(writes, { id: 'last' }), first)
    assert.equal((await again.store.readEvents(room, 0, 10)).lastSeq, 1)
  })

  it('S60: a run that was running when its process ended is claimed again', async (bench, stores) => {
    await bench.running('run-1')
    const again = await stores.reopen(bench, { owner: 'owner-b' })
    await again.clock.advance(10_000)
    const [claim] = await again.claim({ owner: 'owner-b' })
    assert.deepEqual([claim?.previous, claim?.run.epoch, claim?.run.attempts], ['running', 2, 1])
  })

  it('S164: what was pruned is gone, and all else is there after reopening', async (bench, stores) => {
    await bench.commit([ensure(), insertRun('run-1'), appendEvents(mark('old'))])
    await bench.commit([appendEvents(mark('end')), patchRun('run-1', { status: 'aborted', endedAt: startMs })])
    await bench.commit([insertRun('run-2'), appendEvents(mark('new'))])
    assert.deepEqual(await bench.store.prune({ runsEndedBefore: startMs + 1 }, 10), { runs: 1, events: 2, more: false })
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.store.readRun('run-1'), { status: 'missing' })
    assert.deepEqual(
      (await again.store.listRuns(room)).items.map(({ id }) => id),
      ['run-2'],
    )
    const { events, firstSeq, lastSeq } = await again.store.readEvents(room, 0, 10)
    assert.deepEqual([events.map(({ seq }) => seq), firstSeq, lastSeq], [[3], 3, 3])
  })
}

/** Tests that a record has a limit. */
const limited: Topic = ({ it }) => {
  it('S49: a record beyond the limit is refused before anything is written', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    const before = await bench.everything()
    const text = 'secret '.repeat(bench.store.capabilities.maxRecordBytes / 7 + 1)
    const tooLarge = (error: unknown): boolean =>
      SessionError.isInstance(error) && error.code === 'entry-too-large' && !error.message.includes('secret')
    await assert.rejects(bench.try([appendEvents(mark('x')), appendEntries(userEntry('a', null, text))]), tooLarge)
    await assert.rejects(bench.try([insertRun('run-2', { input: text })]), tooLarge)
    assert.deepEqual(await bench.everything(), before)
  })
}

const writers = 16

/** Tests of two stores on the same data, as in two processes. */
const shared: Topic = ({ it, place: { second } }) => {
  if (!second) return
  const pair = (name: string, test: (one: Bench, two: Bench) => Promise<void>): void =>
    it(name, async (bench, stores) => test(bench, await stores.open(await second(bench.store), { owner: 'owner-b', clock: bench.clock })))
  const both = <T>(one: Bench, two: Bench, work: (bench: Bench, index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: writers }, (_, index) => work(index % 2 === 0 ? one : two, index)))

  pair('S55: of two stores that claim at once one gets each run', async (one, two) => {
    for (let index = 0; index < writers; index++)
      await one.commit([ensure(`room:${index}`), insertRun(`run-${index}`)], { key: `room:${index}` })
    const ids: string[] = []
    // A claim skips runs that another owner holds.
    while (ids.length < writers) {
      const claimed = await Promise.all([one.claim({ max: 3 }), two.claim({ owner: 'owner-b', max: 3 })])
      ids.push(...claimed.flat().map(({ run }) => run.id))
    }
    assert.deepEqual([ids.length, new Set(ids).size], [writers, writers])
    assert.deepEqual([await one.claim(), await two.claim({ owner: 'owner-b' })], [[], []])
  })

  pair('S36, S56: the lease of another store is respected until it ends; then its owner is fenced', async (one, two) => {
    const held = await one.running('run-1')
    await one.clock.advance(9_999)
    assert.deepEqual(await two.claim({ owner: 'owner-b' }), [])
    await one.clock.advance(1)
    const [taken] = await two.claim({ owner: 'owner-b' })
    assert.deepEqual([taken?.run.epoch, taken?.run.owner, taken?.previous], [2, 'owner-b', 'running'])
    await one.refused('fenced', [appendEvents(mark('late'))], { expect: [fence(held)] })
    assert.deepEqual(await one.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000), [{ runId: 'run-1', held: false }])
    assert.deepEqual(await two.store.renew([{ runId: 'run-1', epoch: 2 }], 10_000), [{ runId: 'run-1', held: true }])
  })

  pair('S45: deliveries that cross each other all arrive once', async (one, two) => {
    for (const key of [room, other]) await one.commit([ensure(key)], { key })
    const patch = [{ op: 'session.patch', patch: { childUsage: { inputTokens: 1 } } }] as const
    await both(one, two, (bench, index) => {
      const [from, to] = index % 2 === 0 ? [room, other] : [other, room]
      return bench.commit([appendEvents(mark(String(index)))], { key: from, deliver: [deliver(to, patch)] })
    })
    const sums = await Promise.all([room, other].map(async (key) => (await two.session(key)).childUsage.inputTokens))
    assert.deepEqual(sums, [writers / 2, writers / 2])
  })

  pair('S164: a definition that a run takes while others are pruned stays', async (one, two) => {
    const put = (hash: string) => ({ op: 'definition.put', hash, body: { model: hash } }) as const
    for (let round = 0; round < 4; round++) {
      const hashes = Array.from({ length: writers }, (_, index) => `hash-${round}-${index}`)
      await one.commit([ensure(), ...hashes.map(put)])
      const uses = hashes.map((hash) =>
        two.commit([ensure(hash), insertRun(hash), put(hash), patchRun(hash, { definition: hash })], { key: hash }),
      )
      await Promise.all([...uses, one.store.prune({ runsEndedBefore: 0 }, 10), two.store.prune({ runsEndedBefore: 0 }, 10)])
      for (const hash of hashes) assert.deepEqual(await one.store.readDefinition(hash), { model: hash })
    }
  })

  it('S57: a claimer’s wrong clock changes nothing', async (bench, stores) => {
    const wrong = manualClock(startMs + 1_000_000)
    const other = await stores.open(await second(bench.store), { owner: 'owner-b', clock: wrong })
    await bench.running('run-1')
    assert.deepEqual(await other.claim({ owner: 'owner-b' }), [])
    await other.commit([ensure('room:2'), insertRun('run-2')], { key: 'room:2' })
    const [claim] = await other.claim({ owner: 'owner-b' })
    assert.equal(claim?.run.leaseUntil, startMs + 10_000)
    assert.equal((await bench.session(room)).activeAt, startMs)
  })
}
