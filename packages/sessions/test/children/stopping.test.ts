import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, gate } from '../support.ts'
import {
  callTo,
  childOf,
  childrenOf,
  endOf,
  found,
  guarded,
  handOver,
  helper,
  launch,
  nthRun,
  remindersIn,
  remindersWhen,
  root,
  taskOf,
  team,
  tool,
  toldOf,
} from './support.ts'

/** Creates a tool that runs until it is aborted. */
function stuck(name = 'stuck') {
  const started = gate()
  const aborted: string[] = []
  const made = tool(name, (signal) => {
    started.open()
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        aborted.push(name)
        reject(new Error('told to stop'))
      })
    })
  })
  return { tool: made, started: started.passed, aborted }
}

/** Delegates to `mid`, then hangs. */
const thenOpens = (midEnded: { readonly open: () => void }) => async (_call: unknown, index: number) =>
  index === 0 ? { toolCalls: [handOver('m', 'mid')] } : (midEnded.open(), { hang: 'before' } as const)

const launched = (...calls: ReturnType<typeof launch>[]) => [{ toolCalls: calls }, { text: 'launched' }, { text: 'seen' }]

describe('stop, kill and delete of a session with children', () => {
  it('S98, S100, S108: the stop reaches a tool three levels down, and the receipt has all levels', async () => {
    const store = memoryStore()
    const { tool: hangs, started, aborted } = stuck()
    const third = helper('third', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const second = helper('second', [{ toolCalls: [handOver('c', 'third')] }], { subagents: [third] })
    const first = helper('first', [{ toolCalls: [handOver('b', 'second')] }], { subagents: [second] })
    const { runtime, session, faults } = await team([{ toolCalls: [handOver('a', 'first')] }], {
      store,
      subagents: [first],
      concurrency: 1,
    })
    const run = await session.send('go')
    await started
    const receipt = await session.stop()
    expect(receipt).toMatchObject({
      runId: run.runId,
      state: 'settled',
      status: 'stopped',
      calls: [{ toolCallId: 'a', status: 'cancelled' }],
      children: [
        {
          status: 'stopped',
          calls: [{ toolCallId: 'b', status: 'cancelled' }],
          children: [{ status: 'stopped', children: [{ status: 'stopped', calls: [{ toolCallId: 'x' }] }] }],
        },
      ],
    })
    expect(aborted).toEqual(['stuck'])
    expect(await session.info()).toMatchObject({ status: 'stopped' })
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S98: a child that waits for an approval ends with its parent, even with one slot, and its question at the root is closed', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ toolCalls: [callTo('s', 'send')] }], { tools: [guarded('send')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }], { store, subagents: [scout], concurrency: 1 })
    const run = await session.send('go')
    const { pendingApprovals } = await run.result()
    const receipt = await session.stop()
    expect(receipt).toMatchObject({ state: 'settled', status: 'stopped', children: [{ status: 'stopped', state: 'settled' }] })
    await expect(session.approve(pendingApprovals[0]?.approvalId ?? '')).rejects.toMatchObject({ code: 'approval-conflict' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S97, S98: a session above can stop one subagent by its run id, and the other subagents and its parent go on', async () => {
    const store = memoryStore()
    const [one, other] = [stuck('one'), stuck('other')]
    const inner = helper('inner', [{ toolCalls: [callTo('x', 'one')] }], { tools: [one.tool] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'without it' }], { subagents: [inner] })
    const busy = helper('busy', [{ toolCalls: [callTo('y', 'other')] }], { tools: [other.tool] })
    const { runtime, session, faults } = await team(
      [{ toolCalls: [launch('o', 'outer'), launch('b', 'busy')] }, { text: 'launched' }, { text: 'seen' }, { text: 'seen too' }],
      { store, subagents: [outer, busy] },
    )
    await (await session.send('go')).result()
    await Promise.all([one.started, other.started])
    const [outerRun, busyRun] = [await childOf(store, 'outer'), await childOf(store, 'busy')]
    const innerRun = await childOf(store, 'inner', outerRun.session)
    expect(await session.stop({ runId: innerRun.id })).toMatchObject({
      runId: innerRun.id,
      state: 'settled',
      status: 'stopped',
      calls: [{ toolCallId: 'x' }],
    })
    expect([one.aborted, other.aborted]).toEqual([['one'], []])
    // The run that waited for it continues with this outcome.
    expect((await endOf(store, outerRun.id)).status).toBe('completed')
    expect(await session.stop({ runId: busyRun.id })).toMatchObject({ runId: busyRun.id, state: 'settled', status: 'stopped' })
    expect(other.aborted).toEqual(['other'])
    const stranger = await runtime.session('elsewhere').send('hi')
    await stranger.result()
    await expect(runtime.session('elsewhere').stop({ runId: busyRun.id })).rejects.toMatchObject({ code: 'unknown-run' })
    await expect(session.stop({ runId: stranger.runId })).rejects.toMatchObject({ code: 'unknown-run' })
    // S138: only the run that ended by itself is reported.
    const [reminder = ''] = await remindersWhen(store, session, 1)
    expect(reminder.match(/<background-task /g)).toHaveLength(1)
    expect(reminder).toContain('status="completed"')
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S98, S99, S100: a stop covers the notification runs of a subagent, and the tasks that these runs launched', async () => {
    const store = memoryStore()
    const { tool: hangs, started, aborted } = stuck()
    const late = stuck('late')
    const midEnded = gate()
    const leaf = helper('leaf', async () => (await midEnded.passed, { text: 'the leaf' }))
    const deep = helper('deep', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const mid = helper(
      'mid',
      [...launched(launch('l', 'leaf')).slice(0, 2), { toolCalls: [launch('d', 'deep')] }, { toolCalls: [callTo('y', 'late')] }],
      {
        subagents: [leaf, deep],
        tools: [late.tool],
      },
    )
    const { runtime, session, faults } = await team(thenOpens(midEnded), { store, subagents: [mid] })
    await session.send('go')
    await Promise.all([started, late.started])
    const receipt = await session.stop()
    const calls = [{ toolCallId: 'd' }, { toolCallId: 'y' }]
    expect(receipt).toMatchObject({
      state: 'settled',
      status: 'stopped',
      children: [
        { status: 'completed', children: [{ status: 'completed' }] },
        { state: 'settled', status: 'stopped', calls, children: [{ state: 'settled', status: 'stopped', calls: [{ toolCallId: 'x' }] }] },
      ],
    })
    expect([...aborted, ...late.aborted]).toEqual(['stuck', 'late'])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S98: a stop reaches a task that was launched by an ended notification run of a subagent', async () => {
    const store = memoryStore()
    const { tool: hangs, started, aborted } = stuck()
    const midEnded = gate()
    const leaf = helper('leaf', async () => (await midEnded.passed, { text: 'the leaf' }))
    const deep = helper('deep', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const mid = helper('mid', [...launched(launch('l', 'leaf')).slice(0, 2), { toolCalls: [launch('d', 'deep')] }, { text: 'launched' }], {
      subagents: [leaf, deep],
    })
    const { runtime, session } = await team(thenOpens(midEnded), { store, subagents: [mid] })
    await session.send('go')
    await started
    const [child] = await childrenOf(store)
    await nthRun(store, 2, child?.session)
    expect(await session.stop()).toMatchObject({
      state: 'settled',
      status: 'stopped',
      children: [{ status: 'completed' }, { status: 'completed', children: [{ status: 'stopped', calls: [{ toolCallId: 'x' }] }] }],
    })
    expect(aborted).toEqual(['stuck'])
    await runtime.stop()
  })

  it('S107: a spawn that meets a stop is refused and leaves nothing', async () => {
    const store = memoryStore()
    const asked = gate()
    const slow = gate()
    const scout = helper('scout', [])
    const { runtime, session } = await team(
      async () => (asked.open(), await slow.passed, { toolCalls: [handOver('d', 'scout'), launch('e', 'scout')] }),
      { store, subagents: [scout] },
    )
    const run = await session.send('go')
    await asked.passed
    const stopping = session.stop()
    await found(store, async () => {
      const read = await store.readRun(run.runId)
      return read.status === 'found' && read.value.stop ? true : undefined
    })
    slow.open()
    expect(await stopping).toMatchObject({ state: 'settled', status: 'stopped', children: [] })
    expect(await childrenOf(store)).toEqual([])
    await runtime.stop()
  })

  it('S107: a child whose parent was aborted never begins', async () => {
    const store = memoryStore()
    const { runtime, session } = await team(launched(launch('d', 'scout')), { store, subagents: [helper('scout', [])], concurrency: 1 })
    const reading = session.events()
    await session.send('go')
    for await (const event of reading) if (event.type === 'child-start') break
    await session.stop()
    const [child] = await childrenOf(store)
    expect(child).toMatchObject({ status: 'aborted' })
    expect(child?.turn).toBeUndefined()
    expect(await remindersIn(session)).toEqual([])
    await runtime.stop()
  })

  it('S138: a cancelled task is not reported; its finished sibling is', async () => {
    const store = memoryStore()
    const { tool: hangs, started } = stuck()
    const quick = helper('quick', [{ text: 'quick' }])
    const slow = helper('slow', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    let task = ''
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('a', 'quick'), launch('b', 'slow')] }
        if (index === 2) return { toolCalls: [callTo('c', 'background_cancel', { task_id: task })] }
        return { text: `answer ${index}` }
      },
      { store, subagents: [quick, slow] },
    )
    await (await session.send('go')).result()
    await started
    task = await taskOf(runtime, 'b')
    await (await session.send('cancel it')).result()
    expect(await toldOf(runtime, 'c')).toEqual({ id: task, agent: 'slow', status: 'aborted' })
    const reminders = await found(store, async () => {
      const all = await remindersIn(session)
      return all.length > 0 ? all : undefined
    })
    expect(reminders).toHaveLength(1)
    expect(reminders[0]).toContain(await taskOf(runtime, 'a'))
    expect(reminders[0]).not.toContain(task)
    expect(await store.readInbox(root, ['child-settled'])).toEqual([])
    await runtime.stop()
  })

  it('S138: a stop of the turn ends the tasks that the turn launched, and a task that had finished is reported', async () => {
    const store = memoryStore()
    const { tool: hangs, started } = stuck()
    const quick = helper('quick', [{ text: 'quick' }])
    const slow = helper('slow', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const { runtime, session } = await team(
      (_call, index) =>
        index === 0 ? { toolCalls: [launch('a', 'quick'), launch('b', 'slow')] } : index === 1 ? { hang: 'before' } : { text: 'seen' },
      { store, subagents: [quick, slow] },
    )
    await session.send('go')
    await started
    const [first, second] = [await childOf(store, 'quick'), await childOf(store, 'slow')]
    await endOf(store, first.id)
    expect((await session.stop()).children.map((child) => child.status)).toEqual(['completed', 'stopped'])
    expect(await endOf(store, second.id)).toMatchObject({ status: 'aborted' })
    await nthRun(store, 2)
    const reminders = await remindersIn(session)
    expect(reminders).toHaveLength(1)
    expect(reminders[0]).toContain(first.parent?.taskId)
    expect(reminders[0]).not.toContain(second.parent?.taskId)
    await checkLog(session)
    await runtime.stop()
  })

  it('S138: a kill ends the open tasks, and a task that had finished is reported', async () => {
    const store = memoryStore()
    const { tool: hangs, started } = stuck()
    const quick = helper('quick', [{ text: 'quick' }])
    const slow = helper('slow', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const { runtime, session } = await team(
      (_call, index) =>
        index === 0 ? { toolCalls: [launch('a', 'quick'), launch('b', 'slow')] } : index === 1 ? { hang: 'before' } : { text: 'seen' },
      { store, subagents: [quick, slow] },
    )
    await session.send('go')
    await started
    const [first, second] = [await childOf(store, 'quick'), await childOf(store, 'slow')]
    await endOf(store, first.id)
    await session.kill()
    expect(await endOf(store, second.id)).toMatchObject({ status: 'aborted' })
    await nthRun(store, 2)
    const again = runtime.session(root)
    const reminders = await remindersIn(again)
    expect(reminders).toHaveLength(1)
    expect(reminders[0]).toContain(first.parent?.taskId)
    expect(reminders[0]).not.toContain(second.parent?.taskId)
    await checkLog(again)
    await runtime.stop()
  })

  it('S108: a task that ends after its stop is not reported', async () => {
    const store = memoryStore()
    const asked = gate()
    const slow = gate()
    const scout = helper('scout', async () => (asked.open(), await slow.passed, { text: 'late', ignoreAbort: true }))
    const { runtime, session } = await team(
      async (_call, index) => {
        if (index === 0) return { toolCalls: [launch('d', 'scout')] }
        if (index === 2) return { toolCalls: [callTo('c', 'background_cancel', { task_id: await taskOf(runtime, 'd') })] }
        return { text: `answer ${index}` }
      },
      { store, subagents: [scout] },
    )
    await (await session.send('go')).result()
    await asked.passed
    const cancelling = (await session.send('cancel it')).result()
    const [child] = await childrenOf(store)
    await found(store, async () => ((await store.readRun(child?.id ?? '')) as { value?: { stop?: object } }).value?.stop)
    slow.open()
    await cancelling
    expect(await store.readInbox(root, ['child-settled'])).toEqual([])
    expect(await remindersIn(session)).toEqual([])
    await runtime.stop()
  })

  it('S104, S105, S138: kill ends background children of earlier turns, delete removes them', async () => {
    const store = memoryStore()
    const { tool: hangs, started, aborted } = stuck()
    const scout = helper('scout', [{ toolCalls: [callTo('x', 'stuck')] }], { tools: [hangs] })
    const { runtime, session } = await team(launched(launch('d', 'scout')), { store, subagents: [scout] })
    await (await session.send('go')).result()
    await started
    const receipt = await session.kill()
    expect(receipt.children).toMatchObject([{ status: 'stopped', state: 'settled' }])
    const [child] = await childrenOf(store)
    await found(store, async () => (aborted.length > 0 ? true : undefined))
    await runtime.session(root).delete()
    expect(await store.readSession(child?.session ?? '')).toEqual({ status: 'missing' })
    expect(await store.readRun(child?.id ?? '')).toEqual({ status: 'missing' })
    await runtime.stop()
  })

  it('S138: a stop of the launching turn ends its tasks; a stop of another turn does not', async () => {
    const store = memoryStore()
    const slow = gate()
    const { tool: hangs, started } = stuck()
    const scout = helper('scout', async () => (await slow.passed, { text: 'found' }))
    const { runtime, session } = await team(
      (_call, index) =>
        index === 0
          ? { toolCalls: [launch('d', 'scout')] }
          : index === 2
            ? { toolCalls: [callTo('x', 'stuck')] }
            : { text: `answer ${index}` },
      { store, subagents: [scout], tools: [hangs] },
    )
    await (await session.send('go')).result()
    await session.send('other work')
    await started
    expect(await session.stop()).toMatchObject({ state: 'settled', status: 'stopped', children: [] })
    slow.open()
    await nthRun(store, 3)
    expect(await remindersIn(session)).toHaveLength(1)
    await checkLog(session)
    await runtime.stop()
  })
})
