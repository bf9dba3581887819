import { defineAgent, defineTool, isEnded, statuses, type Agent } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gate, setup, type SetupOptions } from '../support.ts'

const handOn = (to: string, inBackground = false): Step => ({
  toolCalls: [{ id: `to-${to}`, name: `delegate_to_${to}`, input: { prompt: 'do it', ...(inBackground && { run_in_background: true }) } }],
})

/** Creates a tool that ends when it is aborted. */
function slowTool(onStart: () => void) {
  return defineTool({
    name: 'slow',
    description: 'Waits.',
    inputSchema: z.object({}),
    effect: 'pure',
    execute: (_input, { abortSignal }) =>
      new Promise<string>((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => reject(abortSignal.reason as Error))
        onStart()
      }),
  })
}

/** Creates the tree root → mid → leaf. The tool of the leaf is running. */
function tree(midSteps: readonly Step[], options: Partial<SetupOptions> = {}) {
  const started = gate()
  const agent = (name: string, steps: readonly Step[], more: { subagents?: readonly Agent[]; tools?: ReturnType<typeof slowTool>[] }) =>
    defineAgent({ name, description: `The ${name}.`, model: scriptedModel(steps), abortGraceMs: 10, ...more })
  const leaf = agent('leaf', [{ toolCalls: [{ id: 'c1', name: 'slow', input: {} }] }], { tools: [slowTool(started.open)] })
  const mid = agent('mid', midSteps, { subagents: [leaf] })
  return {
    started,
    options: { steps: [handOn('mid'), { text: 'all done' }], ...options, agent: { subagents: [mid] } } satisfies SetupOptions,
  }
}

describe('a tree of runs', () => {
  it.each(['stop', 'kill', 'delete'] as const)('S98, S104, S105: %s reaches running work at any depth', async (how) => {
    const { started, options } = tree([handOn('leaf')])
    const { runtime, faults } = setup(options)
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('go')
    await started.passed
    const receipt = await session[how]()
    if (receipt) {
      expect(receipt).toMatchObject({
        state: 'settled',
        status: 'stopped',
        calls: [{ toolName: 'delegate_to_mid' }],
        children: [
          {
            state: 'settled',
            status: 'stopped',
            children: [
              {
                state: 'settled',
                status: 'stopped',
                calls: [{ toolName: 'slow', status: expect.stringMatching(/cancelled|error/) as string }],
              },
            ],
          },
        ],
      })
    }
    const { items } = await runtime.sessions()
    expect(items.map(({ key, status }) => [key.split('~').length, status]).sort()).toEqual(
      how === 'delete'
        ? []
        : [
            [1, 'stopped'],
            [3, 'stopped'],
            [5, 'stopped'],
          ],
    )
    await runtime.stop()
    expect(faults).toEqual([])
  })

  it.each(['stop', 'kill'] as const)('S98, S100: %s reaches background work of a child that has ended', async (how) => {
    const { started, options } = tree([handOn('leaf', true), { text: 'it is under way' }])
    const toolEnd = gate()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      inputSchema: z.object({}),
      execute: () => toolEnd.passed.then(() => 'over'),
    })
    const { runtime } = setup({
      ...options,
      steps: [handOn('mid'), { toolCalls: [{ id: 'w', name: 'wait', input: {} }] }, { text: 'never' }],
      tools: [wait],
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await started.passed
    for await (const event of run) if (event.type === 'tool-execution-start' && event.toolCallId === 'w') break
    const receipt = await session[how]()
    toolEnd.open()
    expect(receipt).toMatchObject({
      runId: run.runId,
      state: 'settled',
      children: [
        {
          status: 'completed',
          children: [
            {
              state: 'settled',
              status: 'stopped',
              calls: [{ toolName: 'slow', status: expect.stringMatching(/cancelled|error/) as string }],
            },
          ],
        },
      ],
    })
    expect((await runtime.sessions({ status: statuses.filter((status) => !isEnded(status)) })).items).toEqual([])
    await runtime.stop()
  })

  it('S99: a stop is settled only when all runs below have ended', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const { started, options } = tree([handOn('leaf')], { store, clock })
    const { runtime } = setup(options)
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await started.passed
    expect(await session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending' })
    await clock.advance(5_000)
    expect(await run.stop()).toMatchObject({ state: 'settled', children: [{ state: 'settled' }] })
    await runtime.stop()
  })

  it('S105: delete removes the sessions of ended children without a trace', async () => {
    const store = memoryStore()
    const { runtime } = setup({ ...tree([{ text: 'done' }]).options, store })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('go')).result()
    const child = (await runtime.sessions({ parent: 'room:1' })).items[0]?.key ?? ''
    await session.delete()
    expect(await store.readSession(child)).toEqual({ status: 'missing' })
    expect(await store.readSession('room:1')).toMatchObject({ status: 'deleted' })
    await runtime.stop()
  })
})
