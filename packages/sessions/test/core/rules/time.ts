import assert from 'node:assert/strict'
import type { InboxKind, Page, TimerRecord, Write } from '@bowline/sessions'
import { appendEntries, ensure, inboxKinds, insertRun, other, patchRun, putTimers, room, startMs, timer, userEntry } from './bench.ts'
import type { Bench } from './bench.ts'
import { rowsOfEachKind } from './inbox.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

async function dueIds(bench: Bench, limit = 100): Promise<readonly string[]> {
  return (await bench.store.due(limit)).timers.map((each) => each.id)
}

async function nextAt(bench: Bench): Promise<number | null> {
  return (await bench.store.due(100)).nextAt
}

/** Tests of due work and of the next due time. */
export const time: Topic = ({ it }) => {
  it('S160: a timer is due from its time on, to the millisecond, as it was put', async (bench, stores) => {
    const body = { approvalId: 'approval-1', nested: [1, null, 'ü'] }
    await bench.commit([ensure(), putTimers(timer('timer-1', startMs + 500, { kind: 'deadline', body }))])
    await bench.clock.advance(499)
    assert.deepEqual(await bench.store.due(10), { timers: [], expired: [], unread: [], nextAt: startMs + 500 })
    const again = await stores.reopen(bench)
    await again.clock.advance(1)
    const due = { id: 'timer-1', session: room, kind: 'deadline', dueAt: startMs + 500, body }
    assert.deepEqual(await again.store.due(10), { timers: [due], expired: [], unread: [], nextAt: startMs + 500 })
    await again.clock.advance(86_400_000)
    assert.deepEqual(await again.store.due(10), { timers: [due], expired: [], unread: [], nextAt: again.clock.now() })
  })

  it('S64: the sessions whose first run can be claimed are listed: those whose lease has ended, then queued ones', async (bench) => {
    const put = (key: string, ...writes: readonly Write[]) => bench.commit([ensure(key), ...writes], { key })
    await bench.running('lost', 'room:lost')
    await put('room:queued', insertRun('queued', { at: startMs + 1 }), insertRun('behind', { at: startMs + 2 }))
    await put('room:late', insertRun('late', { notBefore: startMs + 20_000 }))
    await put('room:idle')
    const listed = () => bench.store.listClaimable()
    assert.deepEqual(await listed(), { items: ['room:queued'] })
    await bench.clock.advance(20_000)
    assert.deepEqual(await listed(), { items: ['room:lost', 'room:queued', 'room:late'] })
    await bench.claim({ owner: 'owner-b', holds: [], max: 10 })
    assert.deepEqual(await listed(), { items: [] })
  })

  it('S64: pages of sessions with a run to claim meet in no session and leave none out, lost ones and queued ones', async (bench) => {
    const lost = ['room:lost-1', 'room:lost-2', 'room:lost-3']
    for (const key of lost) await bench.running(`run of ${key}`, key)
    const queued = ['room:a', 'room:b', 'room:c']
    for (const key of queued) await bench.commit([ensure(key), insertRun(`run of ${key}`)], { key })
    await bench.commit([ensure('room:0'), insertRun('later', { notBefore: startMs + 3_600_000 })], { key: 'room:0' })
    await bench.clock.advance(60_000)
    for (const limit of [1, 2, 3, 4]) {
      const pages: string[][] = []
      let page: string | undefined
      do {
        const found: Page<string> = await bench.store.listClaimable({ limit, ...(page !== undefined && { page }) })
        pages.push([...found.items])
        page = found.next
      } while (page !== undefined)
      assert.deepEqual(pages.flat(), [...lost, ...queued], `pages of ${limit}`)
      assert.ok(pages.every(({ length }) => length <= limit))
    }
    await assert.rejects(bench.store.listClaimable({ page: 'room:1' }), { code: 'invalid-cursor' })
  })

  it('S160: of many that see a timer one fires it', async (bench) => {
    await bench.commit([ensure(), putTimers(timer('timer-1', startMs), timer('timer-2', startMs))])
    const fire = () => bench.try([{ op: 'timer.drop', ids: ['timer-1'] }], { expect: [{ that: 'timer', id: 'timer-1' }] })
    const results = await Promise.all(Array.from({ length: 8 }, fire))
    assert.equal(results.filter((result) => result.ok).length, 1)
    assert.ok(results.every((result) => result.ok || result.reason === 'conflict'))
    assert.deepEqual(await dueIds(bench), ['timer-2'])
  })

  it('S160: a timer is replaced and dropped, and what is not there is no fault to drop', async (bench) => {
    await bench.commit([ensure(), putTimers(timer('timer-1', startMs), timer('timer-2', startMs + 1))])
    await bench.commit([putTimers(timer('timer-1', startMs + 900, { body: { moved: true } }))])
    assert.deepEqual([await dueIds(bench), await nextAt(bench)], [[], startMs + 1])
    await bench.commit([{ op: 'timer.drop', ids: ['timer-2', 'never was'] }])
    assert.equal(await nextAt(bench), startMs + 900)
    await bench.clock.advance(900)
    assert.deepEqual(
      (await bench.store.due(10)).timers.map(({ id, body }) => [id, body]),
      [['timer-1', { moved: true }]],
    )
    await bench.refused('missing', [putTimers(timer('timer-3', startMs))], { key: other })
    await bench.refused('missing', [{ op: 'timer.drop', ids: ['timer-1'] }], { key: other })
  })

  it('S160: a timer that is expected must be there, in this session', async (bench) => {
    await bench.commit([ensure(), putTimers(timer('timer-1', startMs + 900))])
    await bench.commit([ensure(other)], { key: other })
    await bench.commit([], { expect: [{ that: 'timer', id: 'timer-1' }] })
    await bench.refused('conflict', [], { expect: [{ that: 'timer', id: 'unknown' }] })
    await bench.refused('conflict', [], { key: other, expect: [{ that: 'timer', id: 'timer-1' }] })
    await bench.refused('conflict', [ensure('room:3')], { key: 'room:3', expect: [{ that: 'timer', id: 'timer-1' }] })
  })

  it('S210: a timer that is expected at a time must be due then', async (bench) => {
    await bench.commit([ensure(), putTimers(timer('timer-1', startMs + 900), timer('resting', null))])
    await bench.commit([], {
      expect: [
        { that: 'timer', id: 'timer-1', dueAt: startMs + 900 },
        { that: 'timer', id: 'resting', dueAt: null },
      ],
    })
    await bench.refused('conflict', [], { expect: [{ that: 'timer', id: 'timer-1', dueAt: startMs + 901 }] })
    await bench.refused('conflict', [], { expect: [{ that: 'timer', id: 'timer-1', dueAt: null }] })
    await bench.refused('conflict', [], { expect: [{ that: 'timer', id: 'resting', dueAt: startMs }] })
  })

  it('S210: a timer without a time is kept and never due, until it is put with one', async (bench, stores) => {
    await bench.commit([ensure(), putTimers(timer('resting', null), timer('timer-1', startMs + 50))])
    assert.equal(await nextAt(bench), startMs + 50)
    await bench.commit([{ op: 'timer.drop', ids: ['timer-1'] }])
    const again = await stores.reopen(bench)
    await again.clock.advance(86_400_000)
    assert.deepEqual(await again.store.due(10), { timers: [], expired: [], unread: [], nextAt: null })
    assert.deepEqual(
      (await again.store.listTimers({ kind: 'deadline' })).items.map(({ id, dueAt }) => [id, dueAt]),
      [['resting', null]],
    )
    await again.commit([putTimers(timer('resting', startMs + 60))])
    assert.deepEqual(await dueIds(again), ['resting'])
  })

  it('S210: timers of one kind are listed by session and id, in pages, of one session or of all', async (bench) => {
    const schedule = (id: string, dueAt: number | null) => timer(id, dueAt, { kind: 'schedule', body: { name: id } })
    await bench.commit([ensure(), putTimers(schedule('b', startMs), schedule('a', null), timer('c', startMs))])
    await bench.commit([ensure(other), putTimers(schedule('d', startMs + 1), schedule('a', startMs + 2))], { key: other })
    const places = (timers: readonly TimerRecord[]): readonly string[] => timers.map(({ session, id }) => `${session} ${id}`)
    const inOrder = [room, other].sort().flatMap((key) => (key === room ? [`${room} a`, `${room} b`] : [`${other} a`, `${other} d`]))
    assert.deepEqual(places((await bench.store.listTimers({ kind: 'schedule' })).items), inOrder)
    assert.deepEqual(
      places(
        await readAll(
          (page) => bench.store.listTimers({ kind: 'schedule', ...page }),
          1,
          async () => undefined,
        ),
      ),
      inOrder,
    )
    const { items, next } = await bench.store.listTimers({ kind: 'schedule', key: room })
    assert.deepEqual(items, [
      { id: 'a', session: room, kind: 'schedule', dueAt: null, body: { name: 'a' } },
      { id: 'b', session: room, kind: 'schedule', dueAt: startMs, body: { name: 'b' } },
    ])
    assert.equal(next, undefined)
    assert.deepEqual(await bench.store.listTimers({ kind: 'schedule', key: 'room:none' }), { items: [] })
    await assert.rejects(bench.store.listTimers({ kind: 'schedule', page: 'made up' }), { code: 'invalid-cursor' })
    await bench.commit([{ op: 'session.delete', at: startMs }], { key: other })
    assert.deepEqual(places((await bench.store.listTimers({ kind: 'schedule' })).items), [`${room} a`, `${room} b`])
  })

  it('S160: the id of a timer belongs to its session', async (bench) => {
    await bench.commit([ensure(), putTimers(timer('timer', startMs + 1))])
    await bench.commit([ensure(other), putTimers(timer('timer', startMs + 2))], { key: other })
    await bench.clock.advance(2)
    assert.deepEqual(
      (await bench.store.due(10)).timers.map((each) => each.session),
      [room, other],
    )
    await bench.commit([{ op: 'timer.drop', ids: ['timer'] }], { key: other })
    assert.deepEqual(
      (await bench.store.due(10)).timers.map((each) => each.session),
      [room],
    )
  })

  it('S160: timers come by time, then by id, at most so many', async (bench) => {
    const late = [timer('d', startMs + 3), timer('b', startMs + 2), timer('later', startMs + 50)]
    await bench.commit([ensure(), putTimers(...late)])
    await bench.commit([ensure(other), putTimers(timer('c', startMs + 2), timer('a', startMs + 3), timer('z', startMs + 1))], {
      key: other,
    })
    await bench.clock.advance(3)
    assert.deepEqual(await dueIds(bench), ['z', 'b', 'c', 'a', 'd'])
    assert.deepEqual(await dueIds(bench, 2), ['z', 'b'])
    assert.equal((await bench.store.due(2)).nextAt, startMs + 3)
    assert.deepEqual(await bench.store.due(0), { timers: [], expired: [], unread: [], nextAt: startMs + 3 })
  })

  it('S161: sessions whose life is over are told until somebody marks them, at most so many', async (bench, stores) => {
    for (const [index, maxAgeMs] of [30, 10, 20, 99].entries()) {
      const key = `room:${index}`
      await bench.commit([ensure(key, { ttl: { maxAgeMs } })], { key })
    }
    assert.deepEqual(await bench.store.due(10), { timers: [], expired: [], unread: [], nextAt: startMs + 10 })
    await bench.clock.advance(29)
    const again = await stores.reopen(bench)
    const over = async (limit: number) => (await again.store.due(limit)).expired
    assert.deepEqual([...(await over(10))].sort(), ['room:1', 'room:2'])
    await again.clock.advance(1)
    assert.deepEqual(await over(10), ['room:1', 'room:2', 'room:0'])
    assert.deepEqual(await over(2), ['room:1', 'room:2'])
    assert.equal(await nextAt(again), startMs + 30)
    for (const key of ['room:0', 'room:1', 'room:2']) await again.commit([{ op: 'session.expire' }], { key })
    assert.deepEqual(await again.store.due(10), { timers: [], expired: [], unread: [], nextAt: startMs + 99 })
  })

  it('S161: of sessions whose lives end at one time the keys decide the order', async (bench) => {
    for (const key of ['room:2', 'room:1', 'room:3']) await bench.commit([ensure(key, { ttl: { maxAgeMs: 10 } })], { key })
    await bench.clock.advance(10)
    assert.deepEqual((await bench.store.due(10)).expired, ['room:1', 'room:2', 'room:3'])
  })

  it('S22, S64, S139: sessions in whose inbox waits what begins a run are told while no run of theirs is open, at most so many', async (bench, stores) => {
    const unread = async ({ store }: Bench, limit = 100) => [...(await store.due(limit)).unread].sort()
    const putRow = (kind: InboxKind): Write => ({ op: 'inbox.put', rows: rowsOfEachKind.filter((row) => row.kind === kind) })
    for (const kind of inboxKinds) await bench.commit([ensure(`room:${kind}`), putRow(kind)], { key: `room:${kind}` })
    assert.deepEqual(await unread(bench), ['room:child-settled', 'room:steer'])
    assert.equal((await unread(bench, 1)).length, 1)
    assert.deepEqual(await unread(bench, 0), [])
    const again = await stores.reopen(bench)
    await again.commit([insertRun('run-1')], { key: 'room:steer' })
    assert.deepEqual(await unread(again), ['room:child-settled'])
    await again.commit([patchRun('run-1', { status: 'aborted' })], { key: 'room:steer' })
    await again.commit([{ op: 'inbox.take', ids: ['child-settled-1'] }], { key: 'room:child-settled' })
    assert.deepEqual(await unread(again), ['room:steer'])
    await again.commit([{ op: 'session.expire' }], { key: 'room:steer' })
    assert.deepEqual([await unread(again), await nextAt(again)], [[], null])
  })

  it('S67: the next time is the earliest of timers, ends of life and runs that are held', async (bench) => {
    assert.equal(await nextAt(bench), null)
    await bench.commit([ensure(room, { ttl: { idleMs: 1000 } }), putTimers(timer('timer-1', startMs + 800))])
    assert.equal(await nextAt(bench), startMs + 800)
    await bench.commit([ensure(other), insertRun('run-1', { notBefore: startMs + 600 })], { key: other })
    assert.equal(await nextAt(bench), startMs + 600)
    await bench.commit([{ op: 'timer.drop', ids: ['timer-1'] }, appendEntries(userEntry('a', null))])
    await bench.commit([patchRun('run-1', { notBefore: startMs + 2000 })], { key: other })
    assert.equal(await nextAt(bench), startMs + 1000)
    await bench.commit([{ op: 'session.expire' }])
    assert.equal(await nextAt(bench), startMs + 2000)
    await bench.commit([patchRun('run-1', { status: 'aborted' })], { key: other })
    assert.equal(await nextAt(bench), null)
  })

  it('S67: a run that can be claimed, waits for another run or is held has no due time', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1'), insertRun('run-2', { notBefore: startMs + 10 })])
    assert.equal(await nextAt(bench), null)
    await bench.claim()
    assert.equal(await nextAt(bench), null)
    await bench.commit([patchRun('run-1', { status: 'awaiting-tools' })])
    assert.equal(await nextAt(bench), null)
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    assert.equal(await nextAt(bench), startMs + 10)
  })
}
