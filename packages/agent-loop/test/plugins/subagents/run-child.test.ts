import { createModels } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { createBudget, defineAgent, defineTool } from '../../../src/index.ts'
import type { AgentRun } from '../../../src/index.ts'
import { agentOf, conversation, model } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, until } from '../../support/tools.ts'
import { handOver, helper, lead, outline, plainCall, toldOf } from './support.ts'

describe('a subagent in place', () => {
  it('A160: gives its parent compact text, and keeps its events in its own log', async () => {
    const talk = conversation()
    const child = helper('scout', [{ text: 'found it' }])
    const { result, events } = await talk.play(lead(child), 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'done', steps: 2 })
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'result',
      output: { type: 'json', value: { result: 'completed', text: 'found it', steps: 1 } },
      details: { childRunId: `${result.runId}/d` },
    })
    expect(outline(talk)).toEqual([
      ...['user-message', 'turn-start', 'step-start', 'message-start', 'message-end', 'tool-execution-start', 'child-start'],
      ...['child-update', 'child-end', 'usage', 'tool-execution-end', 'step-end', 'step-start', 'message-start', 'message-end'],
      ...['step-end', 'turn-end', 'save-point', 'settled'],
    ])
    expect(JSON.stringify(events.filter(({ type }) => type.startsWith('text')))).not.toContain('found')
    expect(child.model.calls[0]?.prompt.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'do d' }] })
  })

  it('A160: cuts its text at 20,000 characters with a mark', async () => {
    const talk = conversation()
    const text = `${'a'.repeat(15_000)}"\n${'b'.repeat(15_000)}`
    await talk.play(lead(helper('scout', [{ text }])), 'go')
    const output = (await toldOf(talk, 'd'))?.output as { type: string; value: { text: string } }
    expect(output.type).toBe('json')
    expect(output.value.text).toBe(`${'a'.repeat(10_000)}\n[… 10002 characters left out …]\n${'b'.repeat(10_000)}`)
  })

  it('A182: reports one update per step of the child, with at most 500 characters and the tools it calls', async () => {
    const talk = conversation()
    const look = echo('look')
    const child = helper(
      'scout',
      [{ text: 'x'.repeat(600), toolCalls: [plainCall('a', 'look'), plainCall('b', 'look')] }, { text: 'so' }],
      { tools: [look.tool] },
    )
    await talk.play(lead(child), 'go')
    const updates = talk.journal.events.filter(({ type }) => type === 'child-update')
    expect(updates).toMatchObject([
      { toolCallId: 'd', childRunId: 'run_1/d', step: 1, status: 'running', text: 'x'.repeat(500), toolNames: ['look', 'look'] },
      { step: 2, text: 'so', toolNames: [] },
    ])
    expect(talk.view().children).toMatchObject([{ subagent: 'scout', status: 'completed', step: 2 }])
    expect(look.calls[0]).toMatchObject({ agent: ['scout'], runId: 'run_1/d', idempotencyKey: 'run_1/d/1/a' })
  })

  it('runs the subagents of one answer at once, and gives each its own outcome', async () => {
    const talk = conversation()
    const gates = ['one', 'two'].map((name) => gated(name))
    const children = gates.map(({ tool }) =>
      helper(tool.name, [{ toolCalls: [plainCall('w', tool.name)] }, { text: `${tool.name} said` }], { tools: [tool] }),
    )
    const agent = agentOf([{ toolCalls: [handOver('a', 'one'), handOver('b', 'two')] }, { text: 'both' }], { subagents: children })
    const run = talk.run(agent, 'go')
    await until(() => gates.every(({ started }) => started.length === 1))
    gates[1]?.open('w')
    await until(() => talk.types().includes('tool-execution-end'))
    gates[0]?.open('w')
    const { messages } = await run.result()
    expect(messages.filter(({ role }) => role === 'tool-result')).toMatchObject([
      { toolCallId: 'a', output: { value: { text: 'one said' } } },
      { toolCallId: 'b', output: { value: { text: 'two said' } } },
    ])
  })

  it('returns the run of a child while it is active, so that it can be steered', async () => {
    const talk = conversation()
    const gate = gated('wait')
    const child = helper('scout', [{ toolCalls: [plainCall('w', 'wait')] }, { text: 'so' }], { tools: [gate.tool] })
    const run = talk.run(lead(child), 'go')
    expect(run.child('d')).toBeUndefined()
    await until(() => gate.started.length === 1)
    const childRun = run.child('d') as AgentRun
    expect(childRun).toMatchObject({ runId: 'run_1/d', phase: 'turn' })
    expect(await childRun.steer('faster')).toMatchObject({ ok: true })
    gate.open('w')
    await run.result()
    expect(run.child('d')).toBeUndefined()
    expect(JSON.stringify(child.model.calls[1]?.prompt.at(-1))).toContain('faster')
  })

  it('gives a child context and session key of its parent, and none of its params', async () => {
    const talk = conversation()
    const look = echo('look')
    const child = helper('scout', [{ toolCalls: [plainCall('a', 'look')] }, { text: 'so' }], { tools: [look.tool] })
    await talk.play(lead(child), 'go', { context: { user: 7 }, sessionKey: 'key', runtimeParams: { temperature: 0.5 } })
    expect(look.calls[0]).toMatchObject({ context: { user: 7 }, sessionKey: 'key' })
    expect(child.model.calls[0]?.temperature).toBeUndefined()
  })

  it('books the turns of follow-ups too', async () => {
    const talk = conversation()
    const usage = { input: 10, output: 1 }
    const gate = gated('wait')
    const child = helper(
      'scout',
      [
        { toolCalls: [plainCall('w', 'wait')], usage },
        { text: 'so', usage },
        { text: 'and more', usage },
      ],
      { tools: [gate.tool] },
    )
    const run = talk.run(lead(child), 'go')
    await until(() => gate.started.length === 1)
    await run.child('d')?.followUp('more')
    gate.open('w')
    await run.result()
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { text: 'and more' } } })
    expect(talk.journal.events.find(({ type }) => type === 'child-end')).toMatchObject({ usage: { inputTokens: 30, outputTokens: 3 } })
  })
})

describe('the usage of a child', () => {
  const usage = { input: 100, output: 10 }

  it('A162: is counted once in the usage of its parent', async () => {
    const talk = conversation()
    const agent = agentOf(
      [
        { toolCalls: [handOver('d', 'scout')], usage },
        { text: 'done', usage },
      ],
      { subagents: [helper('scout', [{ text: 'so', usage }])] },
    )
    const { result } = await talk.play(agent, 'go')
    expect(result.usage).toMatchObject({ inputTokens: 300, outputTokens: 30 })
    expect(talk.journal.events.filter(({ type }) => type === 'usage')).toMatchObject([{ purpose: 'child', usage: { inputTokens: 100 } }])
  })

  it('A162: is counted in the usage of its parent even if the child fails', async () => {
    const talk = conversation()
    const child = helper('scout', [{ toolCalls: [plainCall('a', 'nothing')], usage }, { error: new Error('down') }])
    const agent = agentOf(
      [
        { toolCalls: [handOver('d', 'scout')], usage },
        { text: 'done', usage },
      ],
      { subagents: [child] },
    )
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'completed', usage: { inputTokens: 300 } })
  })

  it("A162: of a child's child reaches the root", async () => {
    const talk = conversation()
    const inner = helper('inner', [{ text: 'deep', usage }])
    const outer = helper(
      'outer',
      [
        { toolCalls: [handOver('i', 'inner')], usage },
        { text: 'so', usage },
      ],
      { subagents: [inner] },
    )
    const agent = agentOf(
      [
        { toolCalls: [handOver('d', 'outer')], usage },
        { text: 'done', usage },
      ],
      { subagents: [outer] },
    )
    const { result } = await talk.play(agent, 'go')
    expect(result.usage.inputTokens).toBe(500)
  })

  it('A162: is charged to the budget of the tree once, and a child stops at the limit', async () => {
    const talk = conversation()
    const budget = createBudget({ maxTotalTokens: 10_000 })
    const agent = agentOf(
      [
        { toolCalls: [handOver('d', 'scout')], usage },
        { text: 'done', usage },
      ],
      { subagents: [helper('scout', [{ text: 'so', usage }])] },
    )
    await talk.play(agent, 'go', { budget })
    expect(budget.left.tokens).toBe(10_000 - 330)
  })

  it('A162: the limits of a parent hold for its children', async () => {
    const talk = conversation()
    const child = helper('scout', [])
    const agent = agentOf([{ toolCalls: [handOver('d', 'scout')], usage: { input: 4_000, output: 1 } }], {
      subagents: [child],
      limits: { maxTotalTokens: 5_000 },
    })
    const { result } = await talk.play(agent, 'go')
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'result', output: { value: { result: 'limit', text: '', steps: 0 } } })
    expect(result).toMatchObject({ status: 'limit', reason: 'max-total-tokens' })
  })
})

describe('a child that does not complete', () => {
  it('A6: a child whose model has no price is not run with a cost limit', async () => {
    const talk = conversation()
    const scripted = model([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }])
    const price = { input: '1', output: '1' }
    const models = createModels({ providers: { test: { languageModel: () => scripted } }, models: { 'test:m': { price } } })
    const agent = defineAgent({ model: 'test:m', models, subagents: [helper('scout', [])], limits: { maxCost: '1' } })
    expect((await talk.play(agent, 'go')).result.status).toBe('completed')
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'error', output: { value: expect.stringContaining('price') } })
  })

  it("A176: the run's policy for unknown outcomes holds for its children", async () => {
    const talk = conversation()
    let started = false
    const pay = defineTool({
      name: 'pay',
      description: '',
      inputSchema: {},
      timeoutMs: 1_000,
      execute: () => {
        started = true
        return new Promise<string>(() => undefined)
      },
    })
    const child = helper('payer', [{ toolCalls: [plainCall('p', 'pay')] }, { text: 'so' }], { tools: [pay] })
    const run = talk.run(lead(child), 'go', { onUnknownOutcome: 'tell-model' })
    await until(() => started)
    await talk.clock.advance(3_000)
    expect((await run.result()).status).toBe('completed')
    expect(resultsOf(child.model.calls[1])).toMatchObject([{ output: { value: expect.stringContaining('may or may not') } }])
  })

  it('A183: a subagent that is missing from the pinned fingerprint is left out', async () => {
    const talk = conversation()
    const before = agentOf([], {})
    const agent = agentOf([{ text: 'done' }], { subagents: [helper('scout', [])] })
    await talk.play(agent, 'go', { pinned: await before.fingerprint() })
    expect(agent.model.calls[0]?.tools ?? []).toEqual([])
  })

  it('A163: an error of the child is an outcome of the call', async () => {
    const talk = conversation()
    const { result } = await talk.play(lead(helper('scout', [{ error: new Error('the model is down') }])), 'go')
    expect(result.status).toBe('completed')
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'error',
      output: { type: 'error-json', value: { result: 'error', error: expect.stringContaining('the model is down') } },
    })
    expect(talk.journal.events.find(({ type }) => type === 'child-end')).toMatchObject({
      status: 'error',
      error: { message: expect.any(String) },
    })
  })

  it('A163: an abort of the child alone is an outcome of the call', async () => {
    const talk = conversation()
    const gate = gated('wait', { effect: 'pure' })
    const child = helper('scout', [{ text: 'I wait', toolCalls: [plainCall('w', 'wait')] }], { tools: [gate.tool] })
    const run = talk.run(lead(child), 'go')
    await until(() => gate.started.length === 1)
    run.child('d')?.abort('enough')
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'error', output: { value: { result: 'aborted', text: 'I wait' } } })
  })

  it('A163: a child that cannot be started is an outcome of the call', async () => {
    const talk = conversation()
    const child = helper('scout', [], { model: 'nobody/knows' })
    const { result } = await talk.play(lead(child), 'go')
    expect(result.status).toBe('completed')
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'error',
      output: { type: 'error-text', value: expect.stringContaining('nobody/knows') },
    })
  })

  it('A165: beyond maxDepth a call is refused before a child exists, and the root decides for the whole tree', async () => {
    const talk = conversation()
    const inner = helper('inner', [])
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'alone then' }], {
      subagents: [inner],
      limits: { maxDepth: 9 },
    })
    await talk.play(lead(outer, { limits: { maxDepth: 1 } }), 'go')
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { text: 'alone then' } } })
    const [result] =
      talk.journal.childJournals.get('run_1/d')?.events.flatMap((event) => (event.type === 'tool-execution-end' ? [event] : [])) ?? []
    expect(result).toMatchObject({
      executed: 'no',
      message: { status: 'error', output: { value: expect.stringContaining('maxDepth: 1') } },
    })
  })

  it('A165: three levels are allowed by default', async () => {
    const talk = conversation()
    const names = ['one', 'two', 'three', 'four']
    const deepest = names.reduceRight<ReturnType<typeof helper> | undefined>((below, name) => {
      if (name === 'four') return helper(name, [])
      return helper(name, [{ toolCalls: [handOver('x', names[names.indexOf(name) + 1] ?? '')] }, { text: `${name} is back` }], {
        subagents: below ? [below] : [],
      })
    }, undefined)
    await talk.play(lead(deepest as never), 'go')
    expect(Object.keys((talk.memory.snapshot() as { children: object }).children)).toEqual(['run_1/d'])
    const third = talk.journal.childJournals.get('run_1/d')?.childJournals.get('run_1/d/x')?.childJournals.get('run_1/d/x/x')
    expect(third?.events.find(({ type }) => type === 'tool-execution-end')).toMatchObject({ executed: 'no', message: { status: 'error' } })
  })

  it('a journal that does not support subagents makes an error outcome', async () => {
    const talk = conversation({ wrap: ({ child: _none, ...journal }) => journal })
    const { result } = await talk.play(lead(helper('scout', [])), 'go')
    expect(result.status).toBe('completed')
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'error',
      output: { value: expect.stringContaining('does not support subagents') },
    })
  })
})
