import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { SessionError } from '../../src/errors.ts'
import { leaseEnded, type ActiveRun, type ActiveRuns } from '../../src/runtime/active-runs.ts'
import { Leases } from '../../src/runtime/leases.ts'
import type { Lease, LeaseState, SessionStore } from '../../src/contract/session-store.ts'

const [leaseMs, heartbeatMs] = [10_000, 3_000]

/** Creates running runs, and a store that answers each renewal as the test says. */
function world(runIds: readonly string[], answer: (leases: readonly Lease[]) => Promise<readonly LeaseState[]>) {
  const clock = manualClock(100_000)
  const runs = new Map(
    runIds.map((id) => [
      id,
      { claim: { run: { id, epoch: 7 } }, heldUntil: clock.now() + leaseMs, unheardBeats: 0 } as unknown as ActiveRun,
    ]),
  )
  const aborted: unknown[] = []
  const faults: unknown[] = []
  const asked: unknown[] = []
  const active = {
    all: () => [...runs.values()],
    get: (id: string) => runs.get(id),
    abort: (id: string, cause: unknown) => void aborted.push([id, cause]),
  }
  const renew = (leases: readonly Lease[], forMs: number): Promise<readonly LeaseState[]> => {
    asked.push([leases, forMs])
    return answer(leases)
  }
  const store = { renew } as unknown as SessionStore
  const leases = new Leases(
    { store, clock, leaseMs, heartbeatMs, onError: (error, where) => faults.push([error, where]) },
    active as unknown as ActiveRuns,
  )
  const beat = async (): Promise<void> => {
    leases.beat()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { clock, runs, aborted, faults, asked, beat }
}

const held = (leases: readonly Lease[]): Promise<readonly LeaseState[]> =>
  Promise.resolve(leases.map(({ runId }) => ({ runId, held: true })))
const fenced = { kind: 'fenced' }

describe('S58: heartbeats', () => {
  it('S58: each run is renewed under its epoch, and its lease counts from the time of the request', async () => {
    const { clock, runs, aborted, asked, beat } = world(['r1', 'r2'], held)
    await clock.advance(3000)
    await beat()
    expect(asked).toEqual([
      [
        [
          { runId: 'r1', epoch: 7 },
          { runId: 'r2', epoch: 7 },
        ],
        leaseMs,
      ],
    ])
    expect([...runs.values()].map(({ heldUntil, unheardBeats }) => [heldUntil, unheardBeats])).toEqual([
      [113_000, 0],
      [113_000, 0],
    ])
    expect(aborted).toEqual([])
  })

  it('S58: without a run no renewal is sent', async () => {
    const { asked, beat } = world([], held)
    await beat()
    expect(asked).toEqual([])
  })

  it('S58: a run that the store gave to another owner is fenced; a run with a stop is stopped and keeps its lease', async () => {
    const { clock, runs, aborted, beat } = world(['r1', 'r2', 'r3'], () =>
      Promise.resolve([
        { runId: 'r1', held: false },
        { runId: 'r2', held: true, stopping: { at: 1, reason: 'enough' } },
        { runId: 'r3', held: true, stopping: { at: 1 } },
      ] as unknown as LeaseState[]),
    )
    await clock.advance(3000)
    await beat()
    expect(aborted).toEqual([
      ['r1', fenced],
      ['r2', { kind: 'stop', reason: 'enough' }],
      ['r3', { kind: 'stop' }],
    ])
    expect([...runs.values()].map(({ heldUntil, unheardBeats }) => [heldUntil, unheardBeats])).toEqual([
      [110_000, 1],
      [113_000, 0],
      [113_000, 0],
    ])
  })

  it('S58: an answer about an earlier claim of the run, or about a run that has left, changes nothing', async () => {
    const answers = Promise.withResolvers<readonly LeaseState[]>()
    const { runs, aborted, beat } = world(['r1', 'r2'], () => answers.promise)
    await beat()
    runs.set('r1', { ...(runs.get('r1') as ActiveRun), claim: { run: { id: 'r1', epoch: 8 } } as never })
    runs.delete('r2')
    answers.resolve([
      { runId: 'r1', held: false },
      { runId: 'r2', held: false },
    ])
    await new Promise((resolve) => setImmediate(resolve))
    expect(aborted).toEqual([])
  })

  it('S59: a store that fails is reported; runs leave before their lease can end, and not earlier', async () => {
    const { clock, aborted, faults, beat } = world(['r1'], () => Promise.reject(new Error('away')))
    for (let n = 0; n < 2; n++) {
      await clock.advance(heartbeatMs)
      await beat()
    }
    expect(faults).toMatchObject([
      [{ message: 'away' }, { during: 'heartbeat' }],
      [{ message: 'away' }, { during: 'heartbeat' }],
    ])
    expect(aborted).toEqual([])
    await clock.advance(heartbeatMs)
    await beat()
    expect(aborted).toEqual([['r1', leaseEnded]])
  })

  it('S59: a renewal that fails is made again before the next heartbeat, as long as the lease holds', async () => {
    let awayUntil = 103_500
    const { clock, runs, aborted, faults, asked, beat } = world(['r1'], (leases) =>
      clock.now() < awayUntil ? Promise.reject(new SessionError('store-unavailable', 'away')) : held(leases),
    )
    await clock.advance(heartbeatMs)
    await beat()
    await clock.advance(heartbeatMs - 1)
    expect(runs.get('r1')).toMatchObject({ heldUntil: 103_775 + leaseMs, unheardBeats: 0 })
    expect([asked.length, faults, aborted]).toEqual([8, [], []])
    awayUntil = Infinity
    await clock.advance(112_000 - clock.now())
    await beat()
    expect(aborted).toEqual([])
    await clock.advance(103_775 + leaseMs - 1 - clock.now())
    expect([aborted, faults.length]).toEqual([[['r1', leaseEnded]], 1])
  })

  it('S59: a store that hangs gets one request, and the beats count the time, also if the clock does not move', async () => {
    const { aborted, asked, beat } = world(['r1'], () => new Promise(() => undefined))
    await beat()
    await beat()
    expect([asked.length, aborted]).toEqual([1, []])
    await beat()
    expect([asked.length, aborted]).toEqual([1, [['r1', leaseEnded]]])
  })

  it('S59: if the clock is set forward, the lease ends by the clock', async () => {
    const { clock, aborted, beat } = world(['r1'], () => new Promise(() => undefined))
    await beat()
    await clock.advance(6999)
    await beat()
    expect(aborted).toEqual([])
    const late = world(['r1'], () => new Promise(() => undefined))
    await late.beat()
    await late.clock.advance(7000)
    await late.beat()
    expect(late.aborted).toEqual([['r1', leaseEnded]])
  })

  it('S59: after an answer the next renewal is sent', async () => {
    const { asked, beat } = world(['r1'], held)
    await beat()
    await beat()
    expect(asked).toHaveLength(2)
  })
})
