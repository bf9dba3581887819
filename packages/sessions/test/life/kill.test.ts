import { defineTool, type Tool, type ToolEffect } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, setup, types, type SetupOptions } from '../support.ts'

const call = (name: string) => ({ id: `c-${name}`, name, input: {} })

/** Creates tools that ignore their signal and never end, with a promise for the start of all of them. */
function deafTools(effects: readonly ToolEffect[] = ['pure', 'idempotent', 'once']) {
  const started = gate()
  let running = 0
  const deaf = effects.map((effect): Tool =>
    defineTool({
      name: effect,
      description: 'Never ends.',
      inputSchema: z.object({}),
      effect,
      execute: () => {
        if (++running === effects.length) started.open()
        return new Promise<string>(() => undefined)
      },
    }),
  )
  const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
  const send = defineTool({ name: 'send', description: 'Sends.', inputSchema: z.object({}), needsApproval: true, execute: () => 'sent' })
  return { tools: [...deaf, place, send], started }
}

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

describe('kill', () => {
  it('S104, S100: settles started calls as unknown unless they are pure, settles the others as cancelled, and the receipt equals the ledger', async () => {
    const { tools, started: allStarted } = deafTools()
    const { runtime, session, model, faults } = await started({
      steps: [{ toolCalls: ['pure', 'idempotent', 'once', 'place', 'send'].map(call) }],
      tools,
      abortGraceMs: 60_000,
    })
    const run = await session.send('go')
    await allStarted.passed
    const receipt = await session.kill({ reason: 'enough' })
    expect(receipt).toMatchObject({ runId: run.runId, state: 'settled', status: 'stopped' })
    expect(receipt.calls.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['pure', 'cancelled'],
      ['idempotent', 'unknown'],
      ['once', 'unknown'],
      ['place', 'cancelled'],
      ['send', 'cancelled'],
    ])
    const next = runtime.session('room:1')
    const results = (await next.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results.map(({ toolCallId, status }) => ({ toolCallId, status }))).toEqual(
      receipt.calls.map(({ toolCallId, status }) => ({ toolCallId, status })),
    )
    expect(await runtime.store.readRun(run.runId)).toMatchObject({ value: { stop: { reason: 'enough' } } })
    expect(types(await checkLog(next)).slice(-3)).toEqual(['turn-end', 'save-point', 'settled'])
    await runtime.stop({ graceMs: 0 })
    expect(model.calls).toHaveLength(1)
    expect(faults).toEqual([])
  })

  it('S104: results in the transcript stay there once, however many inputs came after them', async () => {
    const [running, go, asked] = [gate(), gate(), gate()]
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      inputSchema: z.object({}),
      execute: async () => (running.open(), await go.passed, 'seen'),
    })
    const steps: SetupOptions['steps'] = (_call, index) =>
      index === 0 ? Promise.resolve({ toolCalls: [call('look')] }) : new Promise<never>(() => asked.open())
    const { runtime, session } = await started({ steps, tools: [look], agent: { steering: 'all' } })
    await session.send('go')
    await running.passed
    for (const text of ['one', 'two', 'three']) await session.steer(text)
    go.open()
    await asked.passed
    expect(await session.kill()).toMatchObject({ state: 'settled', calls: [{ toolCallId: 'c-look', status: 'result' }] })
    const killed = runtime.session('room:1')
    expect((await killed.messages()).items.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'user', 'user', 'user'])
    await checkLog(killed)
    await runtime.stop({ graceMs: 0 })
  })

  it('S104: fences an owner in another process, which writes nothing more', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const answer = gate()
    const owner = await started({
      steps: async () => {
        await answer.passed
        return { text: 'too late' }
      },
      store,
      clock,
    })
    const run = await owner.session.send('go')
    for await (const event of owner.session.events()) if (event.type === 'message-start') break
    const other = await started({ steps: [], store, clock, concurrency: 0 })
    expect(await other.session.kill()).toMatchObject({ runId: run.runId, state: 'settled', status: 'stopped' })
    const log = await checkLog(other.runtime.session('room:1'))
    answer.open()
    await clock.advance(3_000)
    expect(await checkLog(other.runtime.session('room:1'))).toEqual(log)
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(owner.faults).toEqual([])
    await owner.runtime.stop()
    await other.runtime.stop()
  })

  it('S104: ends the queue, waiting inputs and overlays too, and none of them reaches the model later', async () => {
    const { runtime, session, model } = await started({
      steps: [{ toolCalls: [call('place')] }, { text: 'fresh' }],
      tools: deafTools().tools,
    })
    const first = await session.send('one')
    await first.result()
    const queued = [await session.send('two'), await session.followUp('three')]
    await session.steer('four')
    await session.overlay('five')
    await session.kill()
    expect(await Promise.all([first, ...queued].map((run) => run.status()))).toEqual(['stopped', 'stopped', 'stopped'])
    const next = runtime.session('room:1')
    expect(await (await next.send('six')).result()).toMatchObject({ text: 'fresh' })
    const prompt = JSON.stringify(model.calls[1]?.prompt)
    expect(['two', 'three', 'four', 'five'].filter((word) => prompt.includes(word))).toEqual([])
    await runtime.stop()
  })

  it('S104, S32: ends a full queue after a run that holds the session', async () => {
    const { runtime, session } = await started({ steps: [{ toolCalls: [call('place')] }], tools: deafTools().tools })
    await (await session.send('first')).result()
    for (let place = 0; place < 1_000; place++) await session.send(`input ${place}`)
    await session.kill()
    const open = { status: ['queued', 'running', 'waiting-for-user'] as const }
    expect((await runtime.session('room:1').runs(open)).items).toEqual([])
    expect(await runtime.session('room:1').info()).toMatchObject({ status: 'stopped', queued: 0 })
    await runtime.stop()
  })

  it('S102, S104: without an open run it changes only the handle', async () => {
    const { runtime, session } = await started({ steps: [] })
    const before = await session.open()
    expect(await session.kill()).toEqual({ runId: null, state: 'nothing-to-stop', calls: [], children: [] })
    expect(await runtime.session('room:1').info()).toEqual(before)
    await runtime.stop()
  })

  it('S82: frees a session whose run needs recovery', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const { tools, started: allStarted } = deafTools(['once'])
    // Its own clock stands still, so it renews no lease.
    const firstClock = manualClock()
    const first = await started({ steps: [{ toolCalls: [call('once')] }], tools, store, clock: firstClock })
    await first.session.send('go')
    await allStarted.passed
    const second = await started({ steps: [{ text: 'free' }], tools, store, clock, onUnknownOutcome: 'stop' })
    const { session, runtime } = second
    await clock.advance(11_000)
    const stopping = first.runtime.stop({ graceMs: 0 })
    await firstClock.advance(0)
    await stopping
    expect(await session.info()).toMatchObject({ status: 'needs-recovery', openRun: { status: 'needs-recovery' } })
    const receipt = await session.kill()
    expect(receipt).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(receipt.calls).toContainEqual({ toolCallId: 'c-once', toolName: 'once', status: 'unknown' })
    expect(await (await runtime.session('room:1').send('and now?')).result()).toMatchObject({ text: 'free' })
    await checkLog(runtime.session('room:1'))
    await runtime.stop()
  })
})
