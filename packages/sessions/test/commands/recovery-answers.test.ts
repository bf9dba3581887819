import { defineExtension, defineTool } from '@bowline/agent-loop'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, setup } from '../support.ts'
import { inDoubt, type Doubt } from './doubt.ts'

async function expectDone({ session, runtime, starts, faults }: Doubt): Promise<void> {
  for await (const event of session.events()) if (event.type === 'settled') break
  const { items } = await session.messages()
  expect(items.map((message) => message.role)).toEqual(['user', 'assistant', 'tool-result', 'tool-result', 'assistant'])
  expect(starts.map((start) => start.attempt)).toEqual([1, 2])
  expect(new Set(starts.map((start) => start.idempotencyKey)).size).toBe(1)
  expect(faults).toEqual([])
  await checkLog(session)
  await runtime.stop()
}

describe('a run that waits for an answer and for the outcome of a doubtful call', () => {
  it('S60: when the start of the next owner resolves, the run is judged, and the report says what waits', async () => {
    const { atStart, started, session, runtime } = await inDoubt()
    const [run] = (await session.runs()).items
    expect(started).toEqual({ recovered: 1, runs: [run] })
    expect(run).toMatchObject({
      status: 'needs-recovery',
      outcome: 'needs-recovery',
      pendingToolCalls: [{ toolCallId: 'c-pay', unknown: true }, { toolCallId: 'c-place' }],
    })
    expect(atStart).toMatchObject({ status: 'needs-recovery', openRun: run })
    await runtime.stop()
  })

  it('S79: is needs-recovery, names both calls, and nothing else runs in the session', async () => {
    const { session, runtime, model } = await inDoubt()
    expect(await session.info()).toMatchObject({
      status: 'needs-recovery',
      openRun: {
        status: 'needs-recovery',
        pendingToolCalls: [{ toolCallId: 'c-pay', unknown: true }, { toolCallId: 'c-place' }],
      },
    })
    const next = await session.send('and then?')
    expect(await next.status()).toBe('queued')
    expect(model.calls).toEqual([])
    await runtime.stop()
  })

  it('S79, S115: may be decided while the hooks of its suspension run', async () => {
    const hook = gate()
    let hooked = 0
    const watch = defineExtension({
      name: 'watch',
      timeoutMs: 60_000,
      hooks: { onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) },
    })
    const doubt = await inDoubt('stop', { agent: { extensions: [watch] }, until: 'save-point' })
    const { session } = doubt
    const info = await session.info()
    expect(info).toMatchObject({
      status: 'needs-recovery',
      openRun: { pendingToolCalls: [{ toolCallId: 'c-pay', unknown: true }, { toolCallId: 'c-place' }] },
    })
    const { runId = '' } = info?.openRun ?? {}
    expect((await doubt.runtime.inspect('room:1'))?.open.runs[0]?.calls).toMatchObject([{ resume: 'waits-for-recovery' }, {}])
    await expect(session.recover(runId, 'continue')).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('resolveTool') as string,
    })
    const deciding = [
      session.resolveTool('c-pay', { runAgain: true }),
      session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }]),
    ]
    await new Promise(setImmediate)
    hook.open()
    await Promise.all(deciding)
    await expectDone(doubt)
  })

  it('S79: a call that has an outcome is refused at once, also while its run goes on', async () => {
    const hold = gate()
    const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' })
    const steps = [{ toolCalls: [{ id: 'c1', name: 'look', input: {} }] }, { parts: [{ wait: hold.passed }], text: 'done' }]
    const { runtime } = setup({ steps, tools: [look] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    for await (const event of session.events()) if (event.type === 'step-end') break
    await expect(session.resolveTool('c1', { runAgain: true })).rejects.toMatchObject({ code: 'tool-result-conflict' })
    hold.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S80: a caller that may only answer cannot settle a doubtful call: the whole submission is refused', async () => {
    const { session, runtime } = await inDoubt()
    const before = await session.info()
    const answers = [
      { toolCallId: 'c-place', output: 'Oslo' },
      { toolCallId: 'c-pay', output: 'paid' },
    ]
    await expect(session.submitToolResults(answers, { unknownOutcomes: false })).rejects.toMatchObject({
      code: 'unknown-tool-call',
      refused: [{ id: 'c-pay', code: 'unknown-tool-call' }],
    })
    expect(await session.info()).toEqual(before)
    expect(await session.submitToolResults(answers.slice(0, 1), { unknownOutcomes: false })).toMatchObject({
      accepted: ['c-place'],
      missing: ['c-pay'],
    })
    await runtime.stop()
  })

  it('S112: recover accepts only definition changes, and its error names resolveTool for a doubtful call', async () => {
    const { session, runtime } = await inDoubt()
    const before = await session.info()
    const runId = before?.openRun?.runId ?? ''
    await expect(session.recover(runId, 'continue')).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('resolveTool') as string,
    })
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })

  it('S81, S89: an answer and then runAgain: both count', async () => {
    const doubt = await inDoubt()
    const part = await doubt.session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    expect(part).toMatchObject({ accepted: ['c-place'], missing: ['c-pay'] })
    await doubt.session.resolveTool('c-pay', { runAgain: true })
    await expectDone(doubt)
  })

  it('S81, S89: runAgain twice and then an answer: both count', async () => {
    const doubt = await inDoubt()
    await doubt.session.resolveTool('c-pay', { runAgain: true })
    const before = await doubt.session.info()
    await doubt.session.resolveTool('c-pay', { runAgain: true })
    expect(await doubt.session.info()).toEqual(before)
    expect(doubt.starts).toHaveLength(1)
    const rest = await doubt.session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    expect(rest).toMatchObject({ accepted: ['c-place'], missing: [] })
    await expectDone(doubt)
  })

  it('S81: runAgain after an answer is refused, and an unknown outcome for a remote call too', async () => {
    const { session, runtime } = await inDoubt()
    await session.resolveTool('c-pay', { result: 'paid by hand' })
    await expect(session.resolveTool('c-pay', { runAgain: true })).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await expect(session.resolveTool('c-place', { unknown: true })).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await runtime.stop()
  })

  it('S80: tell-model settles the outcome as unknown, and the model is told so', async () => {
    const { session, runtime, model, starts } = await inDoubt('tell-model')
    expect(await session.info()).toMatchObject({ status: 'waiting-for-user', openRun: { status: 'waiting-for-user' } })
    const { run } = await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all done' })
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results.map((message) => message.status)).toEqual(['unknown', 'result'])
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('may or may not')
    expect(starts).toHaveLength(1)
    await checkLog(session)
    await runtime.stop()
  })

  it('S82: ends with a stop, and the session is free', async () => {
    const { session, runtime } = await inDoubt()
    expect(await session.stop()).toMatchObject({
      state: 'settled',
      status: 'stopped',
      calls: [
        { toolCallId: 'c-pay', status: 'unknown' },
        { toolCallId: 'c-place', status: 'cancelled' },
      ],
    })
    expect(await session.info()).toMatchObject({ status: 'stopped' })
    await checkLog(session)
    await runtime.stop()
  })
})
