import { defineAgent, defineExtension, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, gate, logOf, setup, types, type SetupOptions } from '../support.ts'
import { recordingStore } from '../recording-store.ts'

const dayMs = 86_400_000
const schema = { description: 'A tool.', inputSchema: z.object({}) }
const tools = [
  defineTool({ ...schema, name: 'place', timeoutMs: 60_000 }),
  defineTool({ ...schema, name: 'untimed' }),
  defineTool({ ...schema, name: 'send', needsApproval: true, approvalTimeoutMs: 60_000, execute: () => 'sent' }),
]
const call = (name: string): Step => ({ toolCalls: [{ id: `c-${name}`, name, input: {} }] })

async function started(options: SetupOptions) {
  const clock = manualClock()
  const store = memoryStore()
  const made = setup({ clock, store, tools, ...options })
  await made.runtime.start()
  return { clock, store, ...made, session: made.runtime.session('room:1') }
}

/** Returns the status of each outcome, so that repeated ones show. */
async function outcomes(session: Parameters<typeof logOf>[0]): Promise<readonly unknown[]> {
  return (await checkLog(session)).flatMap((event) => (event.type === 'tool-execution-end' ? [event.message.status] : []))
}

describe('deadlines', () => {
  const kinds = [
    { tool: 'send', waits: 'awaiting-approval', becomes: 'denied' },
    { tool: 'place', waits: 'awaiting-tools', becomes: 'error' },
  ] as const

  it.each(kinds)(
    'S95, S160: of $tool: at its time, not before, the call is $becomes, once, and the turn goes on',
    async ({ tool, waits, becomes }) => {
      const { runtime, session, clock, faults } = await started({ steps: [call(tool), { text: 'without it' }] })
      const run = await session.send('go')
      await run.result()
      await clock.advance(59_999)
      expect((await runtime.run(run.runId))?.outcome).toBe(waits)
      await clock.advance(1)
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'without it' })
      await clock.advance(600_000)
      expect(await outcomes(session)).toEqual([becomes])
      expect(faults).toEqual([])
      await runtime.stop()
    },
  )

  it.each(kinds)('S95, S160: of $tool: also if no process was running at its time', async ({ tool, becomes }) => {
    const first = await started({ steps: [call(tool)] })
    const { clock, store } = first
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const run = await first.session.send('go')
    await run.result()
    await first.runtime.stop()
    await clock.advance(dayMs)
    const second = await started({ steps: [{ text: 'without it' }], clock, store })
    await collect(second.session.events({ runId: run.runId }))
    expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'completed' })
    expect(await outcomes(second.session)).toEqual([becomes])
    await second.runtime.stop()
  })

  describe.each(kinds)('S95, S160: of $tool: before the run is at rest', ({ tool, becomes }) => {
    const hold = () => {
      const [reached, go] = [gate(), gate()]
      let ends = 0
      const onAgentEnd = async (): Promise<void> => {
        ends += 1
        reached.open()
        if (ends === 1) await go.passed
      }
      return { reached, go, extensions: [defineExtension({ name: 'slow', timeoutMs: dayMs, hooks: { onAgentEnd } })] }
    }

    it.each(['its own time', 'a sweep'])('counts as soon as the run waits (%s)', async (what) => {
      const { reached, go, extensions } = hold()
      const timers = what === 'its own time'
      const { runtime, session, clock } = await started({ steps: [call(tool), { text: 'without it' }], agent: { extensions }, timers })
      const run = await session.send('go')
      const drained = timers ? undefined : runtime.drain()
      await reached.passed
      await clock.advance(60_000)
      if (!timers) await runtime.sweep()
      go.open()
      await drained
      await clock.advance(0)
      if (!timers) await runtime.drain()
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'without it' })
      expect(await outcomes(session)).toEqual([becomes])
      await runtime.stop()
    })

    it('counts after a restart', async () => {
      const { reached, extensions } = hold()
      const first = await started({ steps: [call(tool)], agent: { extensions } })
      const { clock, store } = first
      await store.open({ namespace: 'default', clock, owner: 'keeper' })
      const run = await first.session.send('go')
      await reached.passed
      await clock.advance(59_000)
      await first.runtime.stop({ graceMs: 0 })
      await clock.advance(dayMs)
      const second = await started({ steps: [{ text: 'without it' }], clock, store })
      await clock.advance(0)
      await collect(second.session.events({ runId: run.runId }))
      expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'completed' })
      expect(await outcomes(second.session)).toEqual([becomes])
      await second.runtime.stop()
    })

    it('counts for a subagent, and its parent goes on', async () => {
      const { reached, go, extensions } = hold()
      const model = scriptedModel([call(tool), { text: 'without it' }])
      const helper = defineAgent({ name: 'helper', description: 'Helps.', model, tools, extensions })
      const asks: Step = { toolCalls: [{ id: 'c', name: 'delegate_to_helper', input: { prompt: 'go' } }] }
      const { runtime, session, clock } = await started({ steps: [asks, { text: 'done' }], agent: { subagents: [helper] } })
      const run = await session.send('go')
      await reached.passed
      await clock.advance(60_000)
      go.open()
      for (let ms = 0; ms < 10; ms++) await clock.advance(1)
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
      await runtime.stop()
    })
  })

  it('S95: an expired deadline does not drop another deadline of the run', async () => {
    const { runtime, session, clock, store } = await started({ steps: [call('send'), call('place'), { text: 'done' }] })
    const run = await session.send('go')
    await run.result()
    const { timers } = (await clock.advance(60_000), await store.due(10))
    expect(timers).toEqual([])
    expect(await run.status()).toBe('waiting-for-user')
    await clock.advance(60_000)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it.each(kinds)('S95, S160: of $tool: once among several processes', async ({ tool, becomes }) => {
    const clock = manualClock()
    const memory = memoryStore()
    const store = recordingStore(memory)
    const first = await started({ steps: [call(tool), { text: 'without it' }], clock, store })
    const others = await Promise.all([1, 2].map(() => started({ steps: [{ text: 'without it' }], clock, store: recordingStore(memory) })))
    const run = await first.session.send('go')
    await clock.advance(1_000)
    expect(await run.status()).not.toBe('running')
    await clock.advance(120_000)
    expect(await run.status()).toBe('completed')
    expect(await outcomes(first.session)).toEqual([becomes])
    expect(types(await logOf(first.session)).filter((type) => type === 'turn-start')).toHaveLength(2)
    for (const { runtime } of [first, ...others]) await runtime.stop()
  })

  it('S92, S95: a decision in time counts, and no timer is left to wake the run', async () => {
    const { runtime, session, clock, store } = await started({ steps: [call('send'), call('untimed'), { text: 'done' }] })
    const run = await session.send('go')
    const { pendingApprovals } = await run.result()
    const { cursor } = (await session.info()) ?? { cursor: '' }
    await session.approve(pendingApprovals[0]?.approvalId ?? '')
    await collect(run.events({ cursor }))
    expect(await run.status()).toBe('waiting-for-user')
    expect((await store.due(10)).nextAt).toBeNull()
    await clock.advance(600_000)
    expect(types(await checkLog(session)).filter((type) => type === 'turn-start')).toHaveLength(2)
    expect(await run.status()).toBe('waiting-for-user')
    await runtime.stop()
  })

  it('S95: of two calls each expires at its own time', async () => {
    const late = defineTool({ ...schema, name: 'late', timeoutMs: 90_000 })
    const both: Step = { toolCalls: ['place', 'late'].map((name) => ({ id: `c-${name}`, name, input: {} })) }
    const { runtime, session, clock } = await started({ steps: [both, { text: 'without them' }], tools: [...tools, late] })
    const run = await session.send('go')
    await run.result()
    await clock.advance(60_000)
    expect((await session.info())?.openRun?.pendingToolCalls).toMatchObject([{ toolCallId: 'c-late' }])
    await clock.advance(29_999)
    expect(await run.status()).toBe('waiting-for-user')
    await clock.advance(1)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it.each(['kill', 'stop'] as const)('S95, S104: after a %s nothing is due', async (how) => {
    const { runtime, session, store } = await started({ steps: [call('send')] })
    await (await session.send('go')).result()
    await session[how]()
    expect((await store.due(10)).nextAt).toBeNull()
    await runtime.stop()
  })
})

describe('the lifetime of a session', () => {
  it('S161, S163: ends to the millisecond: its open runs are cancelled, input is refused, everything stays readable', async () => {
    const { runtime, clock } = await started({ steps: [call('untimed')] })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 50_000 } })
    const run = await session.send('go')
    const queued = await session.send('and then')
    await run.result()
    await clock.advance(49_999)
    expect(await session.info()).toMatchObject({ status: 'waiting-for-user' })
    await clock.advance(1)
    await expect(session.send('more')).rejects.toMatchObject({ code: 'session-expired' })
    await expect(session.steer('more')).rejects.toMatchObject({ code: 'session-expired' })
    expect(await session.info()).toMatchObject({ expiredAt: 50_000 })
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(await queued.status()).toBe('stopped')
    const { items } = await session.messages()
    expect(items.map((message) => message.role)).toEqual(['user', 'assistant', 'tool-result'])
    expect((await logOf(session)).at(-1)).toMatchObject({ type: 'session-end', reason: 'expired' })
    await runtime.stop()
  })

  it('S161: a late answer of a run neither counts nor restores the session', async () => {
    const answer = gate()
    const called = gate()
    const { runtime, clock, faults } = await started({
      steps: async () => {
        called.open()
        await answer.passed
        return { text: 'too late' }
      },
    })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 5_000 } })
    const run = await session.send('go')
    await called.passed
    await clock.advance(5_000)
    answer.open()
    await clock.advance(10)
    expect(await run.result()).toMatchObject({ status: 'aborted', text: '' })
    expect(await session.info()).toMatchObject({ expiredAt: expect.any(Number) as number })
    expect(types(await logOf(session)).filter((type) => type === 'session-end')).toHaveLength(1)
    await runtime.stop()
    expect(faults).toEqual([])
  })

  it('S161: readers end with session-end', async () => {
    const { runtime, clock } = await started({ steps: [] })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 5_000 } })
    await session.open()
    const reading = collect(session.events())
    await clock.advance(5_000)
    expect(types(await reading)).toEqual(['session-start', 'session-end'])
    // A later reader gets the same.
    expect(types(await collect(session.events()))).toEqual(['session-start', 'session-end'])
    await runtime.stop()
  })

  it('S160, S161: ends once among several processes', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const all = await Promise.all([1, 2, 3].map(() => started({ steps: [], clock, store, concurrency: 0 })))
    const [first] = all
    const session = first?.runtime.session('room:1', { ttl: { maxAgeMs: 30_000 } })
    await session?.open()
    await clock.advance(60_000)
    expect((await store.readEvents('room:1', 0, 10)).events.map(({ type }) => type)).toEqual(['session-start', 'session-end'])
    expect(all.map(({ faults }) => faults)).toEqual([[], [], []])
    for (const { runtime } of all) await runtime.stop()
  })

  it('S162: input and commits extend it, reading does not', async () => {
    const { runtime, clock } = await started({ steps: [{ text: 'one' }] })
    const session = runtime.session('room:1', { ttl: { idleMs: 10_000 } })
    await session.open()
    await clock.advance(6_000)
    await (await session.send('go')).result()
    await clock.advance(9_000)
    expect(await session.info()).toMatchObject({ status: 'completed', expiresAt: 16_000 })
    await session.messages()
    await session.usage()
    await session.runs()
    await session.open()
    await logOf(session)
    await session.stop()
    await clock.advance(999)
    expect(await session.info()).toMatchObject({ status: 'completed', expiresAt: 16_000 })
    await clock.advance(1)
    expect(await session.info()).toMatchObject({ expiredAt: expect.any(Number) as number })
    await runtime.stop()
  })

  it('S160: two sessions that end one after the other each end at their own time', async () => {
    const { runtime, clock, store } = await started({ steps: [] })
    for (const [room, maxAgeMs] of [
      ['room:1', 5_000],
      ['room:2', 6_000],
    ] as const)
      await runtime.session(room, { ttl: { maxAgeMs } }).open()
    await clock.advance(6_000)
    const last = async (key: string) => (await store.readEvents(key, 1, 1)).events[0]
    expect([await last('room:1'), await last('room:2')]).toMatchObject([
      { type: 'session-end', at: 5_000 },
      { type: 'session-end', at: 6_000 },
    ])
    await runtime.stop()
  })

  it.each([0, -1, Number.NaN, Infinity])('S163: a lifetime of %s is refused, for all sessions and for one', async (ms) => {
    for (const ttl of [{ maxAgeMs: ms }, { idleMs: ms }]) {
      expect(() => setup({ steps: [], ttl })).toThrow(expect.objectContaining({ code: 'invalid-config' }) as Error)
      const { runtime } = setup({ steps: [] })
      expect(() => runtime.session('room:1', { ttl })).toThrow(expect.objectContaining({ code: 'invalid-config' }) as Error)
    }
  })

  it('S163: only the value never turns it off, also against the default of the runtime', async () => {
    const { runtime, clock } = await started({ steps: [], ttl: { maxAgeMs: 1_000 } })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 'never', idleMs: 'never' } })
    await session.open()
    await runtime.session('room:2').open()
    await clock.advance(1_000)
    expect(await session.info()).not.toHaveProperty('expiresAt')
    expect(await runtime.session('room:2').info()).toMatchObject({ expiredAt: expect.any(Number) as number })
    await runtime.stop()
  })

  it('S161: an expired session is deleted when its retention is over', async () => {
    const { runtime, clock } = await started({ steps: [], timers: false })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 1_000 } })
    await session.open()
    await clock.advance(7 * dayMs)
    await runtime.sweep()
    expect(await session.info()).toMatchObject({ expiredAt: expect.any(Number) as number })
    await clock.advance(2 * 3_600_000)
    expect(await runtime.sweep()).toMatchObject({ pruned: { sessions: 1 } })
    await expect(session.info()).rejects.toMatchObject({ code: 'session-deleted' })
    await runtime.stop()
  })
})

describe('retention', () => {
  it('S164, S125: deletes old runs and their events, but neither messages nor usage; waiting runs stay whole', async () => {
    const { runtime, session, clock } = await started({ steps: [{ text: 'one' }, call('untimed'), { text: 'two' }], timers: false })
    const first = await session.send('go')
    await runtime.drain()
    const other = runtime.session('room:2')
    const waiting = await other.send('go')
    await runtime.drain()
    const before = [await session.messages(), await session.usage()]
    await clock.advance(31 * dayMs)
    expect(await runtime.sweep()).toMatchObject({ pruned: { runs: 1, sessions: 0, more: false } })
    expect(await waiting.status()).toBe('waiting-for-user')
    expect(await runtime.run(first.runId)).toBeNull()
    await expect(first.result()).rejects.toMatchObject({ code: 'unknown-run' })
    expect([await session.messages(), await session.usage()]).toEqual(before)
    await expect(collect(session.events('1'))).rejects.toMatchObject({ code: 'cursor-expired' })
    const { run } = await other.submitToolResults([{ toolCallId: 'c-untimed', output: 'x' }])
    await runtime.drain()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'two' })
    await checkLog(other)
    await runtime.stop()
  })

  it('S164: works in small steps, and runs once an hour', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    const limits: number[] = []
    const store: SessionStore = new Proxy(memory, {
      get(target, name) {
        if (name !== 'prune') return Reflect.get(target, name) as unknown
        return async (...[rules, limit]: Parameters<SessionStore['prune']>) => {
          limits.push(limit)
          return target.prune(rules, limit)
        }
      },
    })
    const { runtime } = await started({ steps: () => ({ text: 'hello' }), clock, store, timers: false, retention: { runsMs: 1_000 } })
    for (let room = 1; room <= 250; room++) await runtime.session(`room:${room}`).send('hi')
    await runtime.drain()
    const pruned: number[] = []
    for (const ms of [3_599_999, 1]) {
      await clock.advance(ms)
      pruned.push((await runtime.sweep()).pruned.runs)
    }
    expect(pruned).toEqual([0, 250])
    expect(limits).toEqual([100, 100, 100, 100])
    await runtime.stop()
  })
})
