import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { LoggedEvent, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, logOf } from '../support.ts'
import { callTo, found, guarded, handOver, helper, launch, nthRun, remote, root, team } from './support.ts'

const viewOf = async (session: Session) => (await logOf(session)).reduce(reduceEvents, emptyView)
const last = { text: 'seen' }

/** Returns the first event of this type in the log of the root. */
function told<Type extends LoggedEvent['type']>(
  store: SessionStore,
  session: Session,
  type: Type,
): Promise<Extract<LoggedEvent, { type: Type }>> {
  return found(store, async () =>
    (await logOf(session)).find((event): event is Extract<LoggedEvent, { type: Type }> => event.type === type),
  )
}

describe('questions of background subagents', () => {
  it.each<[string, boolean]>([
    ['launched by the root', false],
    ['launched two levels down, of one name', true],
  ])('S94: an approval asked by a subagent %s appears in the log of the root and is answered there', async (_what, deep) => {
    const store = memoryStore()
    const sent: string[] = []
    const asks = helper('scout', [{ toolCalls: [callTo('s', 'send')] }, { text: 'asked' }], {
      tools: [guarded('send', () => (sent.push('sent'), 'sent'))],
    })
    const between = helper('scout', [{ toolCalls: [launch('d', 'scout')] }, { text: 'launched' }, last], { subagents: [asks] })
    const first = deep ? handOver('d', 'scout') : launch('d', 'scout')
    const { runtime, session, faults } = await team([{ toolCalls: [first] }, last, last], { store, subagents: [deep ? between : asks] })
    await (await session.send('go')).result()
    const question = await told(store, session, 'approval-requested')
    const path = deep ? ['d', 'd'] : ['d']
    expect(question).toMatchObject({
      toolCallId: 's',
      toolName: 'send',
      path,
      background: path,
      agent: deep ? ['scout', 'scout'] : ['scout'],
    })
    const { approvalId } = question
    expect((await viewOf(session)).pendingApprovals).toMatchObject([{ approvalId, background: path }])
    expect(await session.approve(approvalId, { by: 'ann' })).toMatchObject({ decision: 'approve' })
    expect(await told(store, session, 'approval-resolved')).toMatchObject({ approvalId, decision: 'approve', by: 'ann', background: path })
    expect((await viewOf(session)).pendingApprovals).toEqual([])
    if (!deep) await nthRun(store, 2)
    await found(store, async () => (sent.length > 0 ? true : undefined))
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S94: an approval asked below a background subagent has the whole path, and stays open during other turns of the root', async () => {
    const store = memoryStore()
    const inner = helper('inner', [{ toolCalls: [callTo('s', 'send')] }, { text: 'inner' }], { tools: [guarded('send')] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'outer' }], { subagents: [inner] })
    const { runtime, session } = await team([{ toolCalls: [launch('o', 'outer')] }, last, last, last], { store, subagents: [outer] })
    await (await session.send('go')).result()
    const { approvalId, ...question } = await told(store, session, 'approval-requested')
    expect(question).toMatchObject({ path: ['o', 'i'], agent: ['outer', 'inner'], background: ['o'] })
    await (await session.send('something else')).result()
    expect((await viewOf(session)).pendingApprovals).toMatchObject([{ approvalId }])
    await session.deny(approvalId, { reason: 'no' })
    expect(await told(store, session, 'approval-resolved')).toMatchObject({
      approvalId,
      decision: 'deny',
      reason: 'no',
      agent: ['outer', 'inner'],
    })
    await nthRun(store, 3)
    await checkLog(session)
    await runtime.stop()
  })

  it('S94: a remote call is listed at the root until it is answered there by its path', async () => {
    const store = memoryStore()
    const scout = helper('scout', [{ toolCalls: [callTo('w', 'where')] }, { text: 'done' }], { tools: [remote('where')] })
    const { runtime, session } = await team([{ toolCalls: [launch('d', 'scout')] }, last, last], { store, subagents: [scout] })
    await (await session.send('go')).result()
    expect(await told(store, session, 'awaiting-tools')).toMatchObject({
      background: ['d'],
      pendingToolCalls: [{ toolCallId: 'w', path: ['d'], agent: ['scout'] }],
    })
    const [call] = (await viewOf(session)).pendingToolCalls
    if (!call) throw new TypeError('No call is pending.')
    expect(call).toMatchObject({ toolCallId: 'w', path: ['d'], background: ['d'] })
    expect(await session.submitToolResults([{ ...call, output: 'Oslo' }])).toMatchObject({ accepted: ['w'] })
    await nthRun(store, 2)
    expect((await viewOf(session)).pendingToolCalls).toEqual([])
    await checkLog(session)
    await runtime.stop()
  })

  it('S94, S104: a kill of the session closes the open questions of its subagents', async () => {
    const store = memoryStore()
    const asks = (name: string, toolName: string) =>
      helper(name, [{ toolCalls: [callTo('q', toolName)] }], { tools: [guarded('send'), remote('where')] })
    const { runtime, session } = await team([{ toolCalls: [launch('a', 'one'), launch('b', 'two')] }, last], {
      store,
      subagents: [asks('one', 'send'), asks('two', 'where')],
    })
    await (await session.send('go')).result()
    await told(store, session, 'approval-requested')
    await told(store, session, 'awaiting-tools')
    await session.kill()
    const view = await viewOf(runtime.session(root))
    expect([view.pendingApprovals, view.pendingToolCalls]).toEqual([[], []])
    await checkLog(runtime.session(root))
    await runtime.stop()
  })
})
