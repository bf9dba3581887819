import { defineExtension, defineTool, type Hooks } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, gate, setup, types, type SetupOptions } from '../support.ts'

const watch = (hooks: Hooks) => ({ extensions: [defineExtension({ name: 'watch', timeoutMs: 60_000, hooks })] })

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

describe('writes of a run after the end of its turn', () => {
  it('S123, S124: the run rests when the hooks after the end are over; then the next run begins', async () => {
    const hook = gate()
    const agent = watch({
      onAgentEnd: (_event, { logStep }) =>
        hook.passed.then(() => logStep({ name: 'noted', because: 'the turn has ended', sequenceIndex: 0 })),
    })
    const { runtime, session, faults } = await started({ steps: [{ text: 'one' }, { text: 'two' }], agent })
    const first = await session.send('go')
    for await (const event of session.events()) if (event.type === 'save-point') break
    const second = await session.send('and')
    expect([await first.status(), await second.status()]).toEqual(['completed', 'queued'])
    expect(await runtime.run(first.runId)).not.toHaveProperty('endedAt')
    const events = collect(first)
    hook.open()
    expect(await first.result()).toMatchObject({ status: 'completed', reason: 'stop', text: 'one' })
    expect(types(await events).slice(-3)).toEqual(['turn-end', 'save-point', 'orchestration-step'])
    expect(await second.result()).toMatchObject({ status: 'completed', text: 'two' })
    expect(types(await checkLog(session)).at(-1)).toBe('settled')
    expect(await session.info()).toMatchObject({ status: 'completed', queued: 0 })
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S115: what a reader finds while the hooks after the end run is what the log tells', async () => {
    const hook = gate()
    const { runtime, session } = await started({
      steps: [{ text: 'one' }, { text: 'two' }],
      agent: watch({ onSettled: () => hook.passed }),
    })
    const first = await session.send('go')
    for await (const event of session.events()) if (event.type === 'settled') break
    const ended = { runId: first.runId, status: 'completed', outcome: 'completed', reason: 'stop', stopping: false, holdsSession: true }
    expect(await session.info()).toMatchObject({ status: 'completed', outcome: 'completed', openRun: ended, queued: 0 })
    for (const status of ['completed', 'running'] as const) {
      expect((await session.runs({ status: [status] })).items).toMatchObject(status === 'completed' ? [ended] : [])
    }
    for (const status of ['completed', 'running', 'queued'] as const) {
      expect((await runtime.sessions({ status: [status] })).items.map(({ key }) => key)).toEqual(status === 'completed' ? ['room:1'] : [])
    }
    expect((await runtime.inspect('room:1'))?.open.runs).toMatchObject([
      { ...ended, next: expect.stringContaining('runs what follows the turn') as string },
    ])
    const second = await session.send('and')
    expect(await session.info()).toMatchObject({
      status: 'queued',
      outcome: 'completed',
      openRun: { runId: second.runId, status: 'queued' },
      queued: 1,
    })
    expect((await runtime.sessions({ status: ['queued'] })).items).toMatchObject([{ key: 'room:1', status: 'queued' }])
    expect(await first.stop({ waitMs: 0 })).toMatchObject({ runId: first.runId, state: 'pending', status: 'completed' })
    hook.open()
    await second.result()
    expect(await session.info()).toMatchObject({ status: 'completed', queued: 0 })
    expect(await runtime.run(first.runId)).not.toHaveProperty('holdsSession')
    await runtime.stop()
  })

  it('S115, S89: a question is found while the hooks of its suspension run', async () => {
    const hook = gate()
    let hooked = 0
    const agent = watch({ onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) })
    const pay = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), execute: () => 'paid', needsApproval: true })
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const steps: Step[] = [
      {
        toolCalls: [
          { id: 'c1', name: 'pay', input: {} },
          { id: 'c2', name: 'place', input: {} },
        ],
      },
      { text: 'done' },
    ]
    const { runtime, session } = await started({ steps, tools: [pay, place], agent })
    const run = await session.send('pay')
    for await (const event of session.events()) if (event.type === 'save-point') break
    const asked = {
      status: 'waiting-for-user',
      outcome: 'awaiting-tools',
      pendingApprovals: [{ toolCallId: 'c1' }],
      pendingToolCalls: [{ toolCallId: 'c2' }],
    }
    const info = await session.info()
    expect(info).toMatchObject({ status: 'waiting-for-user', openRun: asked })
    expect(info).not.toHaveProperty('outcome')
    expect([await run.status(), (await session.runs({ status: ['waiting-for-user'] })).items]).toMatchObject(['waiting-for-user', [asked]])
    const answering = [
      session.submitToolResults([{ toolCallId: 'c2', output: 'Oslo' }]),
      session.approve(info?.openRun?.pendingApprovals[0]?.approvalId ?? ''),
    ]
    hook.open()
    await Promise.all(answering)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await checkLog(session)
    await runtime.stop()
  })

  it.each(['switchTo', 'label', 'compact', 'send'] as const)(
    'S123, S19: %s waits for the hooks after the end, at most 10 s longer than a lease',
    async (method) => {
      let hook = gate()
      const clock = manualClock()
      const agent = watch({ onSettled: () => hook.passed })
      const { runtime, session } = await started({ steps: [{ text: 'one' }, { text: 'two' }], agent, clock, lease: { ttlMs: 30_000 } })
      const ask = async () => {
        const { leaf } = (await session.info()) ?? {}
        return {
          switchTo: () => session.switchTo(null),
          label: () => session.label(leaf ?? '', 'here'),
          compact: () => session.compact(),
          send: () => session.send('and', { onBusy: 'reject' }),
        }[method]()
      }
      const sent = async (input: string) => {
        const cursor = (await session.info())?.cursor ?? '0'
        const run = await session.send(input)
        for await (const event of session.events({ cursor })) if (event.type === 'settled') break
        return run
      }
      const first = await sent('go')
      let isOver = false
      const waiting = ask().then(() => void (isOver = true))
      await clock.advance(39_000)
      expect(isOver).toBe(false)
      hook.open()
      await waiting
      await session.stop()

      hook = gate()
      const last = await sent('again')
      const refused = expect(ask()).rejects.toMatchObject({
        code: 'busy',
        runId: last.runId,
        message: expect.stringMatching(method === 'send' ? /is open/ : /^The hooks after the last turn/) as string,
      })
      await clock.advance(40_000)
      await refused
      hook.open()
      await Promise.all([first.result(), last.result()])
      await runtime.stop()
    },
  )

  it('S152, S123: a fork does not wait for the hooks after the end, but for a run in the queue', async () => {
    const hook = gate()
    const { runtime, session } = await started({
      steps: [{ text: 'one' }, { text: 'two' }],
      agent: watch({ onSettled: () => hook.passed }),
    })
    const first = await session.send('go')
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(await runtime.run(first.runId)).not.toHaveProperty('endedAt')
    const fork = await session.fork()
    expect((await fork.messages()).items).toEqual((await session.messages()).items)
    const second = await session.send('and')
    await expect(session.fork()).rejects.toMatchObject({ code: 'busy' })
    hook.open()
    expect(await second.result()).toMatchObject({ status: 'completed', text: 'two' })
    await checkLog(fork)
    await runtime.stop()
  })

  it('S152, S123: a turn that waits cannot be forked, also while its hooks still run', async () => {
    const hook = gate()
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const steps: Step[] = [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }]
    const { runtime, session } = await started({ steps, tools: [place], agent: watch({ onAgentEnd: () => hook.passed }) })
    const run = await session.send('where?')
    for await (const event of session.events()) if (event.type === 'save-point') break
    await expect(session.fork()).rejects.toMatchObject({ code: 'busy', runId: run.runId })
    hook.open()
    await run.result()
    await runtime.stop()
  })

  it('S124: a run that is stopped before it starts, while the earlier run comes to rest, does not leave the session unsettled', async () => {
    const hook = gate()
    const { runtime, session } = await started({ steps: [{ text: 'one' }], agent: watch({ onSettled: () => hook.passed }) })
    const first = await session.send('go')
    for await (const event of session.events()) if (event.type === 'settled') break
    await (await session.send('and')).stop()
    hook.open()
    await first.result()
    expect(types(await checkLog(session)).slice(-4)).toEqual(['settled', 'run-queued', 'turn-end', 'settled'])
    await runtime.stop()
  })

  it('S89: an answer that comes during the hooks of a suspension is taken after them', async () => {
    const hook = gate()
    let hooked = 0
    const agent = watch({ onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) })
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const steps: Step[] = [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'in Oslo' }]
    const { runtime, session } = await started({ steps, tools: [place], agent })
    const run = await session.send('where?')
    for await (const event of session.events()) if (event.type === 'save-point') break
    const submitting = session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    hook.open()
    expect(await submitting).toMatchObject({ accepted: ['c1'], missing: [] })
    expect(await (await submitting).run.result()).toMatchObject({ runId: run.runId, status: 'completed', text: 'in Oslo' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S97: a stop ends a run whose turn waits while hooks still run', async () => {
    const hook = gate()
    let hooked = 0
    const agent = watch({ onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) })
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const { runtime, session } = await started({ steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }], tools: [place], agent })
    const run = await session.send('where?')
    for await (const event of session.events()) if (event.type === 'save-point') break
    const stopping = session.stop()
    hook.open()
    expect(await stopping).toMatchObject({ runId: run.runId, state: 'settled', status: 'stopped', calls: [{ status: 'cancelled' }] })
    await checkLog(session)
    await runtime.stop()
  })

  it('S60: if the process dies after the end of the turn, the run rests as its turn ended, and nothing runs again', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const hanging = watch({ onAgentEnd: () => new Promise(() => undefined) })
    // Its own clock stands still, so it renews no lease.
    const first = await started({ steps: [{ text: 'one' }], agent: hanging, store, clock: manualClock() })
    const run = await first.session.send('go')
    for await (const event of first.session.events()) if (event.type === 'save-point') break
    const second = await started({ steps: [{ text: 'two' }], store, clock })
    const next = await second.session.send('and')
    expect(await second.runtime.run(run.runId)).not.toHaveProperty('endedAt')
    await clock.advance(20_000)
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'two' })
    expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'completed', reason: 'stop' })
    expect(types(await checkLog(second.session)).filter((type) => type === 'turn-start')).toHaveLength(2)
    await first.runtime.stop({ graceMs: 0 })
    await second.runtime.stop()
    await store.close()
  })

  it('S19, S155: a compaction after the turn is stored before the next run begins, and found after a restart', async () => {
    const store = memoryStore()
    const agentWith = (steps: readonly Step[]) => {
      const model = scriptedModel(steps)
      const models = createModels({
        providers: { test: { languageModel: () => model } },
        models: { 'test:small': { contextWindow: 10_000 } },
      })
      const compaction = { reserveTokens: 1_000, keepRecentTokens: 50 }
      return {
        model,
        options: { steps: [], agent: { model: 'test:small', models, compaction, runtimeParams: { maxTokens: 500 } }, store } as const,
      }
    }
    const summing = gate()
    const summary: Step = {
      parts: [
        { type: 'text-start', id: 't' },
        { wait: summing.passed },
        { type: 'text-delta', id: 't', delta: 'SUMMARY' },
        { type: 'text-end', id: 't' },
      ],
    }
    const before = agentWith([{ text: 'a'.repeat(400), usage: { input: 9_100, output: 1 } }, summary, { text: 'two' }])
    const first = await started(before.options)
    await first.session.send(`FIRST ${'x'.repeat(400)}`)
    for await (const event of first.session.events()) if (event.type === 'compaction-start') break
    const second = await first.session.send('SECOND')
    expect(await second.status()).toBe('queued')
    summing.open()
    expect(await second.result()).toMatchObject({ text: 'two' })
    expect(JSON.stringify(before.model.calls[2]?.prompt)).toContain('SUMMARY')
    await checkLog(first.session)
    await first.runtime.stop()

    const after = agentWith([{ text: 'three' }])
    const { runtime, session } = await started(after.options)
    await (await session.send('THIRD')).result()
    const prompt = JSON.stringify(after.model.calls[0]?.prompt)
    expect(prompt).toContain('SUMMARY')
    expect(prompt).not.toContain('FIRST')
    // The messages that the compaction replaces stay readable.
    expect((await session.messages()).items).toHaveLength(6)
    await checkLog(session)
    await runtime.stop()
  })

  it('S17: a follow-up from a hook after the end is a run of its own', async () => {
    let asked = false
    const agent = watch({
      async onAgentEnd(_event, { followUp }) {
        if (asked) return
        asked = true
        expect(await followUp('and then?')).toMatchObject({ ok: true })
      },
    })
    const { runtime, session, faults } = await started({ steps: [{ text: 'one' }, { text: 'two' }], agent })
    const run = await session.send('go')
    await run.result()
    const followUp = (await session.runs({ newestFirst: true })).items[0]
    await collect(session.events({ runId: followUp?.runId ?? '' }))
    const { items } = await session.runs()
    expect(items).toMatchObject([
      { kind: 'user', status: 'completed' },
      { kind: 'follow-up', status: 'completed' },
    ])
    expect((await session.messages()).items.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(faults).toEqual([])
    await checkLog(session)
    await runtime.stop()
  })
})
