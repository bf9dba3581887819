import { defineExtension, emptyView, reduceEvents } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent, RunRecord, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, gate } from '../support.ts'
import { callTo, childrenOf, endOf, found, guarded, handOver, helper, launch, remote, root, team, tool } from './support.ts'

const told = (log: readonly LoggedEvent[], childRunId: string) =>
  log.flatMap((event) =>
    'childRunId' in event && event.childRunId === childRunId ? [event.type === 'child-update' ? `step ${event.step}` : event.type] : [],
  )

async function oneChild(session: Session, run: RunRecord) {
  const log = await checkLog(session)
  const view = log.reduce(reduceEvents, emptyView)
  expect(view.children).toHaveLength(1)
  return { log, told: told(log, run.id), view, child: view.children[0] }
}

describe('subagents in the log of their parent', () => {
  it('S147: a blocking subagent logs one start, each step, each resume, and one end, although its parent resumes too', async () => {
    const store = memoryStore()
    const pay = guarded('pay')
    const scout = helper('scout', [{ text: 'I look', toolCalls: [callTo('x', 'pay')] }, { text: 'found' }], { tools: [pay] })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout', { description: 'a look' })] }, { text: 'done' }], {
      store,
      subagents: [scout],
    })
    const asked = await (await session.send('go')).result()
    expect(asked).toMatchObject({ status: 'awaiting-approval' })
    const [run] = await childrenOf(store)
    if (!run) throw new Error('no child')
    expect(await oneChild(session, run)).toMatchObject({
      told: ['child-start', 'step 1'],
      child: {
        status: 'waiting-for-user',
        outcome: 'awaiting-approval',
        step: 1,
        text: 'I look',
        toolNames: ['pay'],
        description: 'a look',
      },
    })
    await session.approve(asked.pendingApprovals[0]?.approvalId ?? '')
    const parent = asked.runId
    await endOf(store, parent)
    const end = await oneChild(session, run)
    expect(end).toMatchObject({
      told: ['child-start', 'step 1', 'step 1', 'step 2', 'child-end'],
      child: { status: 'completed', outcome: 'completed', step: 2, text: 'found' },
    })
    const settled = await runtime.run(run.id)
    expect(end.child?.usage).toEqual(settled?.usage)
    const types = end.log.map(({ type }) => type)
    expect(types.indexOf('child-end')).toBeLessThan(types.indexOf('tool-execution-end'))
    expect(types.filter((type) => type === 'usage')).toHaveLength(1)
    await runtime.stop()
  })

  it.each([
    ['', []],
    [' and has a hook behind its turn', [defineExtension({ name: 'watch', hooks: { onSavePoint: () => undefined } })]],
  ])(
    'S147, S215: a subagent that waits after its answer%s is shown as waiting, and as running once it resumes',
    async (_what, extensions) => {
      const store = memoryStore()
      const [looked, go] = [gate(), gate()]
      const asks = { text: 'I ask', toolCalls: [callTo('l', 'look'), callTo('w', 'where')] }
      const scout = helper('scout', async (_call, index) => (index === 0 ? asks : (await go.passed, { text: 'found' })), {
        extensions,
        tools: [tool('look', () => looked.passed), remote('where')],
      })
      const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], { store, subagents: [scout] })
      const handle = await session.send('go')
      const child = await found(store, async () => (await childrenOf(store)).find(({ turnState }) => turnState?.stepState === 'answered'))
      expect(await oneChild(session, child)).toMatchObject({ told: ['child-start', 'step 1'], child: { status: 'running' } })
      looked.open()
      await handle.result()
      const said = { step: 1, text: 'I ask', toolNames: ['look', 'where'] }
      expect(await oneChild(session, child)).toMatchObject({
        told: ['child-start', 'step 1', 'step 1'],
        child: { ...said, status: 'waiting-for-user', outcome: 'awaiting-tools' },
      })
      await session.submitToolResults([{ toolCallId: 'w', path: ['d'], output: 'Oslo' }])
      const again = await found(store, async () => {
        const shown = await oneChild(session, child)
        return shown.child?.status === 'running' ? shown : undefined
      })
      expect(again).toMatchObject({ told: ['child-start', 'step 1', 'step 1', 'step 1'], child: said })
      go.open()
      await endOf(store, handle.runId)
      expect(await oneChild(session, child)).toMatchObject({ child: { status: 'completed', step: 2, text: 'found' } })
      await runtime.stop()
    },
  )

  it('S147: a background subagent ends in the log of a parent whose turn ended long before', async () => {
    const store = memoryStore()
    const go = gate()
    const scout = helper('scout', async () => (await go.passed, { text: 'found' }))
    const { runtime, session } = await team([{ toolCalls: [launch('d', 'scout')] }, { text: 'launched' }, { text: 'I see' }], {
      store,
      subagents: [scout],
    })
    const run = await session.send('go')
    await run.result()
    const [child] = await childrenOf(store)
    if (!child) throw new Error('no child')
    expect(await oneChild(session, child)).toMatchObject({
      told: ['child-start'],
      child: { status: 'running', taskId: child.parent?.taskId },
    })
    go.open()
    await endOf(store, child.id)
    expect(await oneChild(session, child)).toMatchObject({ told: ['child-start', 'step 1', 'child-end'], child: { status: 'completed' } })
    await runtime.stop()
  })

  it.each(['stop', 'kill', 'expiry'] as const)('S147: the view shows that a background subagent has ended after a %s', async (how) => {
    const store = memoryStore()
    const scout = helper('scout', [{ hang: 'before' }])
    const steps = [{ toolCalls: [launch('d', 'scout')] }, how === 'stop' ? { hang: 'before' as const } : { text: 'launched' }]
    const clock = manualClock()
    const { runtime, session } = await team(steps, { store, subagents: [scout], clock })
    const opened = how === 'expiry' ? runtime.session(root, { ttl: { maxAgeMs: 60_000 } }) : session
    const run = await opened.send('go')
    if (how !== 'stop') await run.result()
    const child = await found(store, async () => (await childrenOf(store)).find(({ openMessageId }) => openMessageId !== undefined))
    if (how === 'kill') await session.kill()
    if (how === 'stop') await Promise.all([run.stop({ waitMs: 0 }), endOf(store, run.runId)])
    if (how === 'expiry') await clock.advance(60_000)
    await endOf(store, child.id)
    const log = await checkLog(runtime.session(root))
    expect(told(log, child.id).filter((each) => each !== 'step 1')).toEqual(['child-start', 'child-end'])
    expect(log.reduce(reduceEvents, emptyView).children[0]).toMatchObject({ status: 'stopped', outcome: 'aborted' })
    await runtime.stop()
  })
})
