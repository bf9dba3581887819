import assert from 'node:assert/strict'
import type { NewRun, NoticeClaimRequest, NoticeClaims, NoticeHook, NoticeRecord, NoticeType, RunPatch } from '@bowline/sessions'
import { appendEvents, deleteSession, deliver, ensure, insertRun, other, parentOf, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

const everything: readonly NoticeType[] = ['settled', 'awaiting-answer', 'needs-recovery', 'budget', 'expired']
const toDefault: NoticeHook = { name: 'default', events: everything }
const leaseMs = 30_000

const call = { toolCallId: 'call-1', toolName: 'pay', input: { amount: 5 }, path: [], agent: [] } as const
const approval = { ...call, approvalId: 'approval-1', inputHash: 'hash' } as const

/** Creates a session with an open run. */
async function queued(bench: Bench, runId: string, key = room, fields: Partial<NewRun> = {}): Promise<void> {
  await bench.commit([ensure(key), insertRun(runId, fields)], { key })
}

async function patch(
  bench: Bench,
  runId: string,
  change: RunPatch,
  key = room,
  notify: readonly NoticeHook[] = [toDefault],
): Promise<boolean | undefined> {
  const result = await bench.store.commit({
    id: `${runId} ${JSON.stringify(change)}`,
    key,
    expect: [],
    writes: [patchRun(runId, change)],
    notify,
  })
  assert.ok(result.ok)
  return result.notices
}

async function ended(bench: Bench, runId: string, key = room, notify: readonly NoticeHook[] = [toDefault]): Promise<void> {
  await queued(bench, runId, key)
  await patch(bench, runId, { status: 'aborted', reason: 'abort' }, key, notify)
}

function claim(bench: Bench, hooks: readonly string[] = ['default'], max = 100): Promise<NoticeClaims> {
  return bench.store.claimNotices({ max, leaseMs, hooks })
}

async function claimed(bench: Bench, hooks?: readonly string[], max?: number): Promise<readonly unknown[]> {
  return (await claim(bench, hooks, max)).notices.map(({ body }) => body['runId'])
}

async function claimOne(bench: Bench, hooks?: readonly string[]): Promise<NoticeRecord> {
  const { notices } = await claim(bench, hooks, 1)
  assert.ok(notices[0])
  return notices[0]
}

async function listed(bench: Bench, key = room): Promise<readonly NoticeRecord[]> {
  return (await bench.store.listNotices({ key })).items.toReversed()
}

async function typesOf(bench: Bench, key = room): Promise<readonly string[]> {
  return (await listed(bench, key)).map(({ type }) => type)
}

/** Tests of notices for webhooks, from the commit that causes them to their delivery. */
export const notices: Topic = ({ it, place }) => {
  it('S212: the commit that ends a run puts a notice, and its repeat no other one', async (bench, stores) => {
    await queued(bench, 'run-1')
    const cost = { currency: 'USD', total: '0.25' }
    const write = patchRun('run-1', { status: 'aborted', reason: 'abort', cost: cost as never })
    const batch = { id: 'end', key: room, expect: [], writes: [write], notify: [toDefault] }
    assert.equal((await bench.store.commit(batch)).ok, true)
    await bench.store.commit(batch)
    const { id } = await bench.session()
    const body = { session: room, agent: 'assistant', runId: 'run-1', status: 'stopped', outcome: 'aborted', reason: 'abort', cost }
    const notice = {
      id: `${id}.1`,
      session: room,
      n: 1,
      hook: 'default',
      type: 'settled',
      at: startMs,
      body,
      state: 'pending',
      attempts: 0,
      queuedAt: startMs,
      dueAt: startMs,
    }
    assert.deepEqual(await listed(bench), [notice])
    assert.deepEqual(await listed(await stores.reopen(bench)), [notice])
  })

  it('S212: a commit of which no webhook is told puts nothing', async (bench) => {
    await ended(bench, 'run-1', room, [])
    await ended(bench, 'run-2', room, [{ name: 'default', events: ['expired', 'budget'] }])
    assert.deepEqual(
      [await listed(bench), (await bench.session()).notices, (await bench.store.due(10)).noticesAt],
      [[], undefined, undefined],
    )
  })

  it('S212: each status in which a run waits for somebody, or ends, has its notice', async (bench) => {
    await queued(bench, 'run-1')
    await bench.claim()
    await patch(bench, 'run-1', { status: 'awaiting-tools', pendingToolCalls: [call] })
    assert.deepEqual((await listed(bench))[0]?.body['pendingToolCalls'], [{ toolCallId: 'call-1', toolName: 'pay', path: [], agent: [] }])
    await patch(bench, 'run-1', { pendingApprovals: [approval] })
    await patch(bench, 'run-1', { answered: ['call-1'] })
    await patch(bench, 'run-1', { status: 'queued' })
    await bench.claim()
    await patch(bench, 'run-1', { status: 'awaiting-approval', pendingApprovals: [approval] })
    await patch(bench, 'run-1', { status: 'queued', step: 2 })
    await bench.claim()
    await patch(bench, 'run-1', { status: 'needs-recovery', reason: 'unknown-outcome' })
    await patch(bench, 'run-1', { status: 'queued', step: 3 })
    await bench.claim()
    await patch(bench, 'run-1', { status: 'limit', reason: 'max-cost' })
    assert.deepEqual(await typesOf(bench), ['awaiting-answer', 'awaiting-answer', 'awaiting-answer', 'needs-recovery', 'budget', 'settled'])
  })

  it('S212: compactions and sessions of subagents tell nothing', async (bench) => {
    await queued(bench, 'run-1', room, { kind: 'compaction' })
    await patch(bench, 'run-1', { status: 'aborted' })
    await bench.commit([ensure(other, { parent: room }), insertRun('child', { kind: 'child', parent: parentOf('run-1') })], { key: other })
    await patch(bench, 'child', { status: 'aborted' }, other)
    assert.deepEqual([await listed(bench), await listed(bench, other)], [[], []])
  })

  it('S212: questions of work in the background are told where they are delivered', async (bench) => {
    await queued(bench, 'run-1')
    const base = { at: startMs, runId: 'task', turn: 1, step: 1, background: ['launch'], agent: ['researcher'] }
    const events = [
      { event: { ...base, type: 'awaiting-tools', pendingToolCalls: [call] } },
      {
        event: {
          ...base,
          type: 'approval-requested',
          toolCallId: 'call-1',
          approvalId: 'approval-1',
          toolName: 'pay',
          input: {},
          inputHash: 'h',
          path: [],
        },
      },
      {
        event: {
          at: startMs,
          type: 'error',
          runId: 'task',
          turn: 1,
          agent: ['researcher'],
          path: [],
          source: 'definition',
          message: 'changed',
          fatal: false,
        },
      },
    ] as const
    const delivery = { ...deliver(room, [appendEvents(...events)]), notify: [toDefault] }
    const result = await bench.store.commit({ id: 'asks', key: other, expect: [], writes: [ensure(other)], deliver: [delivery] })
    assert.equal(result.ok && result.notices, true)
    const [asks, held] = await listed(bench)
    assert.ok(asks && held)
    assert.deepEqual(
      [asks.type, asks.body['runId'], (asks.body['pendingApprovals'] as readonly unknown[]).length, held.type, held.body['reason']],
      ['awaiting-answer', 'task', 1, 'needs-recovery', 'definition-changed'],
    )
  })

  it('S212: the end of the life of a session is told once', async (bench) => {
    await bench.commit([ensure(room, { ttl: { maxAgeMs: 1000 } })])
    await bench.clock.advance(1000)
    for (const id of ['first', 'second'])
      await bench.store.commit({ id, key: room, expect: [], writes: [{ op: 'session.expire' }], notify: [toDefault] })
    assert.deepEqual(await typesOf(bench), ['expired'])
    assert.equal((await claim(bench)).notices.length, 1)
  })

  it('S212: the webhook of a session is told beside those of the commit, each in its own line', async (bench) => {
    const notify = { url: 'https://example.com/', events: ['settled'], secret: 'a secret of a session' } as const
    await bench.commit([
      { op: 'session.ensure', session: { id: 'with-hook', agent: 'assistant', metadata: {}, at: startMs, settings: { notify } } },
    ])
    await ended(bench, 'run-1')
    assert.deepEqual(
      (await listed(bench)).map(({ hook, id }) => [hook, id]),
      [
        ['default', 'with-hook.1'],
        ['session', 'with-hook.2'],
      ],
    )
    assert.deepEqual([await claimed(bench, ['session']), await claimed(bench, ['default'])], [['run-1'], ['run-1']])
  })

  it('S212: only the first of a session and hook is claimed, and the next when that one is settled', async (bench, stores) => {
    for (const id of ['run-1', 'run-2', 'run-3']) await ended(bench, id)
    await ended(bench, 'run-4', other)
    assert.deepEqual((await claimed(bench)).toSorted(), ['run-1', 'run-4'])
    assert.deepEqual(await claimed(bench), [])
    const again = await stores.reopen(bench)
    const [first] = await listed(again)
    assert.ok(first)
    assert.equal(await again.store.settleNotice(first, { state: 'delivered' }), true)
    const second = await claimOne(again)
    assert.equal(second.body['runId'], 'run-2')
    assert.equal(await again.store.settleNotice(second, { state: 'pending', dueInMs: 5000, error: 'HTTP 500' }), true)
    assert.deepEqual(await claimed(again), [])
    await again.clock.advance(5000)
    const retried = await claimOne(again)
    assert.deepEqual([retried.body['runId'], retried.attempts, retried.error], ['run-2', 2, 'HTTP 500'])
    assert.equal(await again.store.settleNotice(retried, { state: 'failed', error: 'HTTP 500' }), true)
    assert.deepEqual(await claimed(again), ['run-3'])
    assert.deepEqual(
      (await listed(again)).map(({ state }) => state),
      ['delivered', 'failed', 'pending'],
    )
  })

  it('S212: a notice is claimed again after its lease, and what came of the first claim is refused', async (bench) => {
    await ended(bench, 'run-1')
    const {
      notices: [first],
      nextAt,
    } = await claim(bench)
    assert.ok(first)
    assert.deepEqual([first.attempts, nextAt], [1, startMs + leaseMs])
    await bench.clock.advance(leaseMs)
    const second = await claimOne(bench)
    assert.deepEqual([second.id, second.attempts], [first.id, 2])
    assert.equal(await bench.store.settleNotice(first, { state: 'failed', error: 'late' }), false)
    assert.equal(await bench.store.settleNotice(second, { state: 'delivered' }), true)
    assert.equal(await bench.store.settleNotice(second, { state: 'delivered' }), false)
    assert.deepEqual(
      (await listed(bench)).map(({ state, settledAt }) => [state, settledAt]),
      [['delivered', startMs + leaseMs]],
    )
  })

  it('S212: those of other hooks are left, and the next time is that of the hooks that are asked for', async (bench) => {
    await ended(bench, 'run-1', room, [{ name: 'audit', events: ['settled'] }])
    assert.deepEqual(await claim(bench), { notices: [], nextAt: null })
    assert.deepEqual(await claim(bench, ['default', 'audit'], 0), { notices: [], nextAt: startMs })
    assert.equal((await bench.store.due(0)).noticesAt, startMs)
    assert.deepEqual(await claimed(bench, ['default', 'audit']), ['run-1'])
  })

  it('S213: a claim is for one receiver, or leaves some out, and so is the next time', async (bench) => {
    const keys = ['one', 'two', 'three'].map((name) => [`room:${name}`, `https://${name}.example`] as const)
    for (const [key, origin] of keys) {
      const settings = { notify: { url: `${origin}/hooks/${key}`, events: ['settled'], secret: 'a secret of a session' } } as const
      await bench.commit(
        [{ op: 'session.ensure', session: { id: key, agent: 'assistant', metadata: {}, at: bench.clock.now(), settings } }],
        { key },
      )
      await ended(bench, key, key, key === 'room:one' ? [toDefault] : [])
      await bench.clock.advance(1)
    }
    const claimOf = async (fields: Partial<NoticeClaimRequest>, max = 0) => {
      const { notices, nextAt } = await bench.store.claimNotices({ max, leaseMs, hooks: ['default', 'session'], ...fields })
      return [notices.map(({ session, hook }) => `${session} ${hook}`), nextAt === null ? null : nextAt - startMs]
    }
    const [first = '', second = '', third = ''] = keys.map(([, origin]) => origin)
    assert.deepEqual(await claimOf({ receiver: third }), [[], 2])
    assert.deepEqual(await claimOf({ except: [first, 'default'] }), [[], 1])
    assert.deepEqual(await claimOf({ except: [first, second, third, 'default'] }), [[], null])
    assert.deepEqual(await claimOf({ receiver: second, max: 10 }), [['room:two session'], 1 + leaseMs + 2])
    assert.deepEqual(await claimOf({ receiver: 'default', max: 10 }), [['room:one default'], leaseMs + 3])
    assert.deepEqual(await claimOf({ except: [first], max: 10 }), [['room:three session'], leaseMs + 3])
  })

  it('S212: claims and outcomes leave the session as it is', async (bench) => {
    await ended(bench, 'run-1')
    const before = await bench.everything()
    await bench.clock.advance(10)
    const notice = await claimOne(bench)
    await bench.store.settleNotice(notice, { state: 'delivered' })
    await bench.store.resendNotice(room, notice.id)
    assert.deepEqual(await bench.everything(), before)
  })

  it('S213: a settled notice is sent again under the same id, before those that wait', async (bench) => {
    for (const id of ['run-1', 'run-2', 'run-3']) await ended(bench, id)
    const first = await claimOne(bench)
    await bench.store.settleNotice(first, { state: 'failed', error: 'HTTP 500' })
    await bench.clock.advance(7)
    const found = await bench.store.resendNotice(room, first.id)
    assert.deepEqual(found.status === 'found' && [found.value.state, found.value.queuedAt, found.value.at, found.value.error], [
      'pending',
      startMs + 7,
      startMs,
      undefined,
    ])
    assert.deepEqual((await claimed(bench)).toSorted(), ['run-1', 'run-2'])
    const [one, two] = await listed(bench)
    assert.ok(one && two)
    await bench.store.settleNotice(two, { state: 'delivered' })
    assert.deepEqual(await claimed(bench), [])
    await bench.store.settleNotice(one, { state: 'delivered' })
    assert.deepEqual(await claimed(bench), ['run-3'])
    assert.deepEqual(await bench.store.resendNotice(room, 'made up.1'), { status: 'missing' })
    assert.deepEqual(await bench.store.resendNotice(other, first.id), { status: 'missing' })
  })

  it('S213: they are listed newest first, by session, state and hook, in pages', async (bench) => {
    for (const [place, key] of [room, other, room, other, room].entries()) {
      await ended(bench, `run-${place}`, key)
      if (place % 2 === 0) await bench.clock.advance(1)
    }
    const all = await readAll(
      (page) => bench.store.listNotices(page),
      2,
      async () => undefined,
    )
    assert.deepEqual(
      all.map(({ at }) => at - startMs),
      [2, 2, 1, 1, 0],
    )
    assert.deepEqual(
      all.map(({ id }) => id).toSorted(),
      [...(await listed(bench)), ...(await listed(bench, other))].map(({ id }) => id).toSorted(),
    )
    const notice = await claimOne(bench)
    await bench.store.settleNotice(notice, { state: 'delivered' })
    assert.deepEqual(
      (await bench.store.listNotices({ state: 'delivered' })).items.map(({ id }) => id),
      [notice.id],
    )
    assert.deepEqual((await bench.store.listNotices({ hook: 'audit' })).items, [])
    await assert.rejects(bench.store.listNotices({ page: 'made up' }), { code: 'invalid-cursor' })
  })

  it('S212: they go with their session, and a later one under the key has others', async (bench) => {
    await ended(bench, 'run-1')
    const notice = await claimOne(bench)
    await bench.commit([deleteSession()])
    assert.deepEqual(
      [await listed(bench), await bench.store.settleNotice(notice, { state: 'delivered' }), (await bench.store.due(10)).noticesAt],
      [[], false, undefined],
    )
    await bench.commit([ensure(room, { id: 'another' }), insertRun('run-2')])
    await patch(bench, 'run-2', { status: 'aborted' })
    assert.deepEqual(
      (await listed(bench)).map(({ id }) => id),
      ['another.1'],
    )
  })

  it('S164: settled ones go as runs do, and pending ones that no process sends after their own time', async (bench, stores) => {
    await ended(bench, 'run-1')
    await ended(bench, 'run-2')
    await bench.store.settleNotice(await claimOne(bench), { state: 'delivered' })
    const rules = { runsEndedBefore: startMs, noticesQueuedBefore: startMs }
    await bench.store.prune(rules, 100)
    assert.equal((await listed(bench)).length, 2)
    await bench.store.prune({ ...rules, runsEndedBefore: startMs + 1 }, 100)
    const again = await stores.reopen(bench)
    assert.deepEqual(
      (await listed(again)).map(({ body }) => body['runId']),
      ['run-2'],
    )
    await again.store.prune({ ...rules, noticesQueuedBefore: startMs + 1 }, 100)
    assert.deepEqual(await listed(again), [])
  })

  if (place.second) {
    it('S212: of two processes that claim at once each gets others, and none is left', async (bench, stores) => {
      const keys = Array.from({ length: 40 }, (_, place) => `room:${place + 10}`)
      for (const [place, key] of keys.entries()) await ended(bench, `run-${place}`, key)
      const second = await stores.open((await place.second?.(bench.store)) as never, { owner: 'owner-b', clock: bench.clock })
      const parts = await Promise.all([bench, second, bench, second].map((each) => claimed(each, ['default'], 15)))
      const rest = await claimed(bench)
      const ids = [...parts.flat(), ...rest]
      assert.deepEqual([ids.length, new Set(ids).size], [40, 40])
    })
  }
}
