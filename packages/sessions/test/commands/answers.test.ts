import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { Batch } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, setup, types } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

const asks = (...ids: string[]) => ({ toolCalls: ids.map((id) => ({ id, name: 'place', input: {} })) })

describe('submitToolResults', () => {
  it('S88: a waiting run holds no lease, and another process resumes it', async () => {
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

  it('S89: a submission with some of the answers is accepted; the last answer queues the run', async () => {
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
    // Results are in call order, whatever the order of the answers.
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
    // After the end of the run, the same answers are still repeats, and different ones still conflict.
    expect(await session.submitToolResults([{ toolCallId: 'c2', output: 'two' }])).toMatchObject({ repeated: ['c2'] })
    await expect(session.submitToolResults([{ toolCallId: 'c2', output: 'x' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
    })
    await runtime.stop()
  })

  const putsAnswers = ({ writes }: Batch): boolean =>
    writes.some((write) => write.op === 'inbox.put' && write.rows.some(({ kind }) => kind === 'answer'))

  it('S90: an identical repeat stores nothing, also for an error given in its short form', async () => {
    const store = faultyStore(memoryStore(), [{ of: 'commit', when: putsAnswers, skip: 1, fault: { error: new Error('a second answer') } }])
    const { runtime } = setup({ steps: [asks('c1', 'c2')], tools: [place], store })
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await session.submitToolResults([{ toolCallId: 'c1', error: 'no' }])
    for (const again of [{ error: 'no' }, { output: 'no', isError: true }]) {
      expect(await session.submitToolResults([{ toolCallId: 'c1', ...again }])).toMatchObject({
        accepted: [],
        repeated: ['c1'],
        missing: ['c2'],
      })
    }
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'no' }])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await runtime.stop()
  })

  it('S90: answers are refused after twenty conflicts', async () => {
    let tries = 0
    const store = faultyStore(memoryStore(), [
      { of: 'commit', when: putsAnswers, fault: { answer: () => (tries++, { ok: false, reason: 'conflict' }) } },
    ])
    const { runtime } = setup({ steps: [asks('c1')], tools: [place], store })
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])).rejects.toMatchObject({ code: 'conflict' })
    expect(tries).toBe(20)
    await runtime.stop()
  })

  it('S90: a call that the runtime ran keeps its result and takes no other', async () => {
    const near = defineTool({ name: 'near', description: 'Runs here.', inputSchema: z.object({}), execute: () => 'ran' })
    const both = {
      toolCalls: [
        { id: 'n', name: 'near', input: {} },
        { id: 'c1', name: 'place', input: {} },
      ],
    }
    const { runtime } = setup({ steps: [both], tools: [near, place] })
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await expect(session.submitToolResults([{ toolCallId: 'n', output: 'other' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
      message: expect.stringContaining('already have different results') as string,
    })
    await expect(session.submitToolResults([{ toolCallId: 'nobody', output: 1 }])).rejects.toMatchObject({
      message: expect.stringContaining('No pending call') as string,
    })
    await runtime.stop()
  })

  it('S90: if a submission repeats answers of an earlier run, its answers for the waiting run count', async () => {
    const { runtime } = setup({ steps: [asks('c1'), { text: 'one' }, asks('c2'), { text: 'two' }], tools: [place] })
    const session = runtime.session('room:1')
    const [first, second] = [
      { toolCallId: 'c1', output: 'one' },
      { toolCallId: 'c2', output: 'two' },
    ]
    await (await session.send('where?')).result()
    await (await session.submitToolResults([first])).run.result()
    const waiting = await session.send('and now?')
    await waiting.result()
    const { run, ...receipt } = await session.submitToolResults([second, first])
    expect(receipt).toEqual({ accepted: ['c2'], repeated: ['c1'], missing: [] })
    expect(await run.result()).toMatchObject({ runId: waiting.runId, status: 'completed', text: 'two' })
    await runtime.stop()
  })

  it('S90, S91: a run that is to be stopped takes neither results nor decisions', async () => {
    const send = defineTool({ name: 'send', description: 'Sends.', inputSchema: z.object({}), needsApproval: true, execute: () => 'sent' })
    const steps = [
      {
        toolCalls: [
          { id: 'c1', name: 'place', input: {} },
          { id: 'x', name: 'send', input: {} },
        ],
      },
    ]
    const store = memoryStore()
    const first = setup({ steps, tools: [place, send], store })
    const { pendingApprovals } = await (await first.runtime.session('room:1').send('go')).result()
    await first.runtime.stop()
    const { runtime } = setup({ steps: [], tools: [place, send], store, concurrency: 0 })
    const session = runtime.session('room:1')
    await session.stop({ waitMs: 0 })
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'one' }])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await expect(session.approve(pendingApprovals[0]?.approvalId ?? '')).rejects.toMatchObject({ code: 'approval-conflict' })
    await runtime.stop()
  })

  it('S90: of two concurrent answers exactly one is stored', async () => {
    const { runtime } = setup({ steps: [asks('c1'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('where?')
    await run.result()
    const settled = await Promise.allSettled(['left', 'right'].map((output) => session.submitToolResults([{ toolCallId: 'c1', output }])))
    expect(settled.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(settled.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'tool-result-conflict' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(types(await checkLog(session)).filter((type) => type === 'tool-execution-end')).toHaveLength(1)
    await runtime.stop()
  })

  it('S89: an answer given in time counts, however late the last answer is', async () => {
    const clock = manualClock()
    const hurried = defineTool({ name: 'hurry', description: 'Where the user is, now.', inputSchema: z.object({}), timeoutMs: 60_000 })
    const asksBoth = {
      toolCalls: [
        { id: 'c1', name: 'hurry', input: {} },
        { id: 'c2', name: 'place', input: {} },
      ],
    }
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

  it('S89: an answered call is no longer pending, also while the run goes on', async () => {
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

  it('S13, S89: neither later changes by the caller nor values that are not JSON are stored', async () => {
    const { runtime } = setup({ steps: [asks('c1'), { text: 'done' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 1n as unknown as number }])).rejects.toMatchObject({
      code: 'invalid-input',
    })
    const output = { city: 'Oslo' }
    const submitting = session.submitToolResults([{ toolCallId: 'c1', output }])
    output.city = 'Rome'
    await (await submitting).run.result()
    expect(JSON.stringify((await session.messages()).items)).toContain('Oslo')
    await runtime.stop()
  })
})
