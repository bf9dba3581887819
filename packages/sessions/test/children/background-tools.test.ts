import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { gate } from '../support.ts'
import { callTo, childrenOf, endOf, found, guarded, helper, launch, nthRun, taskOf, team, toldOf } from './support.ts'

const output = (id: string, task: string, more: object = {}) => callTo(id, 'background_output', { task_id: task, ...more })

describe('what an agent can do with its background tasks', () => {
  it('S143, S133: background_output with block waits for the end of the task, even if there is only one slot', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ text: 'found' }])
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        return index === 1 ? { toolCalls: [output('o', await taskOf(runtime, 'd'), { block: true })] } : { text: 'done' }
      },
      { store, subagents: [scout], concurrency: 1, clock: manualClock() },
    )
    await (await session.send('go')).result()
    expect(await toldOf(runtime, 'o')).toMatchObject({
      id: await taskOf(runtime, 'd'),
      agent: 'scout',
      status: 'completed',
      text: 'found',
      error: null,
    })
    await runtime.stop()
  })

  it('S133, S64: work that arrives while a run takes its slot back is claimed when a slot is free', async () => {
    const store = memoryStore()
    const clock = manualClock()
    const [asked, go] = [gate(), gate()]
    const scout = helper('scout', [{ toolCalls: [callTo('s', 'send')] }], { tools: [guarded('send')] })
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        if (index === 1) return { toolCalls: [output('o', await taskOf(runtime, 'd'), { block: true, timeout: 5_000 })] }
        if (index === 2) {
          asked.open()
          await go.passed
        }
        return { text: 'done' }
      },
      { store, subagents: [scout], concurrency: 1, clock },
    )
    const first = await session.send('go')
    await endOf(store, (await found(store, async () => (await childrenOf(store))[0]))?.id ?? '', 'awaiting-approval')
    // Claims find nothing meanwhile, and the wait ends.
    for (let passed = 0; passed < 6_000; passed += 500) await clock.advance(500)
    await asked.passed
    const second = await runtime.session('room:2').send('and here')
    go.open()
    expect(await Promise.all([first.result(), second.result()])).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
    await runtime.stop()
  })

  it('S143: background_output answers at once without block, and at its timeout with block, even if the task waits for an approval', async () => {
    const store = memoryStore()
    const clock = manualClock()
    const scout = helper('scout', [{ toolCalls: [callTo('s', 'send')] }], { tools: [guarded('send')] })
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        const task = await taskOf(runtime, 'd')
        if (index > 1) return { text: 'done' }
        await endOf(store, (await childrenOf(store))[0]?.id ?? '', 'awaiting-approval')
        return { toolCalls: [output('now', task), output('later', task, { block: true, timeout: 5_000 })] }
      },
      { store, subagents: [scout], clock },
    )
    const run = await session.send('go')
    await found(store, async () => (await store.readCalls(run.runId)).find((call) => call.toolCallId === 'now')?.outcome)
    expect((await store.readCalls(run.runId)).find((call) => call.toolCallId === 'later')?.outcome).toBeUndefined()
    await clock.advance(5_000)
    await run.result()
    expect([await toldOf(runtime, 'now'), await toldOf(runtime, 'later')]).toMatchObject(
      Array(2).fill({ status: 'awaiting-approval', text: '' }),
    )
    await runtime.stop()
  })

  it('S143: a stop ends the wait of background_output', async () => {
    const store = memoryStore()
    const asked = gate()
    const slow = gate()
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        asked.open()
        return { toolCalls: [output('o', await taskOf(runtime, 'd'), { block: true })] }
      },
      { store, subagents: [helper('scout', async () => (await slow.passed, { text: 'late' }))], clock: manualClock() },
    )
    const run = await session.send('go')
    await asked.passed
    await found(store, async () => (await store.readCalls(run.runId)).find((call) => call.toolCallId === 'o' && call.state === 'started'))
    const stopping = session.stop()
    slow.open()
    expect(await stopping).toMatchObject({ state: 'settled', status: 'stopped' })
    await runtime.stop()
  })

  it('S142: a task of another session and an invalid task id are refused with the reason', async () => {
    const store = memoryStore()
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        const task = await taskOf(runtime, 'd')
        if (index === 3)
          return { toolCalls: [output('o', task), callTo('c', 'background_cancel', { task_id: task }), output('n', 'no task')] }
        return { text: 'done' }
      },
      { store, subagents: [helper('scout', async () => (await nthRun(store, 1), { text: 'found' }))] },
    )
    await (await session.send('go')).result()
    await nthRun(store, 2)
    await (await runtime.session('room:2').send('go')).result()
    for (const call of ['o', 'c']) expect(await toldOf(runtime, call, 'room:2')).toContain('no background task')
    expect(await toldOf(runtime, 'n', 'room:2')).toContain('not a task id')
    await runtime.stop()
  })

  it('S143, S144: an ended task keeps its result, and another process can read it again', async () => {
    const store = memoryStore()
    const scout = helper('scout', async () => (await nthRun(store, 1), { text: 'x'.repeat(30_000) }))
    const first = await team([{ toolCalls: [launch('d', 'scout')] }, { text: 'done' }, { text: 'seen' }], { store, subagents: [scout] })
    await (await first.session.send('go')).result()
    await nthRun(store, 2)
    const task = await taskOf(first.runtime, 'd')
    await first.runtime.stop()
    const cancel = callTo('c', 'background_cancel', { task_id: task })
    const { runtime, session } = await team(
      [{ toolCalls: [output('o', task), output('p', task, { block: true }), cancel] }, { text: 'done' }],
      { store, subagents: [scout] },
    )
    const before = await childrenOf(store)
    await (await session.send('and?')).result()
    const { text, ...told } = (await toldOf(runtime, 'o')) as { text: string }
    expect(told).toEqual({ id: task, agent: 'scout', status: 'completed', error: null })
    expect(text).toMatch(/^x{20000}\n\[10000 more characters are left out\]$/)
    expect(await toldOf(runtime, 'p')).toEqual({ text, ...told })
    expect(await toldOf(runtime, 'c')).toEqual({ id: task, agent: 'scout', status: 'completed' })
    expect(await childrenOf(store)).toEqual(before)
    await runtime.stop()
  })
})

describe('limits of background tasks', () => {
  const launches = (count: number) => [
    { toolCalls: Array.from({ length: count }, (_, index) => launch(`c${index}`, 'scout')) },
    { text: 'done' },
    { text: 'seen' },
  ]

  it('S145: launches in one step beyond maxActive do not start, and the model is told why', async () => {
    const store = memoryStore()
    const slow = gate()
    const { runtime, session } = await team(launches(3), {
      store,
      background: { maxActive: 2 },
      subagents: [helper('scout', async () => (await slow.passed, { text: 'x' }))],
    })
    await (await session.send('go')).result()
    expect(await childrenOf(store)).toHaveLength(2)
    const told = await Promise.all(['c0', 'c1', 'c2'].map((call) => toldOf(runtime, call)))
    expect(told.filter((each) => typeof each === 'string' && each.includes('maxActive: 2'))).toHaveLength(1)
    slow.open()
    await nthRun(store, 2)
    await runtime.stop()
  })

  it('S145: no more tasks are kept than maxRetained allows, ended ones included', async () => {
    const store = memoryStore()
    const { runtime, session } = await team([...launches(1), ...launches(1).slice(0, 2)], {
      store,
      background: { maxRetained: 1 },
      subagents: [helper('scout', async () => (await nthRun(store, 1), { text: 'x' }))],
    })
    await (await session.send('go')).result()
    await nthRun(store, 2)
    await (await session.send('again')).result()
    expect(await childrenOf(store)).toHaveLength(1)
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(JSON.stringify(results.at(-1))).toContain('maxRetained: 1')
    await runtime.stop()
  })

  it('S145: an agent at maxDepth launches nothing', async () => {
    const store = memoryStore()
    const inner = helper('inner', [])
    const steps = [{ toolCalls: [launch('b', 'inner')] }, { text: 'alone' }]
    const scout = helper('scout', async (_call, index) => (await nthRun(store, 1), steps[index] ?? {}), { subagents: [inner] })
    const { runtime, session } = await team(launches(1), { store, background: { maxDepth: 1 }, subagents: [scout] })
    await (await session.send('go')).result()
    await nthRun(store, 2)
    const [child] = await childrenOf(store)
    expect(child).toMatchObject({ status: 'completed' })
    expect(await childrenOf(store, child?.session)).toEqual([])
    await runtime.stop()
  })
})
