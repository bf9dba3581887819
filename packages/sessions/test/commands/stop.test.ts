import { defineExtension, defineTool } from '@bowline/agent-loop'
import type { Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { checkLog, collect, gate, setup, types, type SetupOptions } from '../support.ts'

describe('stop', () => {
  it('S97, S98, S100: the stop reaches a running tool, and the receipt equals the ledger', async () => {
    const started = gate()
    const stuck = defineTool({
      name: 'stuck',
      description: 'Waits until it is told to stop.',
      inputSchema: z.object({}),
      effect: 'pure',
      execute: (_input, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => {
          abortSignal.addEventListener('abort', () => reject(new Error('told to stop')))
          started.open()
        }),
    })
    const { runtime, model } = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'stuck', input: {} }] }], tools: [stuck] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await started.passed
    const receipt = await session.stop({ reason: 'enough' })
    expect(receipt).toMatchObject({ runId: run.runId, state: 'settled', status: 'stopped' })
    expect(receipt.calls).toHaveLength(1)
    const log = await checkLog(session)
    const ended = log.find((event) => event.type === 'tool-execution-end')
    expect(receipt.calls[0]).toEqual({ toolCallId: 'c1', toolName: 'stuck', status: ended?.message.status })
    expect(log.find((event) => event.type === 'turn-end')).toMatchObject({ status: 'aborted', receipt: receipt.calls })
    expect(model.calls).toHaveLength(1)
    expect(await session.info()).toMatchObject({ status: 'stopped' })
    await runtime.stop()
  })

  it('S99: with waitMs 0 the receipt is pending, and a repeated stop returns the later receipt', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: async () => {
        await go.passed
        return { text: 'late' }
      },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await collectUntil(session.events(), 'message-start')
    expect(await session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending', runId: run.runId })
    go.open()
    await run.result()
    expect(await run.stop()).toMatchObject({ state: 'settled', status: 'stopped', runId: run.runId })
    await runtime.stop()
  })

  it('S101: a waiting run that is stopped ends without a model call, its calls cancelled', async () => {
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const { runtime, model } = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    expect(await session.stop()).toMatchObject({
      state: 'settled',
      status: 'stopped',
      calls: [{ toolCallId: 'c1', status: 'cancelled' }],
    })
    expect(model.calls).toHaveLength(1)
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'late' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
    })
    await checkLog(session)
    await runtime.stop()
  })

  it('S102: without an open run it returns nothing-to-stop; queued runs stay unless the scope is all', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: async (_call, index) => {
        if (index === 0) await go.passed
        return { text: `answer ${index}` }
      },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    expect(await session.stop()).toEqual({ runId: null, state: 'nothing-to-stop', calls: [], children: [] })
    await session.send('a')
    const second = await session.send('b')
    expect(await session.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    go.open()
    expect((await second.result()).status).toBe('completed')
    expect(await session.stop()).toMatchObject({ state: 'nothing-to-stop' })
    await runtime.stop()
  })

  it('S126: a run that is stopped before it starts logs no turn-start, and its input stays out of the transcript', async () => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    const first = await session.send('a')
    const second = await session.send('b')
    await session.stop({ scope: 'all' })
    expect(await Promise.all([first.status(), second.status()])).toEqual(['stopped', 'stopped'])
    const events = await collect(second.events())
    expect(types(events)).toEqual(['run-queued', 'turn-end'])
    expect(events[1]).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect((await session.messages()).items).toEqual([])
    await runtime.stop()
  })

  it.each<[string, (session: Session) => Promise<unknown>]>([
    ['stop of the last one', (session) => session.stop({ scope: 'all' })],
    ['kill', (session) => session.kill()],
  ])('S124, S126: runs that never began settle their session after the %s', async (_what, end) => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('a')
    await session.send('b')
    await end(session)
    expect(types(await checkLog(runtime.session('room:1')))).toEqual([
      'session-start',
      'run-queued',
      'run-queued',
      'turn-end',
      'turn-end',
      'settled',
    ])
    await runtime.stop()
  })

  it('S124: a compaction that is stopped before it begins settles its session', async () => {
    const store = memoryStore()
    const first = setup({ steps: [{ text: 'one' }], store })
    await first.runtime.start()
    await (await first.runtime.session('room:1').send('go')).result()
    await first.runtime.stop()
    const waiting = setup({ steps: [], concurrency: 0, store })
    await waiting.runtime.start()
    const session = waiting.runtime.session('room:1')
    const compacting = session.compact()
    while ((await session.stop({ waitMs: 0 })).state === 'nothing-to-stop');
    const next = setup({ steps: [], store })
    await next.runtime.start()
    expect(await compacting).toMatchObject({ outcome: 'cancelled' })
    expect(types(await checkLog(session)).slice(-3)).toEqual(['save-point', 'settled', 'settled'])
    await next.runtime.stop()
    await waiting.runtime.stop()
  })

  it('S124: a stopped run does not settle a session in which another run is open', async () => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('a')
    await (await session.send('b')).stop()
    expect(types(await checkLog(session))).toEqual(['session-start', 'run-queued', 'run-queued', 'turn-end'])
    await session.stop()
    expect(types(await checkLog(session)).slice(-2)).toEqual(['turn-end', 'settled'])
    await runtime.stop()
  })

  it('S124: two processes that stop the last two runs at the same time settle their session once', async () => {
    const store = memoryStore()
    const other = setup({ steps: [], concurrency: 0, store })
    await other.runtime.start()
    await other.runtime.session('room:1').send('a')
    const second = await other.runtime.session('room:1').send('b')
    let done = false
    // The other process stops its run after this one has read the open runs.
    const between = recordingStore(store, async ({ expect: expected }) => {
      if (done || expected.length !== 2 || expected.some(({ that }) => that === 'none-queued')) return
      done = true
      await other.runtime.session('room:1').stop({ runId: second.runId })
    })
    const { runtime } = setup({ steps: [], concurrency: 0, store: between })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.stop()
    expect(done).toBe(true)
    expect(types(await checkLog(session)).slice(-3)).toEqual(['turn-end', 'turn-end', 'settled'])
    await runtime.stop()
    await other.runtime.stop()
  })

  it.each(['by itself', 'by its runtime', 'with an extension'] as const)(
    'S124: if another process stops a queued run while the run before it ends (%s), the log settles once',
    async (ending) => {
      const memory = memoryStore()
      const other = setup({ steps: [], concurrency: 0, store: memory })
      await other.runtime.start()
      const remote = other.runtime.session('room:1')
      let done = false
      // The end of the first run was refused with `settled`, because the second one is queued. This commit has no `settled`.
      const store = recordingStore(memory, async (batch) => {
        if (done || !eventTypes(batch).includes('turn-end') || eventTypes(batch).includes('settled')) return
        done = true
        expect(await remote.stop({ runId: second })).toMatchObject({ state: 'settled' })
      })
      const go = gate()
      const called = gate()
      const steps: SetupOptions['steps'] = async () => {
        called.open()
        await go.passed
        return { text: 'done' }
      }
      const failing: SetupOptions['aroundRun'] = async () => {
        called.open()
        await go.passed
        throw new Error('down')
      }
      const watcher = defineExtension({ name: 'watcher', hooks: { onAgentEnd: () => undefined } })
      const { runtime, faults } = setup({
        steps,
        store,
        ...(ending === 'by its runtime' && { aroundRun: failing }),
        ...(ending === 'with an extension' && { agent: { extensions: [watcher] } }),
      })
      await runtime.start()
      const session = runtime.session('room:1')
      const first = await session.send('a')
      await called.passed
      const { runId: second } = await session.send('b')
      go.open()
      expect(await first.result()).toMatchObject({ status: ending === 'by its runtime' ? 'error' : 'completed' })
      expect(done).toBe(true)
      const log = types(await checkLog(session))
      expect(log.filter((type) => type === 'settled')).toHaveLength(1)
      expect(log.at(-1)).toBe('settled')
      expect(faults).toHaveLength(ending === 'by its runtime' ? 1 : 0)
      await runtime.stop()
      await other.runtime.stop()
    },
  )

  it('S103: leaving a stream stops nothing', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: async () => {
        await go.passed
        return { text: 'whole' }
      },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await collectUntil(run, 'message-start')
    go.open()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'whole' })
    await runtime.stop()
  })
})

async function collectUntil(events: AsyncIterable<{ readonly type: string }>, type: string): Promise<void> {
  for await (const event of events) if (event.type === type) return
}
