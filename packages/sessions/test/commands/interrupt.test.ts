import { defineTool } from '@bowline/agent-loop'
import type { Batch, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { checkLog, gate, heldScript, setup, types, userTexts, type SetupOptions } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

async function statuses(session: Session) {
  return (await session.runs()).items.map((run) => run.status)
}

describe('an interrupting input', () => {
  it('S20: the same commit stores the input and the stop of the active run, and the input goes before all waiting inputs', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }, { text: 'third' }, { text: 'fourth' }])
    const store = recordingStore(memoryStore())
    const { runtime, session, model, faults } = await started({ steps: script.steps, store })
    const first = await session.send('go')
    await script.reached(0)
    const queued = await session.send('later')
    await session.followUp('behind')
    const run = await session.send('instead', { onBusy: 'interrupt' })
    expect(run.accepted).toBe('queued')
    const accepted = store.commits.find(({ batch }) =>
      batch.writes.some((write) => write.op === 'run.insert' && write.run.id === run.runId),
    )
    expect(accepted?.batch.writes).toContainEqual({
      op: 'run.patch',
      runId: first.runId,
      patch: { stop: { at: expect.any(Number) as number, reason: 'interrupted' } },
    })
    for (const index of [0, 1, 2, 3]) script.answer(index)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    await queued.result()
    expect(await first.result()).toMatchObject({ status: 'aborted' })
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'instead', 'behind', 'later'])
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S20: a run in another process is stopped', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const store = memoryStore()
    const { runtime, session, model } = await started({ steps: script.steps, store, lease: { heartbeatMs: 5 } })
    const other = setup({ steps: [], store, concurrency: 0 })
    await other.runtime.start()
    const first = await session.send('go')
    await script.reached(0)
    const run = await other.runtime.session('room:1').send('instead', { onBusy: 'interrupt' })
    script.answer(1)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await first.status()).toBe('stopped')
    expect(model.calls).toHaveLength(2)
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S20: a run that is claimed while the input is accepted is stopped too', async () => {
    const memory = memoryStore()
    let raced = false
    const store = recordingStore(memory, async (batch: Batch) => {
      if (raced || !batch.writes.some((write) => write.op === 'run.insert' && write.run.lane === 'interrupt')) return
      raced = true
      expect(await memory.claim({ owner: 'other', max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })).toHaveLength(1)
    })
    const { runtime, session } = await started({ steps: [], store, concurrency: 0 })
    const first = await session.send('go')
    const run = await session.send('instead', { onBusy: 'interrupt' })
    expect(raced).toBe(true)
    expect(await runtime.run(first.runId)).toMatchObject({ status: 'running', stopping: true })
    const next = await started({ steps: [{ text: 'second' }], store: memory })
    expect(await next.session.events({ runId: run.runId })[Symbol.asyncIterator]().next()).toMatchObject({ done: false })
    await until(next.session, run.runId)
    expect(await statuses(next.session)).toEqual(['stopped', 'completed'])
    expect((await next.session.messages()).items.map(({ role }) => role)).toEqual(['user', 'assistant'])
    await next.runtime.stop()
    await runtime.stop()
  })

  it('S20: a run that ends while the input is accepted keeps its end', async () => {
    const memory = memoryStore()
    let interrupting: Promise<unknown> | undefined
    const store = recordingStore(memory, async (batch: Batch) => {
      if (!interrupting && eventTypes(batch).includes('turn-end'))
        await (interrupting = other.session.send('instead', { onBusy: 'interrupt', id: 'x' }))
    })
    const other = await started({ steps: [], store: memory, concurrency: 0 })
    const { runtime, session, faults } = await started({ steps: [{ text: 'first' }, { text: 'second' }], store })
    const first = await session.send('go')
    expect(await first.result()).toMatchObject({ status: 'completed', text: 'first' })
    await interrupting
    const run = await session.send('instead', { onBusy: 'interrupt', id: 'x' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    expect(types(await checkLog(session)).filter((type) => type === 'turn-end')).toHaveLength(2)
    expect(faults).toEqual([])
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S20, S15: a repeat of the input stops nothing, not even its own run', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const { runtime, session } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    const interrupt = () => session.send('instead', { onBusy: 'interrupt', id: 'x' })
    const run = await interrupt()
    await script.reached(1)
    expect(await interrupt()).toMatchObject({ accepted: 'duplicate', runId: run.runId })
    script.answer(1)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    await runtime.stop()
  })

  it('S20: two interrupting inputs are both executed, the later one first', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }, { text: 'third' }])
    const deaf = gate()
    const stuck = defineTool({
      name: 'stuck',
      description: 'Hears nothing.',
      inputSchema: z.object({}),
      execute: () => deaf.passed.then(() => 'x'),
    })
    const { runtime, session, model } = await started({ steps: script.steps, tools: [stuck] })
    await session.send('go')
    await script.reached(0)
    const runs = await Promise.all(['a', 'b'].map((text) => session.send(text, { onBusy: 'interrupt' })))
    for (const index of [0, 1, 2]) script.answer(index)
    await Promise.all(runs.map((run) => run.result()))
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'b', 'a'])
    expect(await statuses(session)).toEqual(['stopped', 'completed', 'completed'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S20: an earlier stop keeps its reason', async () => {
    const { runtime, session } = await started({ steps: [], concurrency: 0 })
    const run = await session.send('go')
    await runtime.store.claim({ owner: 'other', max: 1, leaseMs: 60_000, agents: ['assistant'], holds: [] })
    await run.stop({ reason: 'enough', waitMs: 0 })
    await session.send('instead', { onBusy: 'interrupt' })
    expect(await runtime.store.readRun(run.runId)).toMatchObject({ value: { stop: { reason: 'enough' } } })
    await runtime.stop()
  })

  it('S20: a compaction is not stopped', async () => {
    const { runtime, session } = await started({ steps: [], concurrency: 0 })
    await session.open()
    const compaction = { id: 'compaction', kind: 'compaction', inputHash: '', input: null, at: 0 } as const
    await runtime.store.commit({ id: 'batch', key: 'room:1', expect: [], writes: [{ op: 'run.insert', run: compaction }] })
    await runtime.store.claim({ owner: 'other', max: 1, leaseMs: 60_000, agents: ['assistant'], holds: [] })
    expect(await session.send('instead', { onBusy: 'interrupt' })).toMatchObject({ accepted: 'queued' })
    expect(await session.steer('left')).toMatchObject({ accepted: 'queued' })
    expect(await runtime.run('compaction')).toMatchObject({ status: 'running', stopping: false })
    await runtime.stop()
  })

  it('S26: a run that waits for an approval is aborted: its open calls are cancelled, its ended calls keep their outcome', async () => {
    const danger = defineTool({
      name: 'danger',
      description: 'Asks first.',
      inputSchema: z.object({}),
      needsApproval: true,
      execute: () => 'done',
    })
    const quick = defineTool({ name: 'quick', description: 'Quick.', inputSchema: z.object({}), execute: () => 'ok' })
    const step = {
      toolCalls: [
        { id: 'c1', name: 'danger', input: {} },
        { id: 'c2', name: 'quick', input: {} },
        { id: 'c3', name: 'place', input: {} },
      ],
    }
    const { runtime, session, model, faults } = await started({ steps: [step, { text: 'second' }], tools: [danger, quick, place] })
    const first = await session.send('go')
    const waiting = await first.result()
    expect(waiting.pendingApprovals).toHaveLength(1)
    const run = await session.send('instead', { onBusy: 'interrupt' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    expect(await first.stop()).toMatchObject({
      status: 'stopped',
      calls: [
        { toolCallId: 'c1', status: 'cancelled' },
        { toolCallId: 'c2', status: 'result' },
        { toolCallId: 'c3', status: 'cancelled' },
      ],
    })
    const [asked] = waiting.pendingApprovals
    await expect(session.approve(asked?.approvalId ?? '')).rejects.toMatchObject({ code: 'approval-conflict' })
    expect(model.calls).toHaveLength(2)
    expect(userTexts(model.calls[1])).toEqual(['go', 'instead'])
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S26: a run that asks for an approval while another call runs is stopped, and both calls end', async () => {
    const begun = gate()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      inputSchema: z.object({}),
      effect: 'pure',
      execute: (_input, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => {
          abortSignal.addEventListener('abort', () => reject(new Error('told to stop')))
          begun.open()
        }),
    })
    const danger = defineTool({
      name: 'danger',
      description: 'Asks first.',
      inputSchema: z.object({}),
      needsApproval: true,
      execute: () => 'done',
    })
    const step = {
      toolCalls: [
        { id: 'c1', name: 'danger', input: {} },
        { id: 'c2', name: 'slow', input: {} },
      ],
    }
    const { runtime, session, model } = await started({ steps: [step, { text: 'second' }], tools: [danger, slow] })
    const first = await session.send('go')
    await begun.passed
    const run = await session.send('instead', { onBusy: 'interrupt' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    expect(await first.stop()).toMatchObject({ status: 'stopped', calls: [{ status: 'cancelled' }, { status: 'error' }] })
    expect(model.calls).toHaveLength(2)
    await checkLog(session)
    await runtime.stop()
  })

  it('S26: queued inputs wait for the waiting run', async () => {
    const { runtime, session, model } = await started({
      steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'first' }, { text: 'second' }, { text: 'third' }],
      tools: [place],
    })
    await (await session.send('go')).result()
    const queued = await session.send('later')
    await session.followUp('behind')
    await runtime.sweep()
    expect(await statuses(session)).toEqual(['waiting-for-user', 'queued', 'queued'])
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
    await Promise.all([run.result(), queued.result()])
    expect(await statuses(session)).toEqual(['completed', 'completed', 'completed'])
    expect(model.calls.slice(1).map((each) => userTexts(each).at(-1))).toEqual(['go', 'behind', 'later'])
    await runtime.stop()
  })
})

describe('a follow-up', () => {
  it('S25: never enters the active turn, and goes before queued inputs', async () => {
    const script = heldScript([{ text: 'first' }, { text: 'second' }, { text: 'third' }])
    const { runtime, session, model } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    const queued = await session.send('later')
    const behind = await session.followUp('behind')
    expect(behind.accepted).toBe('queued')
    for (const index of [0, 1, 2]) script.answer(index)
    await queued.result()
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'behind'], ['go', 'behind', 'later']])
    expect((await session.runs()).items.map(({ kind, status }) => [kind, status])).toEqual([
      ['user', 'completed'],
      ['user', 'completed'],
      ['follow-up', 'completed'],
    ])
    await checkLog(session)
    await runtime.stop()
  })

  it('S25: survives a stop of the active run, and an interrupting input goes before it', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }, { text: 'third' }])
    const { runtime, session, model } = await started({ steps: script.steps })
    const first = await session.send('go')
    await script.reached(0)
    const [behind] = await Promise.all([session.followUp('behind'), session.send('instead', { onBusy: 'interrupt' })])
    for (const index of [0, 1, 2]) script.answer(index)
    expect(await behind.result()).toMatchObject({ status: 'completed', text: 'third' })
    expect(await first.status()).toBe('stopped')
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'instead', 'behind'])
    await runtime.stop()
  })

  it('S25: that comes while the run is being stopped runs after it', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const { runtime, session } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    const stopping = session.stop()
    const behind = await session.followUp('behind')
    script.answer(1)
    expect(await stopping).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(await behind.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })
})

async function until(session: Session, runId: string): Promise<void> {
  for await (const event of session.events({ runId })) if (event.type === 'save-point') return
}
