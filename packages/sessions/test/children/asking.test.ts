import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, logOf } from '../support.ts'
import { callTo, childrenOf, endOf, found, guarded, handOver, helper, remote, root, team, toldOf } from './support.ts'

const done = { text: 'done' }

/** Returns the latest tool result in a session that has no handle. */
async function outputIn(store: SessionStore, key: string): Promise<unknown> {
  const { items } = await store.readPath(key)
  const messages = items.flatMap((entry) => (entry.type === 'message' ? entry.message : []))
  const result = messages.find((message) => message.role === 'tool-result')
  return result?.role === 'tool-result' && 'value' in result.output ? result.output.value : undefined
}

async function eventsOf(session: Session, type: LoggedEvent['type']): Promise<readonly LoggedEvent[]> {
  return (await logOf(session)).filter((event) => event.type === type)
}

describe('questions of blocking subagents', () => {
  it('S94: an approval asked two levels down, by agents with the same name, is in the log of the root and answered there', async () => {
    const store = memoryStore()
    const sent: string[] = []
    const tools = [guarded('send', () => (sent.push('sent'), 'sent'))]
    const inner = helper('scout', [{ toolCalls: [callTo('s', 'send')] }, { text: 'inner' }], { tools })
    const outer = helper('scout', [{ toolCalls: [handOver('d', 'scout')] }, { text: 'outer' }], { subagents: [inner] })
    const { runtime, session, faults } = await team([{ toolCalls: [handOver('d', 'scout')] }, done], { store, subagents: [outer] })
    const run = await session.send('go')
    const { status, pendingApprovals } = await run.result()
    expect(status).toBe('awaiting-approval')
    expect(pendingApprovals).toMatchObject([{ toolCallId: 's', toolName: 'send', path: ['d', 'd'], agent: ['scout', 'scout'] }])
    const approvalId = pendingApprovals[0]?.approvalId ?? ''
    expect((await session.info())?.openRun?.pendingApprovals).toHaveLength(1)
    expect(await session.approve(approvalId, { by: 'ann' })).toMatchObject({
      decision: 'approve',
      repeated: false,
      run: { runId: run.runId, accepted: 'queued' },
    })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(sent).toEqual(['sent'])
    const log = await checkLog(session)
    expect(log.filter((event) => event.type.startsWith('approval'))).toMatchObject([
      { type: 'approval-requested', approvalId, path: ['d', 'd'], agent: ['scout', 'scout'] },
      { type: 'approval-resolved', approvalId, decision: 'approve', by: 'ann', agent: ['scout', 'scout'] },
    ])
    expect(await session.approve(approvalId, { by: 'ann' })).toMatchObject({
      repeated: true,
      run: { runId: run.runId, accepted: 'duplicate' },
    })
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S94: if two children ask, each question is reported and answered by itself', async () => {
    const store = memoryStore()
    const asking = (name: string) => helper(name, [{ toolCalls: [callTo('s', 'send')] }, { text: name }], { tools: [guarded('send')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('a', 'one'), handOver('b', 'two')] }, done], {
      store,
      subagents: [asking('one'), asking('two')],
    })
    const run = await session.send('go')
    const answered = new Map<string, 'approve' | 'deny'>()
    for (
      let { status, pendingApprovals } = await run.result();
      status === 'awaiting-approval';
      { status, pendingApprovals } = await run.result()
    ) {
      const [question] = pendingApprovals
      if (!question) continue
      const decision = question.agent[0] === 'one' ? 'approve' : 'deny'
      answered.set(question.approvalId, decision)
      await session[decision](question.approvalId)
    }
    expect(answered.size).toBe(2)
    expect([await toldOf(runtime, 'a'), await toldOf(runtime, 'b')]).toMatchObject([{ text: 'one' }, { text: 'two' }])
    const log = await checkLog(session)
    const resolved = log.flatMap((event) => (event.type === 'approval-resolved' ? [[event.approvalId, event.decision] as const] : []))
    expect(new Map(resolved)).toEqual(answered)
    await runtime.stop()
  })

  it('S94: a decision that still waits in the subagent is logged with its outcome if the parent resumes before the subagent', async () => {
    const store = memoryStore()
    const clock = manualClock()
    const scout = helper('scout', [{ toolCalls: [callTo('s', 'send'), callTo('t', 'send')] }, { text: 'sent' }], {
      tools: [guarded('send')],
    })
    const place = defineTool({ name: 'place', description: '', inputSchema: z.object({}), timeoutMs: 1_000 })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout'), callTo('p', 'place')] }, done], {
      store,
      clock,
      subagents: [scout],
      agent: { tools: [place] },
    })
    const run = await session.send('go')
    const [first, second] = await found(store, async () => {
      const { pendingApprovals = [] } = (await session.info())?.openRun ?? {}
      return pendingApprovals.length === 2 ? pendingApprovals : undefined
    })
    await session.approve(first?.approvalId ?? '')
    await clock.advance(1_000)
    await found(store, async () => (await eventsOf(session, 'tool-execution-end'))[0])
    expect((await run.result()).pendingApprovals).toMatchObject([{ approvalId: second?.approvalId }])
    await session.deny(second?.approvalId ?? '')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await eventsOf(session, 'approval-resolved')).toMatchObject([
      { approvalId: first?.approvalId, decision: 'approve' },
      { approvalId: second?.approvalId, decision: 'deny' },
    ])
    await checkLog(session)
    await runtime.stop()
  })

  it('S94: a remote call two levels down is listed at the root and answered there by its path', async () => {
    const store = memoryStore()
    const inner = helper('inner', [{ toolCalls: [callTo('w', 'where')] }, { text: 'inner' }], { tools: [remote('where')] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'outer' }], { subagents: [inner] })
    const { runtime, session } = await team([{ toolCalls: [handOver('o', 'outer')] }, done], { store, subagents: [outer] })
    const run = await session.send('go')
    const { status, pendingToolCalls } = await run.result()
    expect(status).toBe('awaiting-tools')
    expect(pendingToolCalls).toMatchObject([{ toolCallId: 'w', path: ['o', 'i'], agent: ['outer', 'inner'] }])
    const answer = { toolCallId: 'w', path: ['o', 'i'], output: 'Oslo' }
    await expect(session.submitToolResults([{ ...answer, path: ['o'] }])).rejects.toMatchObject({ code: 'unknown-tool-call' })
    await expect(session.submitToolResults([{ ...answer, path: ['nobody'] }])).rejects.toMatchObject({ code: 'unknown-tool-call' })
    expect(await session.submitToolResults([answer])).toMatchObject({ accepted: ['w'], missing: [], run: { runId: run.runId } })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await session.submitToolResults([answer])).toMatchObject({ repeated: ['w'] })
    const [middle] = await childrenOf(store)
    expect(await outputIn(store, (await childrenOf(store, middle?.session))[0]?.session ?? '')).toBe('Oslo')
    const log = await checkLog(session)
    expect(log.filter((event) => event.type === 'awaiting-tools')).toMatchObject([
      { pendingToolCalls: [{ toolCallId: 'w', path: ['o', 'i'] }] },
    ])
    await runtime.stop()
  })

  it('S94: a subagent that asks in each step under the same call id is answered each time', async () => {
    const store = memoryStore()
    const step = { toolCalls: [callTo('w', 'where')] }
    const scout = helper('scout', [step, step, { text: 'both' }], { tools: [remote('where')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('o', 'scout')] }, done], { store, subagents: [scout] })
    const run = await session.send('go')
    for (const output of ['Oslo', 'Rome']) {
      const { pendingToolCalls } = await run.result()
      expect(pendingToolCalls).toHaveLength(1)
      await session.submitToolResults([{ toolCallId: pendingToolCalls[0]?.toolCallId ?? '', path: ['o'], output }])
      expect((await runtime.run(run.runId))?.pendingToolCalls).toEqual([])
    }
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S94: another process takes the answer and resumes the whole tree', async () => {
    const store = memoryStore()
    const scout = () =>
      helper(
        'scout',
        ({ prompt }) => (prompt.some((message) => message.role === 'tool') ? { text: 'sent' } : { toolCalls: [callTo('s', 'send')] }),
        { tools: [guarded('send')] },
      )
    const first = await team([{ toolCalls: [handOver('d', 'scout')] }], { store, subagents: [scout()] })
    const run = await first.session.send('go')
    const { pendingApprovals } = await run.result()
    await first.runtime.stop()
    const { runtime, session, faults } = await team([done], { store, subagents: [scout()] })
    await session.approve(pendingApprovals[0]?.approvalId ?? '')
    await endOf(store, run.runId)
    expect(await runtime.run(run.runId)).toMatchObject({ status: 'completed' })
    await checkLog(runtime.session(root))
    expect(faults).toEqual([])
    await runtime.stop()
  })
})
