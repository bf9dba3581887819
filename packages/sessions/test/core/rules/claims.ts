import assert from 'node:assert/strict'
import { waitingKinds } from '@bowline/sessions/internal'
import type { ClaimRequest, InboxKind, InboxRecord, RunRecord } from '@bowline/sessions'
import { ensure, fence, insertRun, patchRun, putAnswers, room, startMs } from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests of claims, leases and takeovers. */
export const claims: Topic = ({ it, place }) => {
  it('S55: a claim makes the run running under the next epoch, with owner and lease', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    const before = await bench.session()
    const [claim, ...others] = await bench.claim()
    assert.deepEqual(others, [])
    assert.equal(claim?.previous, 'queued')
    assert.deepEqual(claim?.run, await bench.run('run-1'))
    assert.deepEqual(claim?.session, await bench.session())
    assert.equal(claim?.session.version, before.version + 1)
    const { status, epoch, owner, leaseUntil, attempts } = claim.run
    assert.deepEqual([status, epoch, owner, leaseUntil, attempts], ['running', 1, 'owner-a', startMs + 10_000, 0])
    assert.deepEqual(await bench.claim(), [])
  })

  it('S55: a claim brings all that waits in the inbox of its session, in the order of acceptance', async (bench) => {
    const row = (kind: InboxKind, id: string): InboxRecord =>
      ({ id, kind, at: startMs, body: { inputId: id, hash: 'h', runId: 'run-0' } }) as unknown as InboxRecord
    const waiting = waitingKinds.map((kind, index) => row(kind, `row-${9 - index}`))
    await bench.commit([ensure(), insertRun('run-1'), { op: 'inbox.put', rows: [...waiting, row('taken', 'known')] }])
    await bench.commit([ensure('room:2'), putAnswers('of-another')], { key: 'room:2' })
    await bench.commit([
      { op: 'inbox.put', rows: [row('steer', 'last')] },
      { op: 'inbox.take', ids: ['row-9'] },
    ])
    const [claim] = await bench.claim()
    assert.deepEqual(claim?.inbox, [...waiting.slice(1), row('steer', 'last')])
  })

  it('S186: a tenant with as many running runs as it may have keeps no other tenant waiting', async (bench) => {
    const keys = [...Array.from({ length: 5 }, (_, index) => `tenant:busy:${index}`), 'tenant:other:1', 'room:1']
    for (const [index, key] of keys.entries()) await bench.commit([ensure(key), insertRun(key, { at: startMs + index })], { key })
    const idsOf = async (fields: Partial<ClaimRequest>) => (await bench.claim({ holds: keys, ...fields })).map(({ run }) => run.id)
    assert.deepEqual(await idsOf({ max: 3, maxRunsPerTenant: 2 }), ['tenant:busy:0', 'tenant:busy:1', 'tenant:other:1'])
    // The queued runs of the full tenant come first, but are skipped.
    assert.deepEqual(await idsOf({ max: 1, maxRunsPerTenant: 2 }), ['room:1'])
    assert.deepEqual(await idsOf({ maxRunsPerTenant: 2 }), [])
    assert.deepEqual(await idsOf({ runId: 'tenant:busy:2', maxRunsPerTenant: 2 }), [])
    assert.deepEqual(await idsOf({ maxRunsPerTenant: 3 }), ['tenant:busy:2'])
    assert.deepEqual(await idsOf({}), ['tenant:busy:3', 'tenant:busy:4'])
  })

  it('S186, S55: a claim that skips the runs of a full tenant does not claim a run twice', async (bench) => {
    for (const [index, key] of ['tenant:busy:0', 'tenant:busy:1', 'room:1'].entries())
      await bench.commit([ensure(key), insertRun(key, { at: startMs + index })], { key })
    const claims = await bench.claim({ max: 2, maxRunsPerTenant: 1, holds: [] })
    const claimed = claims.flatMap(({ run }) => [run.id, run.epoch])
    assert.deepEqual(claimed, ['tenant:busy:0', 1, 'room:1', 1])
  })

  it('S186: a lost run is taken over whatever its tenant has, and a child neither counts nor waits', async (bench) => {
    const parent = { runId: 'tenant:busy:0', session: 'tenant:busy:0', toolCallId: 'call', mode: 'awaited' } as unknown as NonNullable<
      RunRecord['parent']
    >
    const key = 'tenant:busy:0~helper~1'
    await bench.commit([ensure('tenant:busy:0'), insertRun('tenant:busy:0')], { key: 'tenant:busy:0' })
    await bench.claim({ maxRunsPerTenant: 1 })
    await bench.commit([ensure(key), insertRun('child', { parent, at: startMs + 1 })], { key })
    const started = (await bench.claim({ holds: ['tenant:busy:0', 'child'], maxRunsPerTenant: 1 })).map(({ run }) => run.id)
    assert.deepEqual(started, ['child'])
    await bench.clock.advance(20_000)
    const taken = (await bench.claim({ owner: 'owner-b', maxRunsPerTenant: 1 })).map(({ run }) => run.id)
    assert.deepEqual(taken, ['tenant:busy:0', 'child'])
  })

  it('S55: a claim of named sessions takes their first runs and no others', async (bench) => {
    for (let index = 0; index < 5; index++) {
      const key = `room:${index}`
      await bench.commit(
        [ensure(key), insertRun(`run-${index}`, { at: startMs + 10 - index }), insertRun(`next-${index}`, { at: startMs + 20 })],
        { key },
      )
    }
    await bench.commit([ensure('room:late'), insertRun('late', { notBefore: startMs + 1_000 })], { key: 'room:late' })
    const holds = ['run-1', 'run-3', 'run-4']
    const idsOf = async (fields: Partial<ClaimRequest>) => (await bench.claim({ holds, ...fields })).map(({ run }) => run.id)
    assert.deepEqual(await idsOf({ keys: [] }), [])
    assert.deepEqual(await idsOf({ keys: ['room:1', 'room:unknown', 'room:late', 'room:4'] }), ['run-4', 'run-1'])
    assert.deepEqual(await idsOf({ keys: ['room:1', 'room:3', 'room:0'], max: 1 }), ['run-3'])
    assert.deepEqual(await idsOf({ keys: ['room:1', 'room:0'], agents: ['another'] }), [])
    assert.deepEqual(await idsOf({ keys: ['room:1', 'room:0'], agents: ['another'], others: true }), [])
    // The claim changed only the named session, and the other runs can still be claimed.
    assert.deepEqual(await idsOf({ keys: ['room:2'], others: true }), ['run-2', 'run-0'])
    await bench.clock.advance(1_000)
    assert.deepEqual(await idsOf({ holds: [...holds, 'run-0', 'run-2'], keys: ['room:late'] }), ['late'])
  })

  it('S56, S60: a claim of a named session takes over the run of an owner that is lost', async (bench) => {
    await bench.running('run-1')
    const claimed = async () =>
      (await bench.claim({ owner: 'owner-b', keys: [room] })).map(({ run, previous }) => [run.id, run.epoch, previous])
    if (place.loss === 'lease') {
      assert.deepEqual(await claimed(), [])
      await bench.clock.advance(20_000)
    }
    assert.deepEqual(await claimed(), [['run-1', 2, 'running']])
  })

  it('S186: a claim of named sessions leaves those of a tenant with as many running runs as it may have', async (bench) => {
    for (const key of ['tenant:busy:1', 'tenant:busy:2', 'room:1']) await bench.commit([ensure(key), insertRun(key)], { key })
    const idsOf = async (keys: readonly string[]) =>
      (await bench.claim({ holds: ['tenant:busy:1'], keys, maxRunsPerTenant: 1 })).map(({ run }) => run.id)
    assert.deepEqual(await idsOf(['tenant:busy:1']), ['tenant:busy:1'])
    assert.deepEqual(await idsOf(['tenant:busy:2', 'room:1']), ['room:1'])
  })

  it('S55: of many claimers at once one gets each run', async (bench) => {
    for (let index = 0; index < 8; index++) {
      const key = `room:${index}`
      await bench.commit([ensure(key), insertRun(`run-${index}`)], { key })
    }
    // Lists all runs as held, so that none of them counts as lost.
    const holds = Array.from({ length: 8 }, (_, index) => `run-${index}`)
    const claimed = await Promise.all(Array.from({ length: 16 }, () => bench.claim({ max: 3, holds })))
    const ids = claimed.flat().map((claim) => claim.run.id)
    assert.deepEqual(
      ids.sort(),
      Array.from({ length: 8 }, (_, index) => `run-${index}`),
    )
  })

  it('S55: a run given back is claimed under a new epoch, and no attempt is counted', async (bench) => {
    const first = await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'queued', reason: 'yielded' })], { expect: [fence(first)] })
    const [again] = await bench.claim({ owner: 'owner-b' })
    const { epoch, attempts, totalAttempts, reason } = again!.run
    assert.deepEqual([again?.previous, epoch, attempts, totalAttempts, reason], ['queued', 2, 0, 0, 'yielded'])
  })

  it('S56: only the first open run of a session is claimed, in the order of acceptance', async (bench) => {
    await bench.commit([ensure(), insertRun('run-b', { at: 9 }), insertRun('run-a', { at: 1 })])
    assert.deepEqual(await bench.claim({ runId: 'run-a' }), [])
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['run-b'],
    )
    assert.deepEqual(await bench.claim(), [])
    for (const status of ['awaiting-tools', 'queued', 'running', 'needs-recovery'] as const) {
      await bench.commit([patchRun('run-b', { status })])
      assert.deepEqual(await bench.claim({ runId: 'run-a' }), [])
    }
    await bench.commit([patchRun('run-b', { status: 'aborted' })])
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['run-a'],
    )
  })

  it('S8: only runs of the given agents are claimed, at most so many, the oldest first', async (bench) => {
    for (const [index, agent] of ['other', 'assistant', 'assistant', 'assistant'].entries()) {
      const key = `room:${index}`
      await bench.commit([ensure(key, { agent }), insertRun(`run-${index}`, { at: startMs - index })], { key })
    }
    assert.deepEqual(await bench.claim({ agents: [] }), [])
    assert.deepEqual(await bench.claim({ max: 0 }), [])
    assert.deepEqual(
      (await bench.claim({ max: 2 })).map((claim) => claim.run.id),
      ['run-3', 'run-2'],
    )
    assert.deepEqual(
      (await bench.claim({ agents: ['other'] })).map((claim) => claim.run.id),
      ['run-0'],
    )
  })

  it('S62: a takeover counts, and progress starts the count anew', async (bench) => {
    await bench.running('run-1')
    await bench.clock.advance(10_000)
    const [second] = await bench.claim({ owner: 'owner-b' })
    assert.equal(second?.previous, 'running')
    assert.deepEqual([second?.run.epoch, second?.run.attempts, second?.run.totalAttempts], [2, 1, 1])
    await bench.commit([patchRun('run-1', { attempts: 0 })], { expect: [fence(second)] })
    await bench.clock.advance(10_000)
    const [third] = await bench.claim({ owner: 'owner-c' })
    assert.deepEqual([third?.run.epoch, third?.run.attempts, third?.run.totalAttempts], [3, 1, 2])
  })

  it('S62: the first takeover waits for nothing but the loss', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.claim({ leaseMs: 0 })
    const [taken] = await bench.claim({ owner: 'owner-b' })
    assert.deepEqual([taken?.run.epoch, taken?.run.attempts], [2, 1])
  })

  it('S57: renewing prolongs what is held and says what is lost and what is to stop', async (bench) => {
    const held = await bench.running('run-1')
    await bench.running('run-2', 'room:2')
    await bench.clock.advance(4000)
    await bench.commit([patchRun('run-2', { stop: { at: 5, reason: 'enough' } })], { key: 'room:2' })
    const leases = [
      { runId: 'run-1', epoch: 1 },
      { runId: 'run-2', epoch: 1 },
      { runId: 'run-1', epoch: 2 },
      { runId: 'unknown', epoch: 1 },
    ]
    assert.deepEqual(await bench.store.renew(leases, 20_000), [
      { runId: 'run-1', held: true },
      { runId: 'run-2', held: true, stopping: { at: 5, reason: 'enough' } },
      { runId: 'run-1', held: false },
      { runId: 'unknown', held: false },
    ])
    assert.equal((await bench.run('run-1')).leaseUntil, startMs + 24_000)
    await bench.commit([patchRun('run-1', { status: 'awaiting-tools' })], { expect: [fence(held)] })
    assert.deepEqual(await bench.store.renew([{ runId: 'run-1', epoch: 1 }], 1000), [{ runId: 'run-1', held: false }])
    assert.deepEqual(await bench.store.renew([], 1000), [])
  })

  it('S55: a claim with lostAt takes a running run over whose lease has not ended, if the session still has that version', async (bench) => {
    const held = await bench.running('run-1')
    const taking = async (owner: string, lostAt: number) =>
      (await bench.claim({ owner, keys: [room], lostAt })).map(({ run, previous }) => [run.epoch, run.attempts, previous])
    const { version } = await bench.session()
    await bench.commit([patchRun('run-1', { step: 1 })], { expect: [fence(held)] })
    if (place.loss === 'lease') assert.deepEqual(await taking('owner-b', version), [])
    const { version: now } = await bench.session()
    assert.deepEqual(await taking('owner-b', now), [[2, 1, 'running']])
    // Not from itself.
    const after = await bench.session()
    assert.deepEqual(await bench.claim({ owner: 'owner-b', keys: [room], lostAt: after.version, holds: ['run-1'] }), [])
  })

  if (place.loss === 'lease') {
    it('S56: a run whose lease lives is not taken over, to the millisecond', async (bench) => {
      await bench.running('run-1')
      await bench.clock.advance(9999)
      assert.deepEqual(await bench.claim({ owner: 'owner-b' }), [])
      await bench.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000)
      await bench.clock.advance(9999)
      assert.deepEqual(await bench.claim({ owner: 'owner-b' }), [])
      await bench.clock.advance(1)
      assert.equal((await bench.claim({ owner: 'owner-b' })).length, 1)
    })

    it('S60: a lease from before the clock was set back ends its own length after that was seen, unless it is renewed', async (bench) => {
      await bench.running('renewed')
      await bench.running('lost', 'room:2')
      await bench.clock.advance(-3_600_000)
      const claimed = async () => (await bench.claim({ owner: 'owner-b' })).map(({ run }) => run.id)
      assert.deepEqual(await claimed(), [])
      await bench.clock.advance(9_999)
      assert.deepEqual(await claimed(), [])
      await bench.store.renew([{ runId: 'renewed', epoch: 1 }], 10_000)
      await bench.clock.advance(1)
      assert.deepEqual(await claimed(), ['lost'])
      await bench.clock.advance(9_998)
      assert.deepEqual(await claimed(), [])
      await bench.clock.advance(1)
      assert.deepEqual(await claimed(), ['renewed'])
    })

    it('S63, S64: a lost run that was claimed before the clock was set back is listed as soon as its lease is over', async (bench) => {
      await bench.running('lost')
      await bench.clock.advance(10_000)
      assert.equal((await bench.claim({ owner: 'owner-b', leaseMs: 1 })).length, 1)
      await bench.clock.advance(-3_600_000)
      assert.deepEqual(await bench.claim({ owner: 'owner-c', leaseMs: 1, agents: ['unknown'] }), [])
      await bench.clock.advance(1)
      assert.deepEqual(await bench.store.listClaimable(), { items: [room] })
    })
  } else {
    it('S60: a running run of another owner is an orphan at once', async (bench) => {
      await bench.running('run-1')
      await bench.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000)
      assert.equal((await bench.claim({ owner: 'owner-b' })).length, 1)
    })
  }

  it('S61: a claim whose answer was lost leaves no run without an owner: its owner can claim it again at once', async (bench) => {
    await bench.running('run-1')
    const [again] = await bench.claim({ holds: [] })
    assert.deepEqual([again?.previous, again?.run.epoch], ['running', 2])
  })

  it('S61: an owner that slept past its lease does not lose a run that it holds to itself, and renews it', async (bench) => {
    await bench.running('run-1')
    await bench.clock.advance(3_600_000)
    for (const which of [{}, { keys: ['room:1'] }, { runId: 'run-1' }])
      assert.deepEqual(await bench.claim({ owner: 'owner-a', ...which }), [])
    assert.deepEqual(await bench.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000), [{ runId: 'run-1', held: true }])
    assert.equal((await bench.run('run-1')).epoch, 1)
  })
}
