import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, setup, types } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

const asks = (...ids: string[]) => ({ toolCalls: ids.map((id) => ({ id, name: 'place', input: {} })) })

describe('submitToolResults', () => {
  it('S88: a run that waits holds no lease, and another process goes on with it', async () => {
    const store = memoryStore()
    const first = setup({ steps: [asks('c1')], tools: [place], store })
    await first.runtime.start()
    const run = await first.runtime.session('room:1').send('where?')
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'c1' }] })
    const stored = await store.readRun(run.runId)
    expect(stored).toMatchObject({ status: 'found', value: { status: 'awaiting-tools' } })
    expect(stored.status === 'found' && 'owner' in stored.value && stored.value.owner).toBeFalsy()
    await first.runtime.stop()

    const second = setup({ steps: [{ text: 'in Oslo' }], tools: [place], store })
    await second.runtime.start()
    const session = second.runtime.session('room:1')
    const { run: again, ...receipt } = await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(receipt).toEqual({ accepted: ['c1'], repeated: [], missing: [] })
    expect(await again.result()).toMatchObject({ runId: run.runId, status: 'completed', text: 'in Oslo' })
    const log = await checkLog(session)
    expect(log.find((event) => event.type === 'turn-start' && event.resumed)).toMatchObject({ cause: 'answers' })
    await second.runtime.stop()
  })

  it('S89: a part is accepted; the last answer queues the run', async () => {
    const { runtime, model } = setup({ steps: [asks('c1', 'c2'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('where?')
    await run.result()
    const part = await session.submitToolResults([{ toolCallId: 'c2', output: 'two' }])
    expect(part).toMatchObject({ accepted: ['c2'], repeated: [], missing: ['c1'] })
    expect(await run.status()).toBe('waiting-for-user')
    expect((await session.info())?.openRun?.pendingToolCalls.map((call) => call.toolCallId)).toEqual(['c1'])
    const rest = await session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])
    expect(rest).toMatchObject({ accepted: ['c1'], missing: [] })
    expect(await rest.run.result()).toMatchObject({ status: 'completed', text: 'done' })
    // Results stand in call order, whatever the order of the answers.
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results.map((message) => message.toolCallId)).toEqual(['c1', 'c2'])
    expect(model.calls).toHaveLength(2)
    await checkLog(session)
    await runtime.stop()
  })

  it('S90: an identical repeat changes nothing; an unknown id or another answer refuses the whole submission', async () => {
    const { runtime } = setup({ steps: [asks('c1', 'c2'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('where?')
    await run.result()
    await session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])
    const before = await session.info()
    await expect(
      session.submitToolResults([
        { toolCallId: 'c2', output: 'two' },
        { toolCallId: 'nobody', output: 'x' },
      ]),
    ).rejects.toMatchObject({ code: 'unknown-tool-call', refused: [{ id: 'nobody', code: 'unknown-tool-call' }] })
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'other' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
      refused: [{ id: 'c1', code: 'tool-result-conflict' }],
    })
    await expect(
      session.submitToolResults([
        { toolCallId: 'c2', output: 'two' },
        { toolCallId: 'c2', output: 'three' },
      ]),
    ).rejects.toMatchObject({ code: 'tool-result-conflict' })
    expect(await session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])).toMatchObject({ accepted: [], repeated: ['c1'] })
    expect(await session.info()).toEqual(before)

    await (await session.submitToolResults([{ toolCallId: 'c2', output: 'two' }])).run.result()
    // The run has ended; the same answers are still repeats, and others still contradict.
    expect(await session.submitToolResults([{ toolCallId: 'c2', output: 'two' }])).toMatchObject({ repeated: ['c2'] })
    await expect(session.submitToolResults([{ toolCallId: 'c2', output: 'x' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
    })
    await runtime.stop()
  })

  it('S90: of two answers at the same moment exactly one is stored', async () => {
    const { runtime } = setup({ steps: [asks('c1'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('where?')
    await run.result()
    const settled = await Promise.allSettled(
      ['left', 'right'].map((output) => session.submitToolResults([{ toolCallId: 'c1', output }])),
    )
    expect(settled.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(settled.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'tool-result-conflict' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(types(await checkLog(session)).filter((type) => type === 'tool-execution-end')).toHaveLength(1)
    await runtime.stop()
  })

  it('S89: an answer given in time counts, however late the last one comes', async () => {
    const clock = manualClock()
    const hurried = defineTool({ name: 'hurry', description: 'Where the user is, now.', inputSchema: z.object({}), timeoutMs: 60_000 })
    const asksBoth = { toolCalls: [{ id: 'c1', name: 'hurry', input: {} }, { id: 'c2', name: 'place', input: {} }] }
    const { runtime } = setup({ steps: [asksBoth, { text: 'done' }], tools: [hurried, place], clock })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])
    await clock.advance(120_000)
    const { run } = await session.submitToolResults([{ toolCallId: 'c2', output: 'two' }])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results.map((message) => message.status)).toEqual(['result', 'result'])
    await runtime.stop()
  })

  it('S89: a call that was answered waits no longer, also while the run goes on', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: async (_call, index) => {
        if (index === 0) return asks('c1')
        await go.passed
        return { text: 'done' }
      },
      tools: [place],
    })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])
    for await (const event of run) if (event.type === 'message-start') break
    expect((await session.info())?.openRun).toMatchObject({ status: 'running', pendingToolCalls: [] })
    go.open()
    await run.result()
    await runtime.stop()
  })

  it('S13, S89: what the caller changes later, and what is no JSON, is not stored', async () => {
    const { runtime } = setup({ steps: [asks('c1'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 1n as unknown as number }])).rejects.toMatchObject({ code: 'invalid-input' })
    const output = { city: 'Oslo' }
    const submitting = session.submitToolResults([{ toolCallId: 'c1', output }])
    output.city = 'Rome'
    await (await submitting).run.result()
    expect(JSON.stringify((await session.messages()).items)).toContain('Oslo')
    await runtime.stop()
  })
})
