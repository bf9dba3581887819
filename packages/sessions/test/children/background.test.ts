import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, gate, types } from '../support.ts'
import {
  callTo,
  childrenOf,
  endOf,
  handOver,
  helper,
  launch,
  nthRun,
  remindersIn,
  remindersWhen,
  root,
  taskOf,
  team,
  toldOf,
} from './support.ts'

const taskId = /^bg_[0-9a-f]{32}$/

describe('a background subagent', () => {
  it('S129, S139, S141: the launch returns, the turn ends, and a notification run reports the end of the task', async () => {
    const store = memoryStore()
    const go = gate()
    const scout = helper('scout', async () => (await go.passed, { text: 'secret result' }))
    const { runtime, session, model, faults } = await team(
      [{ toolCalls: [launch('d', 'scout', { description: 'look <here> & "there"' })] }, { text: 'launched it' }, { text: 'I see' }],
      { store, subagents: [scout] },
    )
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'launched it' })
    const told = await toldOf(runtime, 'd')
    expect(told).toMatchObject({
      task_id: expect.stringMatching(taskId) as string,
      status: 'launched',
      agent: 'scout',
      run_in_background: true,
      message: expect.any(String) as string,
    })
    go.open()
    expect(await nthRun(store, 2)).toMatchObject({ kind: 'notification', status: 'completed' })
    const log = await checkLog(session)
    expect(types(log)).toContain('runtime-input')
    expect(log.filter((event) => event.type === 'user-message')).toHaveLength(1)
    const [reminder = '', ...others] = await remindersIn(session)
    expect(others).toEqual([])
    const task = await taskOf(runtime, 'd')
    for (const part of [task, 'scout', 'completed', 'look &lt;here&gt; &amp; &quot;there&quot;', 'background_output'])
      expect(JSON.stringify(reminder)).toContain(part.replaceAll('"', '\\"'))
    for (const part of ['secret', root, run.runId]) expect(reminder).not.toContain(part)
    expect(model.calls).toHaveLength(3)
    expect(await store.readInbox(root, ['child-settled'])).toEqual([])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S139, S140: an active run gets the reminder at its next boundary, before it can end', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ text: 'found' }])
    let child = ''
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        if (index > 1) return { text: 'I see' }
        child = (await childrenOf(store))[0]?.id ?? ''
        await endOf(store, child)
        return { text: 'wanted to end' }
      },
      { store, subagents: [scout] },
    )
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'I see' })
    expect(await remindersIn(session)).toHaveLength(1)
    expect((await store.listRuns(root, {})).items).toHaveLength(1)
    await checkLog(session)
    await runtime.stop()
  })

  it('S136: a completed task of a group that has not settled does not delay the end of the run', async () => {
    const store = memoryStore()
    const slow = gate()
    const fast = helper('fast', [{ text: 'fast' }])
    const late = helper('late', async () => (await slow.passed, { text: 'late' }))
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('a', 'fast'), launch('b', 'late')] }
        const [first] = await childrenOf(store)
        await endOf(store, first?.id ?? '')
        return { text: `answer ${index}` }
      },
      { store, subagents: [fast, late] },
    )
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed', text: 'answer 1' })
    expect(await remindersIn(session)).toEqual([])
    slow.open()
    await nthRun(store, 2)
    const [reminder = '', ...others] = await remindersIn(session)
    expect(others).toEqual([])
    expect(reminder).toContain(await taskOf(runtime, 'a'))
    expect(reminder).toContain(await taskOf(runtime, 'b'))
    await checkLog(session)
    await runtime.stop()
  })

  it.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]], [[2, 0, 1]]])(
    'S136: three successes in the order %j are reported once, all together',
    async (order) => {
      const store = memoryStore()
      const gates = [gate(), gate(), gate()]
      const agents = gates.map((each, index) => helper(`a${index}`, async () => (await each.passed, { text: `${index}` })))
      const { runtime, session } = await team(
        [{ toolCalls: agents.map((_, index) => launch(`c${index}`, `a${index}`)) }, { text: 'launched' }, { text: 'seen' }],
        { store, subagents: agents },
      )
      await (await session.send('go')).result()
      const ids = new Map((await childrenOf(store)).map((child) => [child.parent?.toolCallId, child.id]))
      for (const index of order) {
        expect(await remindersIn(session)).toEqual([])
        gates[index]?.open()
        await endOf(store, ids.get(`c${index}`) ?? '')
      }
      await nthRun(store, 2)
      const reminders = await remindersIn(session)
      expect(reminders).toHaveLength(1)
      for (const call of ['c0', 'c1', 'c2']) expect(reminders[0]).toContain(await taskOf(runtime, call))
      expect((await store.listRuns(root, {})).items).toHaveLength(2)
      await runtime.stop()
    },
  )

  it('S137: a failure is reported at once, and not again with its group', async () => {
    const store = memoryStore()
    const slow = gate()
    const fails = helper('fails', [{ error: { status: 400, message: 'broken' } }])
    const late = helper('late', async () => (await slow.passed, { text: 'late' }))
    const { runtime, session } = await team(
      [{ toolCalls: [launch('a', 'fails'), launch('b', 'late')] }, { text: 'launched' }, { text: 'seen' }, { text: 'seen too' }],
      { store, subagents: [fails, late] },
    )
    await (await session.send('go')).result()
    const first = await remindersWhen(store, session, 1)
    expect(first[0]).toContain(await taskOf(runtime, 'a'))
    expect(first[0]).toContain('status="error"')
    slow.open()
    const all = await remindersWhen(store, session, 2)
    expect(all[1]).toContain(await taskOf(runtime, 'b'))
    expect(all[1]).not.toContain(await taskOf(runtime, 'a'))
    await nthRun(store, 2)
    await runtime.stop()
  })

  it('S139: if another run of the session is active, that run takes the reminder at its next boundary', async () => {
    const store = memoryStore()
    const slow = gate()
    const scout = helper('scout', async () => (await slow.passed, { text: 'found' }))
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        if (index === 2) {
          slow.open()
          await endOf(store, (await childrenOf(store))[0]?.id ?? '')
        }
        return { text: `answer ${index}` }
      },
      { store, subagents: [scout] },
    )
    await (await session.send('go')).result()
    expect(await (await session.send('something else')).result()).toMatchObject({ status: 'completed', text: 'answer 3' })
    expect(await remindersIn(session)).toHaveLength(1)
    expect((await store.listRuns(root, {})).items.map((run) => run.kind)).toEqual(['user', 'user'])
    await runtime.stop()
  })

  it('S128: two launches under one key make two tasks and one conversation', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ text: 'one' }, { text: 'two' }])
    const more = { sessionKey: 'notes' }
    const { runtime, session } = await team(
      [{ toolCalls: [launch('a', 'scout', more), handOver('b', 'scout', more)] }, { text: 'done' }, { text: 'seen' }],
      { store, subagents: [scout] },
    )
    await (await session.send('go')).result()
    const children = await childrenOf(store)
    expect(children.map((child) => child.session)).toEqual(Array(2).fill('room:1~scout~notes'))
    expect(children.map((child) => child.parent?.taskId !== undefined)).toEqual([true, false])
    await runtime.stop()
  })
})

describe('without background work', () => {
  it.each([
    ['background: false', { background: false }],
    ['timers: false and no alarm', { timers: false }],
  ] as const)('S127: with %s neither the schema nor the tools nor a forced call allow background work', async (_what, options) => {
    const store = memoryStore()
    const { runtime, session, model } = await team(
      [
        {
          toolCalls: [
            launch('d', 'scout'),
            callTo('o', 'background_output', { task_id: 'bg_1' }),
            callTo('c', 'background_cancel', { task_id: 'bg_1' }),
          ],
        },
        { text: 'done' },
      ],
      { store, subagents: [helper('scout', [])], ...options },
    )
    expect(runtime.background).toBe('none')
    const run = await session.send('go')
    if ('timers' in options) await runtime.drain()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const tools = model.calls[0]?.tools ?? []
    expect(tools.map((each) => each.name)).toEqual(['delegate_to_scout'])
    expect(JSON.stringify(tools)).not.toContain('run_in_background')
    for (const call of ['d', 'o', 'c']) expect(typeof (await toldOf(runtime, call))).toBe('string')
    expect(await childrenOf(store)).toEqual([])
    await runtime.stop()
  })

  it('S127: an alarm of the host replaces timers, and a memory store keeps background work within the process', async () => {
    const { runtime } = await team([], { subagents: [], timers: false, onWake: () => undefined })
    expect(runtime.background).toBe('in-process')
    await runtime.stop()
  })
})
