import type { Agent } from '@bowline/agent-loop'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, gate, types } from '../support.ts'
import { childrenOf, endOf, handOver, helper, root, team, tool, toldOf } from './support.ts'

const twice = (a: object = {}, b: object = {}) => [
  { toolCalls: [handOver('a', 'scout', a as never), handOver('b', 'scout', b as never)] },
  { text: 'done' },
]

describe('a blocking subagent', () => {
  it('S132, S147: is a durable run under its parent, and the log of the parent reports it in order', async () => {
    const store = memoryStore()
    const { runtime, session, faults } = await team(
      [{ toolCalls: [handOver('d', 'scout', { description: 'a look' })] }, { text: 'done' }],
      {
        store,
        subagents: [helper('scout', [{ text: 'it is there' }])],
      },
    )
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    const [child] = await childrenOf(store)
    expect(child).toMatchObject({
      kind: 'child',
      status: 'completed',
      parent: { session: root, runId: run.runId, toolCallId: 'd', path: ['scout'], description: 'a look' },
    })
    expect(await toldOf(runtime, 'd')).toEqual({ result: 'completed', text: 'it is there', steps: 1 })
    const log = await checkLog(session)
    const ofCall = log.filter((event) => 'toolCallId' in event && event.toolCallId === 'd' && !event.type.startsWith('tool-call'))
    expect(types(ofCall)).toEqual(['tool-execution-start', 'child-start', 'child-update', 'child-end', 'tool-execution-end'])
    expect(await store.readInbox(root, ['child-changed', 'child-settled'])).toEqual([])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S131: can be read by the key of its session, but the caller gets no handle for that key', async () => {
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], {
      subagents: [helper('scout', [{ text: 'it is there' }])],
    })
    await (await session.send('go')).result()
    const [found] = (await runtime.sessions({ parent: root })).items
    const child = runtime.reader(found?.key ?? '')
    expect(await child.info()).toEqual(found)
    expect((await child.messages()).items.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await child.runs()).items).toMatchObject([{ kind: 'child', status: 'completed' }])
    expect(() => runtime.session(found?.key ?? '')).toThrow(expect.objectContaining({ code: 'invalid-key' }))
    expect(() => runtime.reader(`${root}~`)).toThrow(expect.objectContaining({ code: 'invalid-key' }))
    expect(await runtime.reader(root).info()).toEqual(await session.info())
    await runtime.stop()
  })

  it('S133: with one slot, a tree of three levels finishes, and no run is woken without need', async () => {
    const store = memoryStore()
    const third = helper('third', [{ text: 'three' }])
    const second = helper('second', [{ toolCalls: [handOver('c', 'third')] }, { text: 'two' }], { subagents: [third] })
    const first = helper('first', [{ toolCalls: [handOver('b', 'second')] }, { text: 'one' }], { subagents: [second] })
    const { runtime, session, faults } = await team([{ toolCalls: [handOver('a', 'first')] }, { text: 'done' }], {
      store,
      concurrency: 1,
      subagents: [first],
    })
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed', text: 'done' })
    expect((await store.readEvents(root, 0, 100)).events.filter(({ type }) => type === 'turn-start')).toHaveLength(2)
    await checkLog(session)
    const [one] = await childrenOf(store)
    const [two] = await childrenOf(store, one?.session)
    const [three] = await childrenOf(store, two?.session)
    expect([one, two, three].map((child) => child?.parent?.path)).toEqual([['first'], ['first', 'second'], ['first', 'second', 'third']])
    expect([one, two, three].every((child) => child?.parent?.root === root && child.status === 'completed')).toBe(true)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('A165: a call deeper than the agents above allow is refused before a child exists', async () => {
    const store = memoryStore()
    const below = (name: string, next: string, agent: Agent) =>
      helper(name, [{ toolCalls: [handOver(name, next)] }, { text: `${name} is back` }], { subagents: [agent], limits: { maxDepth: 9 } })
    const first = below('first', 'second', below('second', 'third', helper('third', [{ text: 'three' }])))
    const { runtime, session } = await team([{ toolCalls: [handOver('a', 'first')] }, { text: 'done' }], {
      store,
      subagents: [first],
      agent: { limits: { maxDepth: 2 } },
    })
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed', text: 'done' })
    const [one] = await childrenOf(store)
    const [two] = await childrenOf(store, one?.session)
    expect([one, two].map((child) => child?.parent?.maxDepth)).toEqual([2, 2])
    expect(await childrenOf(store, two?.session)).toEqual([])
    expect(await store.readCalls(two?.id ?? '')).toMatchObject([
      { toolCallId: 'second', outcome: { output: { value: expect.stringContaining('maxDepth: 2') as string } } },
    ])
    expect(await toldOf(runtime, 'a')).toMatchObject({ text: 'first is back' })
    await runtime.stop()
  })

  it('S128, S131: one agent called twice in a step works in two sessions of its own', async () => {
    const store = memoryStore()
    const { runtime, session } = await team(twice(), { store, subagents: [helper('scout', [{ text: 'one' }, { text: 'two' }])] })
    await (await session.send('go')).result()
    const children = await childrenOf(store)
    expect(new Set(children.map((child) => child.session)).size).toBe(2)
    for (const { session: key } of children) expect(key).toMatch(/^room:1~scout~bg_[0-9a-f]{32}$/)
    expect([await toldOf(runtime, 'a'), await toldOf(runtime, 'b')].map((told) => (told as { text: string }).text).sort()).toEqual([
      'one',
      'two',
    ])
    await checkLog(session)
    await runtime.stop()
  })

  it('S131: runs under one key continue the same conversation, one after the other', async () => {
    const store = memoryStore()
    const scout = helper('scout', ({ prompt }) => ({ text: `${prompt.filter((message) => message.role === 'user').length} asked` }))
    const { runtime, session } = await team(twice({ sessionKey: 'notes' }, { sessionKey: 'notes' }), { store, subagents: [scout] })
    await (await session.send('go')).result()
    expect((await childrenOf(store)).map((child) => [child.session, child.status])).toEqual(
      Array(2).fill(['room:1~scout~notes', 'completed']),
    )
    expect([await toldOf(runtime, 'a'), await toldOf(runtime, 'b')]).toMatchObject([{ text: '1 asked' }, { text: '2 asked' }])
    await runtime.stop()
  })

  it.each(['../x', 'a~b', 'a:b', '', 'x'.repeat(81)])('S131: the suffix %j is refused, and nothing starts', async (sessionKey) => {
    const store = memoryStore()
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout', { sessionKey })] }, { text: 'done' }], {
      store,
      subagents: [helper('scout', [])],
    })
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed' })
    expect(await childrenOf(store)).toEqual([])
    expect(String(await toldOf(runtime, 'd'))).toContain('sessionKey')
    await runtime.stop()
  })

  it('S131: two sessions that share an agent and a suffix share no child', async () => {
    const store = memoryStore()
    const step = { toolCalls: [handOver('d', 'scout', { sessionKey: 'notes' })] }
    const { runtime, session } = await team([step, { text: 'done' }, step, { text: 'done' }], {
      store,
      subagents: [helper('scout', [{ text: 'x' }, { text: 'y' }])],
    })
    await (await session.send('go')).result()
    await (await runtime.session('room:2').send('go')).result()
    expect((await childrenOf(store, 'room:2')).map((child) => child.session)).toEqual(['room:2~scout~notes'])
    expect(await childrenOf(store)).toHaveLength(1)
    await runtime.stop()
  })

  it('S134: its text is cut with a mark, and its events stay in its own log', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ toolCalls: [{ id: 'x', name: 'look', input: {} }] }, { text: 'a'.repeat(30_000) }], {
      tools: [tool('look', () => 'deep secret')],
    })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], { store, subagents: [scout] })
    await (await session.send('go')).result()
    const { text } = (await toldOf(runtime, 'd')) as { text: string }
    expect(text.length).toBeLessThan(20_200)
    expect(text).not.toBe('a'.repeat(text.length))
    const { items } = await session.messages()
    expect(items.map((message) => message.role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
    expect(JSON.stringify(await checkLog(session))).not.toContain('deep secret')
    await runtime.stop()
  })

  it('S137: a failure is reported to the model as an error, and the turn goes on', async () => {
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], {
      subagents: [helper('scout', [{ error: { status: 400, message: 'no such thing' } }])],
    })
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed' })
    expect(await toldOf(runtime, 'd')).toMatchObject({ result: 'error' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S132: a child that ends before its parent waits for it is not missed', async () => {
    const slow = gate()
    const scout = helper('scout', () => ({ text: 'quick' }))
    const calls = [handOver('d', 'scout'), { id: 's', name: 'slow', input: {} }]
    const { runtime, session } = await team([{ toolCalls: calls }, { text: 'done' }], {
      subagents: [scout],
      tools: [tool('slow', () => slow.passed.then(() => 'over'))],
    })
    const run = await session.send('go')
    const store = runtime.store
    for await (const event of session.events()) if (event.type === 'child-start') break
    const [child] = await childrenOf(store)
    await endOf(store, child?.id ?? '')
    slow.open()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await checkLog(session)
    await runtime.stop()
  })
})
