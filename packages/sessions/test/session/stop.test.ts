import { defineTool } from '@bowline/agent-loop'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, gate, setup, types } from '../support.ts'

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
    expect(receipt).toMatchObject({ runId: run.runId, state: 'settled', status: 'aborted' })
    expect(receipt.calls).toHaveLength(1)
    const log = await checkLog(session)
    const ended = log.find((event) => event.type === 'tool-execution-end')
    expect(receipt.calls[0]).toEqual({ toolCallId: 'c1', toolName: 'stuck', status: ended?.message.status })
    expect(log.find((event) => event.type === 'turn-end')).toMatchObject({ status: 'aborted', receipt: receipt.calls })
    expect(model.calls).toHaveLength(1)
    expect(await session.info()).toMatchObject({ status: 'idle' })
    await runtime.stop()
  })

  it('S99: with waitMs 0 the receipt is pending, and asking again gives the later truth', async () => {
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
    expect(await run.stop()).toMatchObject({ state: 'settled', status: 'aborted', runId: run.runId })
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
      status: 'aborted',
      calls: [{ toolCallId: 'c1', status: 'cancelled' }],
    })
    expect(model.calls).toHaveLength(1)
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'late' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
    })
    await checkLog(session)
    await runtime.stop()
  })

  it('S102: with nothing open there is nothing to stop; queued runs stay unless all are meant', async () => {
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
    expect(await session.stop()).toMatchObject({ state: 'settled', status: 'aborted' })
    go.open()
    expect((await second.result()).status).toBe('completed')
    expect(await session.stop()).toMatchObject({ state: 'nothing-to-stop' })
    await runtime.stop()
  })

  it('S126: a run that is stopped before it starts logs a turn-end alone, and its input stays out of the transcript', async () => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    const first = await session.send('a')
    const second = await session.send('b')
    await session.stop({ scope: 'all' })
    expect(await Promise.all([first.status(), second.status()])).toEqual(['aborted', 'aborted'])
    const events = await collect(second.events())
    expect(types(events)).toEqual(['run-queued', 'turn-end'])
    expect(events[1]).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect((await session.messages()).items).toEqual([])
    await runtime.stop()
  })

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
