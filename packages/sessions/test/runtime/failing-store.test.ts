import { defineTool } from '@bowline/agent-loop'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import type { Lease, RunHandle } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { checkLog, gate, setup } from '../support.ts'
import { smallWindow, talk } from '../commands/tree/talk.ts'

const call = { toolCalls: [{ id: 'c1', name: 'slow', input: {} }] }

describe('a store that fails for a while', () => {
  it('S61, S12: a run whose end was refused by the store ends when the store is back, and the queue goes on', async () => {
    const clock = manualClock()
    const faulted = gate()
    let broken = true
    const store = faultyStore(memoryStore(), [
      { of: 'commit', when: (batch) => broken && eventTypes(batch).includes('turn-end'), fault: { error: new Error('disk on fire') } },
    ])
    const { runtime, model } = setup({
      steps: [{ text: 'lost' }, { text: 'next' }],
      store,
      clock,
      onError: () => faulted.open(),
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const first = await session.send('a')
    const second = await session.send('b')
    await faulted.passed
    expect(await first.status()).toBe('running')
    broken = false
    await clock.advance(3_000)
    expect(await first.result()).toMatchObject({ status: 'error', reason: 'journal-error' })
    expect(await second.result()).toMatchObject({ status: 'completed', text: 'next' })
    expect(model.calls).toHaveLength(2)
    await checkLog(session)
    await runtime.stop()
  })

  it.each([
    { of: 'any', losses: 1, why: 'its lease ended' },
    { of: 'readInbox', losses: 0, why: 'its lease was renewed' },
  ] as const)(
    'S61: a run whose store is unreachable for a minute ($of) goes on afterwards; $why, which counts $losses losses',
    async ({ of, losses }) => {
      const clock = manualClock()
      const faulted = gate()
      let isAway = false
      const slow = defineTool({
        name: 'slow',
        description: 'Ends when the store is gone, the first time.',
        inputSchema: z.object({}),
        effect: 'pure',
        execute: (_input, { attempt }) => {
          isAway = attempt === 1
          return 'done'
        },
      })
      const store = faultyStore(memoryStore(), [{ of, when: () => isAway, fault: 'unavailable' }])
      const { runtime } = setup({ steps: [call, { text: 'all done' }], tools: [slow], store, clock, onError: () => faulted.open() })
      await runtime.start()
      const session = runtime.session('room:1')
      const run = await session.send('a')
      await faulted.passed
      await clock.advance(60_000)
      isAway = false
      await clock.advance(1_000)
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'all done' })
      expect(await store.readRun(run.runId)).toMatchObject({ value: { totalAttempts: losses } })
      await checkLog(session)
      await runtime.stop()
    },
  )

  it('S62, S203: an end that the store never accepts is retried after 1, 2, 4 and 8 heartbeats, and then the run counts as lost', async () => {
    const clock = manualClock()
    const triedAt: number[] = []
    let broken = true
    const store = faultyStore(memoryStore(), [
      {
        of: 'commit',
        when: (batch) => broken && eventTypes(batch).includes('turn-end') && triedAt.push(clock.now()) > 0,
        fault: { error: new Error('disk on fire') },
      },
    ])
    const faulted = gate()
    const { runtime } = setup({ steps: () => ({ text: 'an answer' }), store, clock, onError: () => faulted.open() })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('a')
    await faulted.passed
    await clock.advance(45_000)
    // The loop retries first, then the runtime. The run that counts as lost is claimed again at once.
    expect(triedAt).toEqual([0, 0, 3_000, 9_000, 21_000, 45_000, 45_000, 45_000])
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'running', epoch: 2, totalAttempts: 1 } })
    await clock.advance(600_000)
    expect(triedAt.length).toBeLessThan(80)
    broken = false
    await clock.advance(60_000)
    expect(await run.status()).toMatch(/completed|failed/)
    await checkLog(session)
    await runtime.stop()
  })

  it('S61: a run that could not be read after its claim is not forgotten', async () => {
    const clock = manualClock()
    const faulted = gate()
    let broken = false
    const place = defineTool({ name: 'slow', description: 'Answered from outside.', inputSchema: z.object({}) })
    const unread = { when: () => broken, fault: { error: new Error('disk on fire') } } as const
    const store = faultyStore(memoryStore(), [
      { of: 'readPath', ...unread },
      { of: 'readRun', ...unread },
    ])
    const { runtime } = setup({ steps: [call, { text: 'next' }], tools: [place], store, clock, onError: () => faulted.open() })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('a')
    await run.result()
    broken = true
    const { id, version } = ((await store.readSession('room:1')) as { value: { id: string; version: number } }).value
    // The last answer, submitted by another process.
    const commit = await store.commit({
      id: 'batch-of-other',
      key: 'room:1',
      expect: [{ that: 'session', id, version }],
      writes: [{ op: 'run.patch', runId: run.runId, patch: { status: 'queued' } }],
    })
    expect(commit.ok).toBe(true)
    await clock.advance(3_000)
    await faulted.passed
    broken = false
    await clock.advance(6_000)
    expect(await run.result()).toMatchObject({ status: 'error', error: { code: 'journal-failed' } })
    expect(await (await session.send('b')).result()).toMatchObject({ status: 'completed' })
    await checkLog(session)
    await runtime.stop()
  })

  it.each([
    { how: 'fail', fault: { error: new Error('disk on fire') } },
    { how: 'are not answered', fault: { waitFor: () => new Promise<never>(() => undefined) } },
  ])('S59: if renewals $how, the owner yields the run before its lease can end', async ({ fault }) => {
    const clock = manualClock()
    const started = gate()
    let abortedAt: number | undefined
    let broken = true
    const slow = defineTool({
      name: 'slow',
      description: 'Waits for its signal, the first time.',
      inputSchema: z.object({}),
      effect: 'pure',
      execute: (_input, { abortSignal, attempt }) =>
        new Promise<string>((resolve) => {
          if (attempt > 1) return resolve('done')
          abortSignal.addEventListener('abort', () => (abortedAt = clock.now()))
          started.open()
        }),
    })
    const store = faultyStore(memoryStore(), [{ of: 'renew', when: () => broken, fault }])
    const { runtime } = setup({ steps: [call, { text: 'all done' }], tools: [slow], store, clock })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('a')
    await started.passed
    await clock.advance(6_000)
    expect(abortedAt).toBeUndefined()
    await clock.advance(3_999)
    expect(abortedAt).toBeLessThan(10_000)
    broken = false
    // The poll after that claims it again.
    await clock.advance(1_001)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all done' })
    expect(await store.readRun(run.runId)).toMatchObject({ value: { epoch: 2, attempts: 0, totalAttempts: 1 } })
    expect((await checkLog(session)).find((event) => event.type === 'turn-start' && event.resumed)).toMatchObject({ cause: 'takeover' })
    await runtime.stop()
  })
})

describe('a store whose renewals fail for good', () => {
  const placeOf = placesOfStores()
  const refused = { answer: (leases: readonly Lease[]) => leases.map(({ runId }) => ({ runId, held: false })) }
  const hangs = () =>
    defineTool({
      name: 'slow',
      description: 'Never ends.',
      inputSchema: z.object({}),
      effect: 'pure',
      execute: () => new Promise<string>(() => undefined),
    })

  it.each(
    namesOfPlaces.flatMap((name) => [
      { name, how: 'fail', fault: { error: new Error('disk on fire') } },
      { name, how: 'are refused', fault: refused },
    ]),
  )('S62, S203: a run whose renewals $how is given up like a run that lost its process ($name)', async ({ name, fault }) => {
    const clock = manualClock()
    const [place] = placeOf(name)
    const store = recordingStore(faultyStore(place, [{ of: 'renew', fault }]))
    const { runtime } = setup({ steps: [call, { text: 'next' }], tools: [hangs()], store, clock, onError: () => undefined })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('a')
    const next = await session.send('b')
    expect(await endWithin(clock, run, 120_000)).toMatchObject({ status: 'error', reason: 'crash-loop', error: { code: 'crash-loop' } })
    // The first claim, five takeovers, and the claim that gives the run up.
    expect(await store.readRun(run.runId)).toMatchObject({ value: { epoch: 7, attempts: 6 } })
    expect(
      store.commits.filter(({ batch }) =>
        batch.writes.some((write) => write.op === 'run.patch' && write.runId === run.runId && write.patch.status === 'queued'),
      ),
    ).toEqual([])
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'next' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S62, S203: a compaction is given up too, and the queue goes on', async () => {
    const clock = manualClock()
    const store = faultyStore(memoryStore(), [{ of: 'renew', fault: refused }])
    const long = 'x'.repeat(400)
    const { options } = smallWindow((_call, index) =>
      index < 2 ? { text: long } : index < 8 ? { hang: 'middle', text: 'half' } : { text: 'next' },
    )
    const { runtime, session, say } = await talk({ ...options, store, clock })
    await say(long, long)
    const compacting = session.compact()
    compacting.catch(() => undefined)
    for await (const event of session.events()) if (event.type === 'compaction-start') break
    const next = await session.send('b')
    expect(await endWithin(clock, next, 120_000)).toMatchObject({ status: 'completed', text: 'next' })
    expect(await compacting).toMatchObject({ outcome: 'failed' })
    expect((await store.listRuns('room:1')).items[2]).toMatchObject({
      kind: 'compaction',
      status: 'error',
      reason: 'crash-loop',
      epoch: 7,
      attempts: 6,
    })
    await checkLog(session)
    await runtime.stop()
  })

  it('S67: a drain returns the time at which the lease of a lost run of another process ends', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    const options = { steps: [call], tools: [hangs()], clock, timers: false, attempts: { withoutProgress: 0 } }
    let isDead = false
    const dying = faultyStore(memory, [{ of: 'any', when: () => isDead, fault: { error: new Error('dead') } }])
    const lost = setup({ ...options, store: dying, onError: () => undefined })
    const { runtime } = setup({ ...options, store: memory })
    await Promise.all([lost.runtime.start(), runtime.start()])
    const run = await runtime.session('room:1').send('a')
    const draining = lost.runtime.drain()
    for await (const { type } of runtime.session('room:1').events()) if (type === 'tool-execution-start') break
    isDead = true
    draining.catch(() => undefined)
    expect(await runtime.drain()).toEqual({ ran: 0, yielded: 0, left: 1, nextDueAt: 10_000 })
    await clock.advance(3_000)
    expect(await runtime.drain()).toMatchObject({ ran: 0, left: 1, nextDueAt: 10_000 })
    await clock.advance(7_000)
    expect(await runtime.drain()).toMatchObject({ ran: 1, left: 0 })
    expect(await run.status()).toBe('failed')
    await expect(draining).rejects.toThrow('dead')
    await Promise.all([lost.runtime.stop({ graceMs: 0 }), runtime.stop()])
  })
})

/** Advances the clock until the run has ended. */
async function endWithin(clock: ManualClock, run: RunHandle, ms: number): Promise<unknown> {
  const end = run.result()
  for (let passed = 0; passed < ms && ['queued', 'running'].includes(await run.status()); passed += 500) await clock.advance(500)
  expect(['queued', 'running']).not.toContain(await run.status())
  return end
}
