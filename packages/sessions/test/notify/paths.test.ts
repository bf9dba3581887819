import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type NoticeRecord, type Runtime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callTo, endOf, guarded, handOver, helper, launch, nthRun, remote, root, team } from '../children/support.ts'
import { gate, heldScript, setup } from '../support.ts'
import { nowhere } from './receiver.ts'

/** Returns the notices, oldest first. */
async function noticesOf(runtime: Runtime, key = root): Promise<readonly NoticeRecord[]> {
  return (await runtime.notices({ key })).items.toReversed()
}

async function told(runtime: Runtime, key = root): Promise<readonly string[]> {
  return (await noticesOf(runtime, key)).map(({ type, body }) =>
    typeof body['outcome'] === 'string' ? `${type} ${body['outcome']}` : type,
  )
}

describe('the notices of a run', () => {
  it('S212: that ends', async () => {
    const { runtime } = setup({ steps: [{ text: 'secret answer' }, { error: new Error('no') }], ...nowhere })
    const session = runtime.session(root)
    await (await session.send('secret question')).result()
    await (await session.send('again')).result()
    expect(await told(runtime)).toEqual(['settled completed', 'settled error'])
    expect(JSON.stringify(await noticesOf(runtime))).not.toContain('secret')
    expect((await noticesOf(runtime))[0]?.body).toEqual({
      session: root,
      agent: 'assistant',
      runId: expect.any(String) as string,
      status: 'completed',
      outcome: 'completed',
      reason: 'stop',
    })
    await runtime.stop()
  })

  it('S212: that waits for an answer and a decision, resumes, and ends', async () => {
    const { runtime, session } = await team([{ toolCalls: [callTo('a', 'ask'), callTo('b', 'pay')] }, { text: 'done' }], {
      subagents: [],
      tools: [remote('ask'), guarded('pay')],
      ...nowhere,
    })
    const run = await session.send('go')
    const {
      pendingApprovals: [approval],
    } = await run.result()
    const [asks] = await noticesOf(runtime)
    expect(asks).toMatchObject({
      type: 'awaiting-answer',
      body: {
        status: 'waiting-for-user',
        pendingToolCalls: [{ toolCallId: 'a', toolName: 'ask' }],
        pendingApprovals: [{ approvalId: approval?.approvalId, toolName: 'pay' }],
      },
    })
    await session.submitToolResults([{ toolCallId: 'a', output: { type: 'text', value: 'yes' } }])
    await session.approve(approval?.approvalId ?? '')
    await endOf(runtime.store, run.runId)
    const all = await told(runtime)
    expect([all[0], all.at(-1)]).toEqual(['awaiting-answer awaiting-tools', 'settled completed'])
    await runtime.stop()
  })

  it('S212: that is queued and stopped, running and stopped, or killed with its session', async () => {
    const { steps, reached } = heldScript([{ text: 'one' }, { text: 'two' }])
    const { runtime } = setup({ steps, ...nowhere })
    const session = runtime.session(root)
    const first = await session.send('one')
    const second = await session.send('two')
    await reached(0)
    await session.stop({ runId: second.runId })
    await session.stop({ runId: first.runId })
    await session.send('three')
    await session.kill()
    expect(await told(runtime)).toEqual(['settled aborted', 'settled aborted', 'settled aborted'])
    expect((await noticesOf(runtime)).slice(0, 2).map(({ body }) => body['runId'])).toEqual([second.runId, first.runId])
    await runtime.stop()
  })

  it('S212: whose agent was changed, and which a decision stops', async () => {
    const store = memoryStore()
    const agentWith = (instructions: string) =>
      defineAgent({ name: 'assistant', instructions, model: scriptedModel([{ toolCalls: [callTo('a', 'ask')] }]), tools: [remote('ask')] })
    const before = createRuntime({ agents: [agentWith('one')], store, ...nowhere })
    const run = await before.session(root).send('go')
    await run.result()
    await before.stop()
    const runtime = createRuntime({ agents: [agentWith('two')], store, onDefinitionChange: 'refuse', ...nowhere })
    const session = runtime.session(root)
    await session.submitToolResults([{ toolCallId: 'a', output: { type: 'text', value: 'yes' } }])
    await endOf(runtime.store, run.runId, 'needs-recovery')
    await session.recover(run.runId, 'stop')
    await endOf(runtime.store, run.runId)
    expect(await told(runtime)).toEqual(['awaiting-answer awaiting-tools', 'needs-recovery needs-recovery', 'settled aborted'])
    await runtime.stop()
  })

  it('S212: that was lost too often, or lost in a call with an unknown outcome', async () => {
    const store = memoryStore()
    const clock = manualClock(1_750_000_000_000)
    const started = gate()
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({}),
      effect: 'once',
      execute: () => (started.open(), new Promise<string>(() => undefined)),
    })
    const dying = setup({ steps: [{ toolCalls: [callTo('a', 'pay')] }], tools: [pay], store, clock, ...nowhere })
    const run = await dying.runtime.session(root).send('go')
    await started.passed
    const second = store.second()
    const { runtime } = setup({
      steps: [],
      tools: [pay],
      store: second,
      clock,
      onUnknownOutcomeOfAgent: 'stop',
      attempts: { withoutProgress: 10 },
      ...nowhere,
    })
    // The lease of the first process ends, since it cannot renew it.
    await store.close()
    await runtime.start()
    await clock.advance(20_000)
    await endOf(runtime.store, run.runId, 'needs-recovery')
    expect(await told(runtime)).toEqual(['needs-recovery needs-recovery'])
    expect((await noticesOf(runtime))[0]?.body['pendingToolCalls']).toMatchObject([{ toolCallId: 'a' }])
    await runtime.stop()
  })

  it('S212: with a limit on cost: only that limit has its own notice', async () => {
    const scripted = scriptedModel([])
    const models = createModels({
      providers: { test: { languageModel: () => scripted } },
      models: { 'test:m': { price: { input: '1', output: '2' }, maxOutputTokens: 100 } },
    })
    for (const [limits, expected] of [
      [{ maxCost: '0.000001' }, ['budget limit', 'settled limit']],
      [{ maxTotalTokens: 10 }, ['settled limit']],
    ] as const) {
      const { runtime } = setup({ steps: [], agent: { model: 'test:m', models, retry: false, limits }, ...nowhere })
      await (await runtime.session(root).send('go')).result()
      expect(await told(runtime)).toEqual(expected)
      await runtime.stop()
    }
  })
})

describe('subagents', () => {
  it('S212: the question of a blocking subagent has a notice at the root, and the end of the subagent has none', async () => {
    const scout = helper('scout', [{ toolCalls: [callTo('q', 'ask')] }, { text: 'found' }], { tools: [remote('ask')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('h', 'scout')] }, { text: 'done' }], { subagents: [scout], ...nowhere })
    const run = await session.send('go')
    await run.result()
    expect((await noticesOf(runtime)).at(-1)).toMatchObject({
      type: 'awaiting-answer',
      body: { pendingToolCalls: [{ toolCallId: 'q', path: ['h'], agent: ['scout'] }] },
    })
    await session.submitToolResults([{ toolCallId: 'q', path: ['h'], output: { type: 'text', value: 'yes' } }])
    await endOf(runtime.store, run.runId)
    expect((await told(runtime)).at(-1)).toBe('settled completed')
    expect((await runtime.notices()).items.every(({ session: key }) => key === root)).toBe(true)
    await runtime.stop()
  })

  it('S212: the question of a background subagent has a notice at the root, although the run there has ended', async () => {
    const scout = helper('scout', [{ toolCalls: [callTo('q', 'pay')] }, { text: 'found' }], { tools: [guarded('pay')] })
    const { runtime, session } = await team([{ toolCalls: [launch('b', 'scout')] }, { text: 'launched' }, { text: 'I see' }], {
      subagents: [scout],
      ...nowhere,
    })
    const run = await session.send('go')
    await run.result()
    const {
      items: [task],
    } = await runtime.store.listChildren({ parent: { runId: run.runId } })
    await endOf(runtime.store, task?.id ?? '', 'awaiting-approval')
    const all = await noticesOf(runtime)
    const asks = all.find(({ type }) => type === 'awaiting-answer')
    expect(asks).toMatchObject({
      session: root,
      body: { runId: task?.id, status: 'waiting-for-user', pendingApprovals: [{ toolCallId: 'q', toolName: 'pay' }] },
    })
    const [approval] = (asks?.body['pendingApprovals'] ?? []) as unknown as readonly { approvalId: string }[]
    await session.approve(approval?.approvalId ?? '')
    await nthRun(runtime.store, 2)
    expect((await told(runtime)).filter((type) => type.startsWith('settled'))).toEqual(['settled completed', 'settled completed'])
    await runtime.stop()
  })
})

describe('sessions', () => {
  it('S212: a session that expires has a notice; a deleted one has none', async () => {
    const clock = manualClock(1_750_000_000_000)
    const { runtime } = setup({ steps: [{ text: 'hi' }, { text: 'ho' }], clock, timers: false, ...nowhere })
    await runtime.session(root, { ttl: { maxAgeMs: 1000 } }).send('go')
    await runtime.drain()
    await clock.advance(1000)
    await runtime.sweep()
    expect(await told(runtime)).toEqual(['settled completed', 'expired'])
    await runtime.session('room:2').send('go')
    await runtime.drain()
    await runtime.session('room:2').delete()
    expect([await told(runtime, 'room:2'), (await runtime.notices()).items.length]).toEqual([[], 2])
    await runtime.stop()
  })

  it('S212: the webhook of a session is stored, used by any process, and returned by none', async () => {
    const notify = { url: 'https://session.example/', events: ['settled'], secret: 'the secret of one session' } as const
    const store = memoryStore()
    const { runtime } = setup({ steps: [{ text: 'hi' }], store, webhooks: nowhere.webhooks })
    const session = runtime.session(root, { notify })
    await (await session.send('go')).result()
    expect(await noticesOf(runtime)).toMatchObject([{ hook: 'session', type: 'settled' }])
    const lines: string[] = []
    for await (const line of session.export({ events: true })) lines.push(line)
    const shown = JSON.stringify([lines, await session.info(), (await runtime.sessions()).items, await runtime.notices()])
    expect(shown).not.toContain('session.example')
    expect(shown).not.toContain(notify.secret)
    await expect(
      runtime.importSession(
        (async function* () {
          yield JSON.stringify({ ...(JSON.parse(lines[0] ?? '{}') as object), settings: { notify } })
          yield* lines.slice(1)
        })(),
        { key: 'room:9' },
      ),
    ).rejects.toMatchObject({ code: 'invalid-input', message: expect.stringContaining('settings.notify') as string })
    await runtime.stop()
  })

  it('S212: without a webhook there is no notice and no extra store call', async () => {
    const calls: string[] = []
    const { runtime } = setup({ steps: [{ text: 'hi' }], store: counting(memoryStore(), calls) })
    await (await runtime.session(root).send('go')).result()
    await runtime.stop()
    expect(calls.filter((name) => name.includes('Notice'))).toEqual([])
    expect(calls.filter((name) => name === 'commit').length).toBe(3)
  })
})

function counting<Store extends object>(store: Store, calls: string[]): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]): unknown => {
        calls.push(String(name))
        return (value as (...args: unknown[]) => unknown).apply(target, given)
      }
    },
  })
}
