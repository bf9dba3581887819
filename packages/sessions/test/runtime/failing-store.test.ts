import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/sessions/testing'
import { eventTypes } from '../recording-store.ts'
import { checkLog, gate, setup } from '../support.ts'

const call = { toolCalls: [{ id: 'c1', name: 'slow', input: {} }] }

describe('a store that fails for a while', () => {
  it('S61, S12: a run whose end was not taken is ended when the store is back, and the queue goes on', async () => {
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

  it('S61: a run that could not even be read after its claim is not forgotten', async () => {
    const clock = manualClock()
    const faulted = gate()
    let broken = false
    const place = defineTool({ name: 'slow', description: 'Answered from outside.', inputSchema: z.object({}) })
    const unread = { when: () => broken, fault: { error: new Error('disk on fire') } } as const
    const store = faultyStore(memoryStore(), [{ of: 'readInbox', ...unread }, { of: 'readRun', ...unread }])
    const { runtime } = setup({ steps: [call, { text: 'next' }], tools: [place], store, clock, onError: () => faulted.open() })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('a')
    await run.result()
    broken = true
    const { id, version } = (await store.readSession('room:1') as { value: { id: string; version: number } }).value
    // The last answer, given by another process.
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
    await clock.advance(3_000)
    expect(await run.result()).toMatchObject({ status: 'error', error: { code: 'store-unavailable' } })
    expect(await (await session.send('b')).result()).toMatchObject({ status: 'completed' })
    await checkLog(session)
    await runtime.stop()
  })

  it.each([
    { how: 'fail', fault: { error: new Error('disk on fire') } },
    { how: 'are not answered', fault: { waitFor: () => new Promise<never>(() => undefined) } },
  ])('S59: when renewals $how the owner leaves before its lease can be over', async ({ fault }) => {
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
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all done' })
    expect((await session.runs()).items[0]).toMatchObject({ attempts: 0 })
    await checkLog(session)
    await runtime.stop()
  })
})
