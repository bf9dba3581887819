import { defineTool, type ToolContext } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { checkLog, gate, setup } from '../support.ts'

type Execute = (input: object, context: ToolContext) => string | Promise<string>

const tool = (name: string, execute: Execute, rest: { readonly sequential?: true } = {}) =>
  defineTool({ name, description: `The tool ${name}.`, inputSchema: z.object({}), effect: 'pure', execute, ...rest })

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `c-${name}`, name, input: {} })) })

describe('the ledger of a run', () => {
  it('S76: an outcome is stored while slower calls go on', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: [calls('fast', 'slow'), { text: 'done' }],
      tools: [tool('fast', () => 'ok'), tool('slow', async () => (await go.passed, 'ok'))],
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    for await (const event of run) if (event.type === 'tool-execution-end') break
    const ledger = await runtime.store.readCalls(run.runId)
    expect(ledger.map(({ name, state, status }) => ({ name, state, status }))).toEqual([
      { name: 'fast', state: 'settled', status: 'result' },
      { name: 'slow', state: 'started', status: undefined },
    ])
    go.open()
    await run.result()
    await runtime.stop()
  })

  it('S73: a call that waits for an earlier sequential call is pending', async () => {
    const started = gate()
    const go = gate()
    const first = tool('first', async () => (started.open(), await go.passed, 'ok'), { sequential: true })
    const { runtime } = setup({ steps: [calls('first', 'second'), { text: 'done' }], tools: [first, tool('second', () => 'ok')] })
    await runtime.start()
    const run = await runtime.session('room:1').send('go')
    await started.passed
    const ledger = await runtime.store.readCalls(run.runId)
    expect(ledger.map(({ state }) => state)).toEqual(['started', 'pending'])
    go.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S74: the key of a call consists of run, step and call, and the tool gets the number of the attempt', async () => {
    const seen: unknown[] = []
    const { runtime } = setup({
      steps: [calls('a'), { toolCalls: [{ id: 'c-b', name: 'a', input: {} }] }, { text: 'done' }],
      tools: [
        tool('a', (_input, { idempotencyKey, attempt }) => {
          seen.push({ idempotencyKey, attempt })
          return 'ok'
        }),
      ],
    })
    await runtime.start()
    const run = await runtime.session('room:1').send('go')
    await run.result()
    expect(seen).toEqual([
      { idempotencyKey: `${run.runId}/1/c-a`, attempt: 1 },
      { idempotencyKey: `${run.runId}/2/c-b`, attempt: 1 },
    ])
    await runtime.stop()
  })

  it('S62, S71: a run whose process dies in every model call is given up, and the cost of the calls is booked', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    await memory.open({ namespace: 'default', clock, owner: 'keeper' })
    const attempts: number[] = []
    for (let process = 0; process < 6; process++) {
      const called = gate()
      let dead = false
      const store = faultyStore(memory, [{ of: 'any', when: () => dead, fault: { error: new Error('dead') } }])
      const { runtime } = setup({
        steps: () => {
          called.open()
          return { parts: [{ hang: true }] }
        },
        store,
        clock,
        onError: () => undefined,
      })
      await runtime.start()
      const { runId } = await runtime.session('room:1').send('go', { id: 'first' })
      await called.passed
      const read = await memory.readRun(runId)
      if (read.status === 'found') attempts.push(read.value.attempts)
      dead = true
      await runtime.stop({ graceMs: 0 })
      await clock.advance(30_000)
    }
    expect(attempts).toEqual([0, 1, 2, 3, 4, 5])
    const last = setup({ steps: [{ text: 'next' }], store: memory, clock })
    await last.runtime.start()
    const session = last.runtime.session('room:1')
    const run = await session.send('go', { id: 'first' })
    expect(await run.result()).toMatchObject({ status: 'error', reason: 'crash-loop', error: { code: 'crash-loop' } })
    const log = await checkLog(session)
    expect(log.at(-1)).toMatchObject({ type: 'settled' })
    const booked = log.flatMap((event) => (event.type === 'usage' ? [event.usage.inputTokens ?? 0] : []))
    expect(booked).toHaveLength(6)
    const sum = booked.reduce((total, tokens) => total + tokens)
    expect(sum).toBeGreaterThan(0)
    expect(await session.info()).toMatchObject({ usage: { inputTokens: sum, estimated: true } })
    expect((await run.result()).usage).toMatchObject({ inputTokens: sum, estimated: true })
    expect(log.flatMap((event) => (event.type === 'turn-start' ? [event.attempt] : []))).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(await (await session.send('again')).result()).toMatchObject({ status: 'completed', text: 'next' })
    await last.runtime.stop()
  })
})
