import { defineTool, isDurable } from '@bowline/agent-loop'
import type { RunInfo, Runtime, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, gate, setup, types, type SetupOptions } from '../support.ts'

const call = (id: string, name = 'send') => ({ id, name, input: { to: id } })
const at = expect.any(Number) as number

/** Creates a tool that needs approval, with the list of its inputs. */
function sender() {
  const sent: string[] = []
  const tool = defineTool({
    name: 'send',
    description: 'Sends.',
    inputSchema: z.object({ to: z.string() }),
    needsApproval: true,
    execute: ({ to }) => {
      sent.push(to)
      return 'sent'
    },
  })
  return { tool, sent }
}

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

/** Resolves with the run once it waits or has ended. */
async function atRest(runtime: Runtime, session: Session, runId: string): Promise<RunInfo | null> {
  await collect(session.events({ runId }))
  return runtime.run(runId)
}

async function asked(ids: readonly string[], options: Partial<SetupOptions> = {}) {
  const { tool, sent } = sender()
  const made = await started({ steps: [{ toolCalls: ids.map((id) => call(id)) }, { text: 'done' }], tools: [tool], ...options })
  const run = await made.session.send('go')
  const { status, pendingApprovals } = await run.result()
  expect(status).toBe('awaiting-approval')
  return { ...made, run, sent, approvals: pendingApprovals, approvalId: pendingApprovals[0]?.approvalId ?? '' }
}

describe('approve and deny', () => {
  it('S88, S93, S96: another process takes the decisions; each approved call runs once, each denied one never', async () => {
    const store = memoryStore()
    const first = await asked(['a', 'b'], { store })
    const { runId } = first.run
    const [a = '', b = ''] = first.approvals.map(({ approvalId }) => approvalId)
    const { run: sameRun, ...receipt } = await first.session.approve(a, { by: 'ann' })
    expect(receipt).toEqual({ approvalId: a, decision: 'approve', by: 'ann', at, repeated: false, missing: [b] })
    expect(sameRun.runId).toBe(runId)
    expect((await first.session.info())?.openRun).toMatchObject({ status: 'waiting-for-user', pendingApprovals: [{ approvalId: b }] })
    expect(await store.readRun(runId)).toMatchObject({ value: { status: 'awaiting-approval' } })
    await first.runtime.stop()

    const { tool, sent } = sender()
    const { runtime, session, faults } = await started({ steps: [{ text: 'done' }], tools: [tool], store })
    expect(await session.deny(b, { reason: 'not to b' })).toMatchObject({ decision: 'deny', repeated: false, missing: [] })
    expect(await atRest(runtime, session, runId)).toMatchObject({ status: 'completed', pendingApprovals: [] })
    expect([first.sent, sent]).toEqual([[], ['a']])
    const log = await checkLog(session)
    expect(log.filter((event) => event.type === 'approval-resolved')).toMatchObject([
      { approvalId: a, decision: 'approve', by: 'ann' },
      { approvalId: b, decision: 'deny', reason: 'not to b' },
    ])
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results).toMatchObject([
      { toolCallId: 'a', status: 'result' },
      { toolCallId: 'b', status: 'denied' },
    ])
    expect(await store.readInbox('room:1', ['answer', 'decision'])).toEqual([])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S92: the same decision returns the first receipt at any later time, another decision is refused', async () => {
    const { runtime, session, run, approvalId, approvals } = await asked(['a'], {})
    const { run: _, ...receipt } = await session.approve(approvalId, {
      by: 'ann',
      reason: 'fine',
      inputHash: approvals[0]?.inputHash ?? '',
    })
    const repeated = { ...receipt, repeated: true, run: { runId: run.runId, accepted: 'duplicate' } }
    expect(await session.approve(approvalId, { by: 'eve', reason: 'fine' })).toMatchObject(repeated)
    await atRest(runtime, session, run.runId)
    expect(await session.approve(approvalId, { reason: 'fine' })).toMatchObject(repeated)
    await expect(session.approve(approvalId)).rejects.toMatchObject({ code: 'approval-conflict' })
    await expect(session.deny(approvalId, { reason: 'fine' })).rejects.toMatchObject({ code: 'approval-conflict' })
    await runtime.stop()
  })

  it('S92: a decision returns the handle of the run, which reads the events from the decision on', async () => {
    const { tool, sent } = sender()
    const { runtime, session } = await started({
      steps: [{ toolCalls: [call('a')] }, { toolCalls: [call('b')] }, { text: 'done' }],
      tools: [tool],
    })
    let run = await session.send('go')
    const segments: string[][] = []
    for (let isOver = false; !isOver;) {
      segments.push(types((await collect(run)).filter(isDurable)))
      const { status, pendingApprovals } = await run.result()
      const [asked] = pendingApprovals
      isOver = status !== 'awaiting-approval'
      if (asked) ({ run } = await (asked.toolCallId === 'a' ? session.approve(asked.approvalId) : session.deny(asked.approvalId)))
    }
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(sent).toEqual(['a'])
    expect(segments.map(([first]) => first)).toEqual(['run-queued', 'turn-start', 'turn-start'])
    expect(['session-start', ...segments.flat(), 'settled']).toEqual(types(await checkLog(session)))
    await runtime.stop()
  })

  it('S91: an unknown approval and an approval of another input are refused, and nothing is stored', async () => {
    const { runtime, session, approvalId, sent } = await asked(['a'])
    await expect(session.approve('nothing')).rejects.toMatchObject({ code: 'unknown-approval' })
    await expect(session.approve(approvalId, { inputHash: 'of something else' })).rejects.toMatchObject({ code: 'approval-conflict' })
    await expect(runtime.session('room:2').approve(approvalId)).rejects.toMatchObject({ code: 'session-missing' })
    expect((await session.info())?.openRun?.pendingApprovals).toHaveLength(1)
    await session.stop()
    await expect(session.approve(approvalId)).rejects.toMatchObject({ code: 'approval-conflict' })
    expect(sent).toEqual([])
    await checkLog(session)
    await runtime.stop()
  })

  it('S89: a run that waits for results and decisions resumes with the last of both', async () => {
    const { tool } = sender()
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({ to: z.string() }) })
    const { runtime, session } = await started({
      steps: [{ toolCalls: [call('a'), call('c1', 'place')] }, { text: 'done' }],
      tools: [tool, place],
    })
    const run = await session.send('go')
    const { status, pendingApprovals } = await run.result()
    expect(status).toBe('awaiting-tools')
    await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.status()).toBe('waiting-for-user')
    await session.approve(pendingApprovals[0]?.approvalId ?? '')
    expect(await atRest(runtime, session, run.runId)).toMatchObject({ status: 'completed' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S92: a decision that comes while other tools of the step run is taken when the run waits', async () => {
    const { tool, sent } = sender()
    const slow = gate()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      inputSchema: z.object({ to: z.string() }),
      execute: () => slow.passed.then(() => 'over'),
    })
    const { runtime, session } = await started({
      steps: [{ toolCalls: [call('a'), call('w', 'wait')] }, { text: 'done' }],
      tools: [tool, wait],
    })
    const run = await session.send('go')
    let approving: Promise<unknown> | undefined
    for await (const event of run) {
      if (event.type !== 'approval-requested') continue
      approving = session.approve(event.approvalId)
      slow.open()
    }
    expect(await approving).toMatchObject({ repeated: false })
    expect(await atRest(runtime, session, run.runId)).toMatchObject({ status: 'completed' })
    expect(sent).toEqual(['a'])
    expect(types(await checkLog(session)).filter((type) => type === 'turn-end')).toHaveLength(2)
    await runtime.stop()
  })
})
