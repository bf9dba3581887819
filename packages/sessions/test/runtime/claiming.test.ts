import { manualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { SessionError } from '../../src/errors.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { smallWindow } from '../commands/tree/talk.ts'
import { gate, setup, type SetupOptions } from '../support.ts'
import { answers, worker } from './worker.ts'

describe('S8, S57: how a runtime claims runs', () => {
  it('S8, S57: claims by default up to 32 runs of its agents, under its name, for ten seconds; renews every three seconds', async () => {
    const { runtime, clock, claims, renewals, send } = await worker()
    await runtime.start()
    expect(claims).toEqual([{ owner: runtime.id, max: 32, leaseMs: 10_000, agents: ['assistant'], holds: [] }])
    const { runId } = await send(1)
    await clock.advance(1_000)
    expect(claims.at(-1)).toEqual({ owner: runtime.id, max: 31, leaseMs: 10_000, agents: ['assistant'], holds: [runId] })
    await clock.advance(5_000)
    expect(renewals).toEqual([4_000, 7_000].map((at) => ({ leases: [{ runId, epoch: 1 }], leaseMs: 10_000, at })))
    await runtime.stop()
  })

  it('S8, S57: claims as many runs, for as long and as often as its options say', async () => {
    const { runtime, clock, claims, renewals, send, statuses } = await worker({
      concurrency: 2,
      lease: { ttlMs: 4_000, heartbeatMs: 1_000 },
    })
    await runtime.start()
    const runs = [await send(1), await send(2), await send(3)]
    expect(await statuses(runs)).toEqual(['running', 'running', 'queued'])
    expect([...new Set(claims.map(({ max, leaseMs }) => `${max} for ${leaseMs} ms`))]).toEqual(['2 for 4000 ms', '1 for 4000 ms'])
    const before = claims.length
    await clock.advance(3_000)
    expect(claims).toHaveLength(before)
    expect(renewals.map(({ leases, leaseMs, at }) => [leases.length, leaseMs, at])).toEqual([
      [2, 4_000, 2_000],
      [2, 4_000, 3_000],
      [2, 4_000, 4_000],
    ])
    await runtime.stop()
  })

  it('S64: when a run ends the next one begins at once', async () => {
    const first = gate()
    const steps: SetupOptions['steps'] = async (_call, index) => (index === 0 && (await first.passed), { text: `answer ${index}` })
    const { runtime, send, statuses } = await worker({ concurrency: 1, steps })
    await runtime.start()
    const runs = [await send(1), await send(2)]
    expect(await statuses(runs)).toEqual(['running', 'queued'])
    first.open()
    expect((await Promise.all(runs.map((run) => run.result()))).map(({ text }) => text)).toEqual(['answer 0', 'answer 1'])
    await runtime.stop()
  })

  it('S64: looks every second for work without a hint', async () => {
    const { runtime, clock, memory, claims, left } = await worker({ deaf: true })
    await runtime.start()
    await left(1)
    await clock.advance(999)
    expect(claims).toHaveLength(1)
    await clock.advance(1)
    expect(await memory.readRun('left-1')).toMatchObject({ value: { status: 'running' } })
    const before = claims.length
    await clock.advance(3_000)
    expect(claims.length - before).toBe(3)
    await runtime.stop()
  })

  it('S66: claims nothing by itself without timers', async () => {
    const { runtime, clock, claims, send, left } = await worker({ timers: false })
    await left(1)
    expect(await runtime.start()).toEqual({ recovered: 0, runs: [] })
    await send(2)
    await clock.advance(60_000)
    expect([claims, clock.pendingTimers]).toEqual([[], 0])
    await runtime.stop()
  })

  it('S9, S65: claims nothing before it is started', async () => {
    const { runtime, memory, claims, left, send } = await worker({ autoStart: false })
    await left(1)
    await send(2)
    expect([await runtime.resume('left-1'), claims]).toEqual([null, []])
    expect(await memory.readRun('left-1')).toMatchObject({ value: { status: 'queued' } })
  })

  it('S60: returns at its start how many runs of dead owners it has taken over', async () => {
    const { runtime, memory, left } = await worker()
    for (const room of [1, 2]) await left(room)
    await memory.claim({ owner: 'dead', max: 2, leaseMs: 0, agents: ['assistant'], holds: [] })
    await left(3)
    expect(await runtime.start()).toMatchObject({
      recovered: 2,
      runs: [
        { runId: 'left-1', status: 'running' },
        { runId: 'left-2', status: 'running' },
      ],
    })
    for (const id of ['left-1', 'left-2', 'left-3'])
      expect(await memory.readRun(id)).toMatchObject({ value: { status: 'running', owner: runtime.id } })
    await runtime.stop()
  })

  it('S60: waits at its start for a run that was taken over and stores nothing, but no longer than a lease', async () => {
    const held = gate()
    const { runtime, clock, memory, left } = await worker({ aroundRun: (_run, execute) => held.passed.then(execute) })
    await left(1)
    await memory.claim({ owner: 'dead', max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })
    let report: unknown
    void runtime.start().then((started) => (report = started))
    await clock.advance(9_999)
    expect(report).toBeUndefined()
    await clock.advance(1)
    expect(report).toMatchObject({ recovered: 1, runs: [{ runId: 'left-1', status: 'running' }] })
    held.open()
    await runtime.stop()
  })

  it('S12: reports a failed claim, and repeats it a second later', async () => {
    const { runtime, clock, faults, answered, send, statuses } = await worker({ concurrency: 1 })
    await runtime.start()
    answered.claim = () => Promise.reject(new Error('away'))
    await send(1)
    expect(faults[0]).toMatchObject([{ message: 'away' }, { during: 'claim' }])
    delete answered.claim
    const told = faults.length
    const second = await send(2)
    expect(await statuses([second])).toEqual(['running'])
    await clock.advance(2_000)
    expect(faults).toHaveLength(told)
    await runtime.stop({ graceMs: 0 })
  })

  it('S64: claims work that arrives during a claim after that claim, once', async () => {
    const { runtime, claims, answered, clock, send, statuses } = await worker()
    await runtime.start()
    const hold = gate()
    answered.claim = () => hold.passed
    const runs = [await send(1), await send(2), await send(3)]
    expect(claims).toHaveLength(2)
    hold.open()
    await clock.advance(0)
    expect([claims.length, await statuses(runs)]).toEqual([3, ['running', 'running', 'running']])
    await runtime.stop()
  })

  it('S65, S66: a resumed run uses one of the slots', async () => {
    const first = gate()
    const { runtime, claims, left, clock } = await worker({
      timers: false,
      concurrency: 1,
      steps: async () => (await first.passed, { text: 'done' }),
    })
    for (const room of [1, 2]) await left(room)
    await runtime.start()
    expect((await runtime.resume('left-1'))?.runId).toBe('left-1')
    expect(claims).toMatchObject([{ max: 1, runId: 'left-1', holds: [] }])
    const draining = runtime.drain()
    await clock.advance(0)
    expect(claims).toHaveLength(1)
    first.open()
    expect(await draining).toMatchObject({ ran: 2, left: 0 })
    await runtime.stop()
  })
})

describe('S58: heartbeats of a runtime', () => {
  it('S58: beat as long as the runtime executes runs, and no longer', async () => {
    const done = [gate(), gate(), gate()]
    const { runtime, clock, beats, renewals, send } = await worker({
      steps: async (_call, index) => (await done[index]?.passed, { text: 'done' }),
    })
    await runtime.start()
    await clock.advance(9_000)
    expect(beats()).toBe(0)
    const runs = [await send(1), await send(2)]
    await clock.advance(3_000)
    expect([beats(), renewals.map(({ leases }) => leases.length)]).toEqual([2, [2]])
    done[0]?.open()
    await runs[0]?.result()
    await clock.advance(3_000)
    expect([beats(), renewals.map(({ leases }) => leases.length)]).toEqual([3, [2, 1]])
    done[1]?.open()
    await runs[1]?.result()
    await clock.advance(9_000)
    expect([beats(), renewals.length]).toEqual([3, 2])
    done[2]?.open()
    await (await send(3)).result()
    expect(beats()).toBe(4)
    await runtime.stop()
  })

  it.each(['once', 'anew'])(
    'S40, S58: started %s, writes of a run that the store refuses are retried after one heartbeat, then two, four and eight, and then left',
    async (how) => {
      const done = gate()
      const { runtime, clock, memory, renewals, answered, send } = await worker({
        steps: async () => (await done.passed, { text: 'done' }),
      })
      await runtime.start()
      if (how === 'anew') {
        await runtime.stop()
        await runtime.start()
      }
      const { runId } = await send(1)
      const tries: number[] = []
      answered.commit = () => {
        tries.push(clock.now())
        return Promise.reject(new Error('away'))
      }
      done.open()
      while (tries.length === 0) await clock.advance(0)
      await clock.advance(60_000)
      expect([...new Set(tries)]).toEqual([1_000, 4_000, 10_000, 22_000, 46_000])
      expect(renewals.at(-1)).toMatchObject({ leases: [{ runId }], at: 46_000 })
      expect(await memory.readRun(runId)).toMatchObject({ status: 'found' })
      delete answered.commit
      await runtime.stop()
    },
  )

  it('S59: a lease counts from the time of the request', async () => {
    const { runtime, clock, answered, send, statuses, model } = await worker()
    await runtime.start()
    const hold = gate()
    answered.claim = () => hold.passed
    answered.renew = () => Promise.reject(new Error('away'))
    const run = await send(1)
    await clock.advance(5_000)
    hold.open()
    await clock.advance(0)
    expect(model.calls).toHaveLength(1)
    const signal = model.calls[0]?.abortSignal
    await clock.advance(2_999)
    expect(signal?.aborted).toBe(false)
    await clock.advance(1)
    expect([signal?.aborted, await statuses([run])]).toEqual([true, ['running']])
    delete answered.renew
    await runtime.stop({ graceMs: 0 })
  })
})

describe('S66: a drain at its deadline', () => {
  it('S66: gives back the runs of a claim that is under way', async () => {
    const { runtime, clock, answered, send, statuses } = await worker()
    await runtime.start()
    const hold = gate()
    answered.claim = () => hold.passed
    const run = await send(1)
    expect(await statuses([run])).toEqual(['running'])
    const draining = runtime.drain({ untilMs: clock.now() })
    await clock.advance(0)
    hold.open()
    expect(await draining).toMatchObject({ ran: 0, yielded: 1 })
    await runtime.stop()
  })

  it('S66: waits until the follow-up work of the ended runs is stored', async () => {
    const [done, hold] = [gate(), gate()]
    const { runtime, clock, answered, send } = await worker({
      steps: async () => (await done.passed, { text: 'done' }),
      ttl: { idleMs: 86_400_000 },
    })
    await runtime.start()
    const run = await send(1)
    answered.due = async () => (await run.status()) === 'completed' && hold.passed
    done.open()
    await run.result()
    let drained = false
    const draining = runtime.drain({ untilMs: clock.now() }).then(() => (drained = true))
    await clock.advance(1_000)
    expect(drained).toBe(false)
    hold.open()
    await draining
    await runtime.stop()
  })

  it('S66, S64: holds back work that arrives in the meantime, and afterwards the runtime claims again', async () => {
    const { runtime, clock, send, statuses } = await worker()
    await runtime.start()
    const first = await send(1)
    const draining = runtime.drain({ untilMs: clock.now() })
    expect(await draining).toMatchObject({ yielded: 1 })
    await clock.advance(1_000)
    expect(await statuses([first, await send(2)])).toEqual(['running', 'running'])
    await runtime.stop()
  })
})

it('S48, S116: a write of another process to a session that is not executed here reaches its readers at once', async () => {
  const { runtime, clock, memory, send } = await worker()
  await runtime.start()
  const session = runtime.session('room:2')
  await session.open()
  await send(1)
  const reading = session.events()[Symbol.asyncIterator]()
  expect((await reading.next()).value).toMatchObject({ type: 'session-start' })
  const next = reading.next()
  await clock.advance(0)
  await memory.commit({
    id: 'elsewhere',
    key: 'room:2',
    expect: [],
    writes: [{ op: 'event.append', events: [{ event: { type: 'session-end', at: 1, sessionKey: 'room:2', reason: 'expired' } }] }],
  })
  expect((await next).value).toMatchObject({ type: 'session-end', seq: 2 })
  await reading.return?.()
  await runtime.stop()
})

describe('S64: work that comes at the end of a run', () => {
  it('S64: an input that is accepted after the last commit, and before its answer, is claimed at once', async () => {
    const [done, asked, hold] = [gate(), gate(), gate()]
    const { runtime, clock, memory, answered, send, statuses } = await worker({
      deaf: true,
      steps: async (_call, index) => (index === 0 && (await done.passed), { text: 'done' }),
    })
    await runtime.start()
    const first = await send(1)
    answered.commit = () => (asked.open(), hold.passed)
    done.open()
    await asked.passed
    delete answered.commit
    expect(await memory.readRun(first.runId)).toMatchObject({ value: { status: 'completed' } })
    const second = await send(1)
    hold.open()
    await clock.advance(0)
    await second.result()
    expect(await statuses([first, second])).toEqual(['completed', 'completed'])
    await runtime.stop()
  })

  it('S64, S186: claims only the sessions of its hints, and all sessions if more may wait or a second is over', async () => {
    const held = gate()
    const { runtime, clock, claims, send } = await worker({
      concurrency: 2,
      steps: async (_call, index) => (index < 2 && (await held.passed), { text: 'done' }),
    })
    const asked = () =>
      claims.splice(0).map(({ max, keys = [], others = keys.length === 0 }) => `${max} of ${[...keys, ...(others ? ['all'] : [])].join()}`)
    await runtime.start()
    const runs = [await send(1)]
    expect(asked()).toEqual(['2 of all', '2 of room:1'])
    await clock.advance(1_000)
    expect(asked()).toEqual(['1 of all'])
    runs.push(await send(2), await send(3))
    held.open()
    await Promise.all(runs.map((run) => run.result()))
    await clock.advance(0)
    const [full, behind, ...later] = asked()
    // There was no room for the third one.
    expect([full, behind]).toEqual(['1 of room:2', '1 of room:3,all'])
    await (await send(4)).result()
    expect([...later, ...asked()].at(-1)).toBe('2 of room:4')
    await runtime.stop()
  })

  it('S64, S12: after a claim with a lost answer the next claim covers all sessions, whichever is named', async () => {
    const { runtime, clock, memory, answered, send, statuses, left } = await worker({ deaf: true, steps: answers })
    await runtime.start()
    answered.claim = () => {
      delete answered.claim
      throw new SessionError('store-unavailable', 'away')
    }
    await left(2)
    const runs = [await send(3), await send(1)]
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
    // The first run was claimed, and is claimed again.
    expect(await statuses(runs)).toEqual(['completed', 'completed'])
    expect(await memory.readRun('left-2')).toMatchObject({ value: { status: 'completed' } })
    await runtime.stop()
  })

  it('S64, S186: after a run of a tenant at its limit, the next run of the tenant is claimed at once', async () => {
    const clock = manualClock()
    const { runtime } = setup({
      steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }],
      store: memoryStore(),
      clock,
      maxRunsPerTenant: 1,
    })
    await runtime.start()
    const runs = await Promise.all([1, 2, 3].map((room) => runtime.session(`tenant:busy:${room}`).send('go')))
    for (let turn = 0; turn < 50; turn++) await clock.advance(0)
    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(['completed', 'completed', 'completed'])
    await runtime.stop()
  })

  it('S64, S19: a compaction that follows the end of a run is claimed at once by a process that gets no hints', async () => {
    const { options } = smallWindow([{ text: 'long', usage: { input: 9_100, output: 1 } }, { text: 'SUMMARY' }])
    const { runtime, clock, memory } = await worker({ deaf: true, ...options })
    await runtime.start()
    const run = await runtime.session('room:1').send('go')
    await clock.advance(0)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
    expect((await memory.listRuns('room:1')).items.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'user completed',
      'compaction completed',
    ])
    await runtime.stop()
  })

  it.each(['one', 'many'] as const)(
    'S171: after a run that settles its session a store of %s processes gets no further claim, because no work was left for lack of slots',
    async (processes) => {
      let asked = 0
      const memory = memoryStore()
      const store: SessionStore = new Proxy(memory, {
        get: (target, name) => (name === 'capabilities' ? { ...target.capabilities, processes } : (Reflect.get(target, name) as unknown)),
      })
      const counted = aroundStore(store, (operation, _args, go) => {
        if (operation === 'claim') asked += 1
        return go()
      })
      const clock = manualClock()
      const { runtime } = setup({ steps: [{ text: 'one' }], store: counted, clock })
      await runtime.start()
      asked = 0
      await (await runtime.session('room:1').send('go')).result()
      await clock.advance(0)
      expect(asked).toBe(1)
      await runtime.stop()
    },
  )
})
