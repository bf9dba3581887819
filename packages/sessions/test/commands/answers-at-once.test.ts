import { defineTool } from '@bowline/agent-loop'
import type { Batch, InboxRecord, Runtime, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type FaultPlan, faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, setup } from '../support.ts'
import { inDoubt } from './doubt.ts'

const settledStates = (settled: readonly PromiseSettledResult<unknown>[]) => settled.map(({ status }) => status).sort()

describe('concurrent answers about one call', () => {
  it('S81: if runAgain and a result come at the same moment, exactly one counts', async () => {
    const { session, runtime, starts } = await inDoubt()
    const settled = await Promise.allSettled([
      session.resolveTool('c-pay', { runAgain: true }),
      session.resolveTool('c-pay', { result: 'paid by hand' }),
    ])
    expect(settledStates(settled)).toEqual(['fulfilled', 'rejected'])
    expect(settled.find((each) => each.status === 'rejected')?.reason).toMatchObject({
      code: expect.stringMatching(/conflict|unknown-tool-call/),
    })
    await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(starts).toHaveLength(settled[0]?.status === 'fulfilled' ? 2 : 1)
    const results = (await session.messages()).items.filter((message) => message.role === 'tool-result')
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(['c-pay', 'c-place'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S81: runAgain of a run that is stopped at the same moment runs nothing again', async () => {
    const { session, runtime, starts } = await inDoubt()
    await Promise.allSettled([session.stop(), session.resolveTool('c-pay', { runAgain: true })])
    await session.stop()
    expect(starts).toHaveLength(1)
    expect(await session.info()).toMatchObject({ status: 'stopped' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S81: runAgain as the last open answer queues the run, and the call keeps its key and its input', async () => {
    const { session, runtime, starts } = await inDoubt()
    await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    const [run] = (await session.runs()).items
    expect(run).toMatchObject({ status: 'needs-recovery' })
    expect((await session.resolveTool('c-pay', { runAgain: true })).runId).toBe(run?.runId)
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(await runtime.run(run?.runId ?? '')).toMatchObject({ status: 'completed', pendingToolCalls: [] })
    await runtime.stop()
  })

  it('S68: onWake is called for runAgain once no other answer is open', async () => {
    const wakes: number[] = []
    const { session, runtime } = await inDoubt('stop', { onWake: ({ atMs }) => void wakes.push(atMs) })
    await runtime.stop()
    wakes.length = 0
    await session.resolveTool('c-pay', { runAgain: true })
    expect(wakes).toEqual([])
    await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    expect(wakes).toHaveLength(1)
    const other = await inDoubt('stop', { onWake: ({ atMs }) => void wakes.push(atMs) })
    await other.runtime.stop()
    await other.session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    wakes.length = 0
    await other.session.resolveTool('c-pay', { runAgain: true })
    expect(wakes).toHaveLength(1)
  })

  it('S80: runAgain of a call whose outcome is not open is refused', async () => {
    const { session, runtime } = await inDoubt()
    await expect(session.resolveTool('c-place', { runAgain: true })).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await expect(session.resolveTool('nobody', { runAgain: true })).rejects.toMatchObject({
      code: 'unknown-tool-call',
      refused: [{ id: 'nobody', code: 'unknown-tool-call' }],
    })
    await runtime.stop()
  })

  it('S81: runAgain is refused after twenty conflicts', async () => {
    let tries = 0
    const isAgain = ({ writes }: Batch): boolean =>
      writes.some((write) => write.op === 'call.put' && write.calls.some(({ state }) => state === 'pending'))
    const { session, runtime, starts } = await inDoubt('stop', {
      faults: [{ of: 'commit', when: isAgain, fault: { answer: () => (tries++, { ok: false, reason: 'conflict' }) } }],
    })
    await expect(session.resolveTool('c-pay', { runAgain: true })).rejects.toMatchObject({ code: 'conflict' })
    expect([tries, starts.length]).toEqual([20, 1])
    await runtime.stop()
  })
})

describe('decisions', () => {
  async function asked(faults: FaultPlan = []): Promise<{
    readonly runtime: Runtime
    readonly session: Session
    readonly sent: string[]
    readonly ids: readonly string[]
    readonly hash: string
    inbox(): Promise<readonly InboxRecord[]>
  }> {
    const sent: string[] = []
    const tool = defineTool({
      name: 'send',
      description: 'Sends.',
      inputSchema: z.object({ to: z.string() }),
      needsApproval: true,
      execute: ({ to }) => `${sent.push(to)}`,
    })
    const steps = [{ toolCalls: ['a', 'b'].map((id) => ({ id, name: 'send', input: { to: id } })) }, { text: 'done' }]
    const { runtime } = setup({ steps, tools: [tool], store: faultyStore(memoryStore(), faults) })
    await runtime.start()
    const session = runtime.session('room:1')
    const { pendingApprovals } = await (await session.send('go')).result()
    const inbox = () => runtime.store.readInbox('room:1', ['decision'])
    return {
      runtime,
      session,
      sent,
      ids: pendingApprovals.map(({ approvalId }) => approvalId),
      hash: pendingApprovals[0]?.inputHash ?? '',
      inbox,
    }
  }

  it('S92: a decision is stored with its author, its reason and its input', async () => {
    const { runtime, session, ids, hash, inbox } = await asked()
    const [a = '', b = ''] = ids
    await session.approve(a, { by: 'ann', reason: 'fine', input: { to: 'c' }, inputHash: hash })
    expect(await inbox()).toMatchObject([
      { kind: 'decision', body: { approvalId: a, decision: 'approve', by: 'ann', reason: 'fine', input: { to: 'c' } } },
    ])
    expect(Object.keys((await inbox())[0]?.body ?? {}).sort()).toEqual(['approvalId', 'by', 'decision', 'input', 'reason'])
    await expect(session.deny(b, { input: { to: 'x' } })).rejects.toMatchObject({ code: 'invalid-input' })
    await session.deny(b)
    for await (const event of session.events()) if (event.type === 'settled') break
    const decided = await Promise.all(ids.map((id) => runtime.store.readApproval(id)))
    expect(decided).toMatchObject([
      { value: { toolCallId: 'a', approval: { state: 'approved', decided: { by: 'ann' } } } },
      { value: { toolCallId: 'b', approval: { state: 'denied' } } },
    ])
    await runtime.stop()
  })

  it('S92: a repeat must be equal in each field; another reason, input or decision is refused', async () => {
    const { runtime, session, ids, sent } = await asked()
    const [a = '', b = ''] = ids
    const { run, ...first } = await session.approve(a, { reason: 'fine', input: { to: 'c' } })
    expect(await session.approve(a, { reason: 'fine', input: { to: 'c' } })).toMatchObject({
      ...first,
      repeated: true,
      run: { runId: run.runId, accepted: 'duplicate' },
    })
    const others = [
      {},
      { reason: 'fine' },
      { input: { to: 'c' } },
      { reason: 'other', input: { to: 'c' } },
      { reason: 'fine', input: { to: 'd' } },
    ]
    for (const other of others) await expect(session.approve(a, other)).rejects.toMatchObject({ code: 'approval-conflict' })
    await expect(session.deny(a, { reason: 'fine' })).rejects.toMatchObject({ code: 'approval-conflict' })
    await session.deny(b, { reason: 'no' })
    for await (const event of session.events()) if (event.type === 'settled') break
    for (const other of others) await expect(session.approve(a, other)).rejects.toMatchObject({ code: 'approval-conflict' })
    expect(await session.deny(b, { reason: 'no' })).toMatchObject({ approvalId: b, decision: 'deny', repeated: true, missing: [] })
    expect(sent).toEqual(['c'])
    await runtime.stop()
  })

  it('S91: an edited input that the tool refuses is reported by its path, and nothing is stored', async () => {
    const { runtime, session, ids, inbox } = await asked()
    const refused = session.approve(ids[0] ?? '', { input: { to: 5 } })
    await expect(refused).rejects.toMatchObject({ code: 'invalid-input', issues: [{ path: 'input.to', message: expect.any(String) }] })
    await expect(session.approve(ids[0] ?? '', { input: 'text' })).rejects.toMatchObject({ issues: [{ path: 'input' }] })
    expect(await inbox()).toEqual([])
    await runtime.stop()
  })

  it('S92: a decision without further fields is stored without further fields', async () => {
    const { runtime, session, ids, inbox } = await asked()
    await session.approve(ids[0] ?? '')
    expect(Object.keys((await inbox())[0]?.body ?? {}).sort()).toEqual(['approvalId', 'decision'])
    expect(await session.approve(ids[0] ?? '')).not.toHaveProperty('by')
    await runtime.stop()
  })

  it('S92: a decision is refused after twenty conflicts', async () => {
    let tries = 0
    const isDecision = ({ writes }: Batch): boolean =>
      writes.some((write) => write.op === 'inbox.put' && write.rows.some(({ kind }) => kind === 'decision'))
    const { runtime, session, ids } = await asked([
      { of: 'commit', when: isDecision, fault: { answer: () => (tries++, { ok: false, reason: 'conflict' }) } },
    ])
    await expect(session.approve(ids[0] ?? '')).rejects.toMatchObject({ code: 'conflict' })
    expect(tries).toBe(20)
    await runtime.stop()
  })

  it('S91: an invalid decision is refused with an error that says what is wrong', async () => {
    const { runtime, session, ids, inbox } = await asked()
    const [a = ''] = ids
    const other = runtime.session('room:2')
    await other.open()
    await expect(other.approve(a)).rejects.toMatchObject({ code: 'unknown-approval' })
    await expect(session.approve('')).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(/^approvalId must be/) as string,
    })
    await expect(session.approve(a, { reson: 'x' } as never)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('did you mean reason?') as string,
    })
    await expect(session.approve(a, { input: { to: 1n } as never })).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(/^input\.to /) as string,
    })
    await expect(session.approve(a, { input: { to: 5 } })).rejects.toMatchObject({
      message: expect.stringMatching(/^The edited input does not fit send: input\.to: /) as string,
    })
    expect(await inbox()).toEqual([])
    await runtime.stop()
  })

  it('S91: a runtime that does not know the tool takes no edited input for it', async () => {
    const { runtime, ids } = await asked()
    await runtime.stop()
    const elsewhere = setup({ steps: [], store: runtime.store, concurrency: 0 })
    const refused = elsewhere.runtime.session('room:1').approve(ids[0] ?? '', { input: { to: 'c' } })
    await expect(refused).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('this runtime does not know the tool') as string,
      issues: [],
    })
    await elsewhere.runtime.stop()
  })

  it('S92: of two concurrent decisions one counts', async () => {
    const { runtime, session, ids } = await asked()
    const settled = await Promise.allSettled([session.approve(ids[0] ?? ''), session.deny(ids[0] ?? '')])
    expect(settledStates(settled)).toEqual(['fulfilled', 'rejected'])
    expect(settled.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'approval-conflict' })
    await runtime.stop()
  })
})
