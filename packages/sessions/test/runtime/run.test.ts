import { defineTool } from '@bowline/agent-loop'
import { checkTranscript } from '@bowline/testing'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { checkLog, gate, setup, types } from '../support.ts'

const echo = (name: string, execute: () => string | Promise<string>) =>
  defineTool({ name, description: 'Says something.', inputSchema: z.object({}), effect: 'pure', execute })

const call = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

describe('a run', () => {
  it('S54: costs four commits for a plain answer, and two more for a step with tools', async () => {
    const counts: number[] = []
    for (const steps of [[{ text: 'hi' }], [call('a'), { text: 'hi' }], [call('a'), call('a'), { text: 'hi' }]]) {
      const store = recordingStore(memoryStore())
      const { runtime } = setup({ steps, tools: [echo('a', () => 'ok')], store })
      await runtime.start()
      await (await runtime.session('room:1').send('go')).result()
      await runtime.stop()
      counts.push(store.commits.length + store.claims())
    }
    expect(counts).toEqual([4, 6, 8])
  })

  it('S54: a caller that waits for a run does not read it again with every step', async () => {
    const readsOf = async (count: number): Promise<number> => {
      let reads = 0
      const store = memoryStore()
      const readRun: typeof store.readRun = (runId) => (reads++, store.readRun(runId))
      const names = Array.from({ length: count }, (_, index) => `a${index}`)
      const steps = [...names.map((name) => call(name)), { text: 'done' }]
      const { runtime } = setup({
        steps,
        tools: names.map((name) => echo(name, () => 'ok')),
        store: { ...store, readRun },
        clock: manualClock(),
      })
      await runtime.start()
      expect(await (await runtime.session('room:1').send('go')).result()).toMatchObject({ status: 'completed' })
      await runtime.stop()
      return reads
    }
    expect(await readsOf(20)).toBe(await readsOf(2))
  })

  it('S69, S72: the commit comes before the model call and before the start of a tool', async () => {
    const order: string[] = []
    const store = recordingStore(memoryStore(), (batch) => void order.push(...eventTypes(batch)))
    const { runtime } = setup({
      steps: (_call, index) => {
        order.push('MODEL')
        return index === 0 ? call('a') : { text: 'done' }
      },
      tools: [echo('a', () => (order.push('TOOL'), 'ok'))],
      store,
    })
    await runtime.start()
    await (await runtime.session('room:1').send('go')).result()
    await runtime.stop()
    const at = (name: string, from = 0): number => order.indexOf(name, from)
    expect(at('message-start')).toBeLessThan(at('MODEL'))
    expect(at('tool-execution-start')).toBeLessThan(at('TOOL'))
    expect(at('TOOL')).toBeLessThan(at('tool-execution-end'))
    expect(at('message-start', at('TOOL'))).toBeLessThan(at('MODEL', at('TOOL')))
  })

  it('S36: every commit of a run carries its fence', async () => {
    const store = recordingStore(memoryStore())
    const { runtime } = setup({ steps: [call('a'), { text: 'done' }], tools: [echo('a', () => 'ok')], store })
    await runtime.start()
    const run = await runtime.session('room:1').send('go')
    await run.result()
    await runtime.stop()
    const ofRun = store.commits.filter(({ batch }) => !eventTypes(batch).includes('run-queued'))
    expect(ofRun.length).toBeGreaterThan(0)
    for (const { batch } of ofRun) expect(batch.expect).toContainEqual({ that: 'fence', runId: run.runId, epoch: 1 })
  })

  it('S37: a fenced owner aborts its tools and writes nothing more', async () => {
    const started = gate()
    const aborted = gate<unknown>()
    const tool = defineTool({
      name: 'slow',
      description: 'Waits for its signal.',
      inputSchema: z.object({}),
      effect: 'pure',
      execute: (_input, { abortSignal }) =>
        new Promise<string>((resolve) => {
          abortSignal.addEventListener('abort', () => {
            aborted.open(abortSignal.aborted)
            resolve('too late')
          })
          started.open()
        }),
    })
    const store = recordingStore(memoryStore())
    // Leases are compared by the clock of the store.
    const [ofStore, clock] = [manualClock(), manualClock()]
    await store.open({ namespace: 'default', clock: ofStore, owner: 'keeper' })
    const { runtime } = setup({ steps: [call('slow')], tools: [tool], store, clock })
    await runtime.start()
    const run = await runtime.session('room:1').send('go')
    await started.passed
    await ofStore.advance(10_000)
    expect(await store.claim({ owner: 'other', max: 1, leaseMs: 60_000, agents: ['assistant'], holds: [] })).toHaveLength(1)
    const before = store.commits.length
    await clock.advance(3_000)
    expect(await aborted.passed).toBe(true)
    await runtime.stop()
    expect(store.commits.slice(before)).toEqual([])
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'running', epoch: 2, owner: 'other' } })
  })

  it('S77: a tool that throws gives an error outcome, and the run goes on', async () => {
    const tool = echo('a', () => {
      throw new Error('no luck')
    })
    const { runtime } = setup({ steps: [call('a'), { text: 'understood' }], tools: [tool] })
    await runtime.start()
    const session = runtime.session('room:1')
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed', text: 'understood' })
    const outcome = (await session.messages()).items.find((message) => message.role === 'tool-result')
    expect(outcome).toMatchObject({ status: 'error', output: { value: expect.stringContaining('no luck') } })
    await runtime.stop()
  })

  it('S83, S84: results are in call order, whichever tool was first, and before any later message', async () => {
    const fast = gate()
    const { runtime } = setup({
      steps: [call('slow', 'fast'), { text: 'done' }, { text: 'again' }],
      tools: [echo('slow', async () => (await fast.passed, 'slow')), echo('fast', () => (fast.open(), 'fast'))],
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    const second = await session.send('and again')
    await Promise.all([run.result(), second.result()])
    const { items } = await session.messages()
    expect(items.flatMap((message) => (message.role === 'tool-result' ? [message.toolCallId] : []))).toEqual(['call-slow', 'call-fast'])
    expect(checkTranscript(items)).toEqual([])
    await checkLog(session)
    await runtime.stop()
  })

  it('S85: a provider failure ends the run as error with its kind, and the session stays usable', async () => {
    const failure = Object.assign(new Error('Rate limit reached'), { statusCode: 429 })
    const { runtime, faults } = setup({ steps: [{ error: failure }, { text: 'better now' }], agent: { retry: false } })
    await runtime.start()
    const session = runtime.session('room:1')
    const failed = await (await session.send('go')).result()
    expect(failed).toMatchObject({
      status: 'error',
      reason: 'model-error',
      error: { kind: expect.any(String), retryable: expect.any(Boolean) },
    })
    expect(await session.info()).toMatchObject({ status: 'failed' })
    expect(await (await session.send('again')).result()).toMatchObject({ status: 'completed', text: 'better now' })
    expect((await session.messages()).items.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(faults).toEqual([])
    await checkLog(session)
    await runtime.stop()
  })

  it('S86: an aborted turn stores what had arrived, marked as aborted', async () => {
    const { runtime } = setup({
      steps: [{ parts: [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'half of it' }, { hang: true }] }],
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    for await (const event of run) if (event.type === 'text-delta') break
    await session.stop()
    expect((await session.messages()).items.at(-1)).toMatchObject({
      role: 'assistant',
      stopReason: 'aborted',
      content: [{ type: 'text', text: 'half of it' }],
    })
    await checkLog(session)
    await runtime.stop()
  })

  it('S30: a run waits for no reader', async () => {
    const { runtime } = setup({ steps: [call('a'), { text: 'done' }], tools: [echo('a', () => 'ok')] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    const reader = run[Symbol.asyncIterator]()
    expect((await reader.next()).value).toMatchObject({ type: 'run-queued' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await reader.return?.()
    await runtime.stop()
  })
})

describe('a runtime that stops', () => {
  it('S9: gives its runs back without counting an attempt, and the next runtime resumes them', async () => {
    const store = memoryStore()
    const started = gate()
    let starts = 0
    const slow = echo('slow', () => (++starts === 1 ? new Promise<string>(() => started.open()) : 'done at last'))
    const first = setup({ steps: [call('slow')], tools: [slow], store })
    await first.runtime.start()
    const { runId } = await first.runtime.session('room:1').send('go')
    await started.passed
    await first.runtime.stop()

    const second = setup({ steps: [{ text: 'all done' }], tools: [slow], store })
    await second.runtime.start()
    const session = second.runtime.session('room:1')
    for await (const _ of session.events({ runId })) continue
    expect(await second.runtime.run(runId)).toMatchObject({ status: 'completed', attempts: 0 })
    const log = await checkLog(session)
    expect(log.find((event) => event.type === 'turn-start' && event.resumed)).toMatchObject({ cause: 'yield', attempt: 1 })
    expect(types(log).filter((type) => type === 'tool-execution-start')).toHaveLength(2)
    await second.runtime.stop()
  })

  it('S62: a run that is lost again and again ends as error, with its calls settled, and the queue goes on', async () => {
    const store = memoryStore()
    // Leases are compared by the clock of the first opener of the store.
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'dead' })
    const started = gate()
    const stuck = defineTool({
      name: 'stuck',
      description: 'Never ends.',
      inputSchema: z.object({}),
      execute: () => new Promise<string>(() => started.open()),
    })
    const first = setup({ steps: [call('stuck')], tools: [stuck], store })
    await first.runtime.start()
    const { runId } = await first.runtime.session('room:1').send('go')
    await first.runtime.session('room:1').send('and then')
    await started.passed
    for (let loss = 0; loss < 5; loss++) {
      await clock.advance(60_000)
      expect(await store.claim({ owner: `dead ${loss}`, max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [] })).toHaveLength(1)
    }
    await clock.advance(60_000)
    const last = setup({ steps: [{ text: 'the next one' }], tools: [stuck], store })
    expect(await last.runtime.start()).toMatchObject({ recovered: 1, runs: [{ runId, status: 'failed' }] })
    const session = last.runtime.session('room:1')
    for await (const _ of session.events({ runId })) continue
    expect(await last.runtime.run(runId)).toMatchObject({ status: 'failed', reason: 'crash-loop', error: { code: 'crash-loop' } })
    for await (const event of session.events()) if (event.type === 'settled') break
    const { items } = await session.messages()
    expect(items.find((message) => message.role === 'tool-result')).toMatchObject({ status: 'unknown' })
    expect(items.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'the next one' }] })
    expect(checkTranscript(items)).toEqual([])
    await checkLog(session)
    await last.runtime.stop()
    await first.runtime.stop()
  })
})
