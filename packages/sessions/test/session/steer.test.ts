import { defineTool } from '@bowline/agent-loop'
import type { Batch, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { checkLog, collect, gate, heldScript, logOf, setup, types, userTexts, type SetupOptions } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const quick = defineTool({ name: 'quick', description: 'Quick.', inputSchema: z.object({}), effect: 'pure', execute: () => 'ok' })
const call = (name: string) => ({ toolCalls: [{ id: 'c1', name, input: {} }] })

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}


/** All runs of the session, once none is open. */
async function settledRuns(session: Session) {
  for (;;) {
    const { items } = await session.runs()
    const open = items.find((run) => run.endedAt === undefined)
    if (!open) return items
    await collect(session.events({ runId: open.runId }))
  }
}

describe('steer', () => {
  it('S21: it is stored before it resolves, and is in the next model call of the run', async () => {
    const script = heldScript([call('quick'), { text: 'done' }])
    const store = recordingStore(memoryStore())
    const { runtime, session, model, faults } = await started({ steps: script.steps, tools: [quick], store })
    const run = await session.send('go')
    await script.reached(0)
    const steered = await session.steer('to the left')
    expect(steered).toMatchObject({ runId: run.runId, accepted: 'steered' })
    expect(await store.readInbox('room:1', ['steer'])).toMatchObject([{ body: { input: { content: 'to the left' } } }])
    script.answer(0)
    script.answer(1)
    expect(await steered.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'to the left']])
    expect(await store.readInbox('room:1', ['steer'])).toEqual([])
    const taking = store.commits.find(({ batch }) => batch.writes.some((write) => write.op === 'inbox.take'))
    expect(taking && eventTypes(taking.batch)).toContain('runtime-input')
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S21: from another process', async () => {
    const script = heldScript([call('quick'), { text: 'done' }])
    const store = memoryStore()
    const { runtime, session, model } = await started({ steps: script.steps, tools: [quick], store })
    const other = setup({ steps: [], store, concurrency: 0 })
    await other.runtime.start()
    const run = await session.send('go')
    await script.reached(0)
    await other.runtime.session('room:1').steer('to the left')
    script.answer(0)
    script.answer(1)
    await run.result()
    expect(userTexts(model.calls[1])).toEqual(['go', 'to the left'])
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S22: while the final answer is being committed it causes one more step', async () => {
    const memory = memoryStore()
    let steering: Promise<unknown> | undefined
    const store: SessionStore = recordingStore(memory, async (batch: Batch) => {
      if (!steering && eventTypes(batch).includes('turn-end')) await (steering = other.runtime.session('room:1').steer('one more thing'))
    })
    const other = setup({ steps: [], store: memory, concurrency: 0 })
    await other.runtime.start()
    const { runtime, session, model, faults } = await started({ steps: [{ text: 'first' }, { text: 'second' }], store })
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'second' })
    expect(await steering).toMatchObject({ accepted: 'steered', runId: run.runId })
    expect(userTexts(model.calls[1])).toEqual(['go', 'one more thing'])
    expect((await session.runs()).items).toHaveLength(1)
    await checkLog(session)
    expect(faults).toEqual([])
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S22: where no further step is allowed it becomes the next run', async () => {
    const script = heldScript([{ text: 'first' }, { text: 'second' }])
    const { runtime, session, model } = await started({ steps: script.steps, agent: { limits: { maxSteps: 1 } } })
    const run = await session.send('go')
    await script.reached(0)
    await session.steer('one more thing')
    script.answer(0)
    script.answer(1)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'first' })
    await script.reached(1)
    expect((await settledRuns(session)).map(({ kind, status }) => [kind, status])).toEqual([
      ['user', 'completed'],
      ['user', 'completed'],
    ])
    expect(userTexts(model.calls[1])).toEqual(['go', 'one more thing'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S22: what a failed run leaves behind goes before the inputs that wait, all of it in one turn', async () => {
    const script = heldScript([{ error: new Error('no') }, { text: 'second' }, { text: 'third' }])
    const { runtime, session, model } = await started({ steps: script.steps, agent: { retry: false } })
    await session.send('go')
    await script.reached(0)
    const queued = await session.send('later')
    await session.steer('left')
    await session.steer('right')
    for (const index of [0, 1, 2]) script.answer(index)
    expect(await queued.result()).toMatchObject({ text: 'third' })
    expect((await settledRuns(session)).map(({ status }) => status)).toEqual(['error', 'completed', 'completed'])
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'right', 'later'])
    expect(userTexts(model.calls[1])).toEqual(['go', 'left', 'right'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S22: what a stopped run leaves behind goes before the inputs that wait, whoever executes them', async () => {
    const memory = memoryStore()
    const script = heldScript([{ text: 'never' }])
    const first = await started({ steps: script.steps, store: memory })
    const idle = await started({ steps: [], store: memory, concurrency: 0 })
    await first.session.send('go')
    await script.reached(0)
    await first.session.send('later')
    await first.session.steer('left')
    await first.runtime.stop()
    script.answer(0)
    expect(await idle.session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending' })
    const second = await started({ steps: [{ text: 'left' }, { text: 'later' }], store: memory })
    const runs = await settledRuns(second.session)
    expect(runs.map(({ status }) => status)).toEqual(['aborted', 'completed', 'completed'])
    expect(second.model.calls.map((each) => userTexts(each).at(-1))).toEqual(['left', 'later'])
    await second.runtime.stop()
    await idle.runtime.stop()
  })

  it('S22, S33: what is left behind does not wait for a run that may not begin yet', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const { runtime, session, model } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    await session.send('much later', { notBefore: Date.now() + 3_600_000 })
    await session.steer('left')
    await session.stop()
    script.answer(0)
    await script.reached(1)
    expect(userTexts(model.calls[1]).at(-1)).toBe('left')
    script.answer(1)
    await runtime.stop()
  })

  it('S23: on an idle session it is a send, and the handle tells', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }, { text: 'b' }] })
    const first = await session.steer('hello')
    expect(first.accepted).toBe('queued')
    expect(await first.result()).toMatchObject({ text: 'a' })
    const second = await session.send('again', { onBusy: 'steer' })
    expect(second.accepted).toBe('queued')
    await second.result()
    expect(second.runId).not.toBe(first.runId)
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['hello', 'again'])
    await runtime.stop()
  })

  it('S23: as the default of a runtime it is what send does, and a follow-up stays one', async () => {
    const script = heldScript([{ text: 'first' }, { text: 'second' }, { text: 'third' }])
    const { runtime, session, model } = await started({ steps: script.steps, onBusy: 'steer' })
    const run = await session.send('go')
    await script.reached(0)
    expect(await session.send('left')).toMatchObject({ accepted: 'steered', runId: run.runId })
    expect(await session.followUp('behind')).toMatchObject({ accepted: 'queued' })
    for (const index of [0, 1, 2]) script.answer(index)
    expect(await settledRuns(session)).toMatchObject([{ kind: 'user' }, { kind: 'follow-up' }])
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'left', 'behind'])
    await runtime.stop()
  })

  it('S23, S33: an input that is to wait, or has parameters of its own, is a run and steers nothing', async () => {
    const script = heldScript([{ text: 'first' }, { text: 'second' }])
    const { runtime, session, model } = await started({ steps: script.steps, onBusy: 'steer' })
    await session.send('go')
    await script.reached(0)
    expect(await session.send('cool', { runtimeParams: { temperature: 0.5 } })).toMatchObject({ accepted: 'queued' })
    expect(await session.send('later', { notBefore: Date.now() + 3_600_000 })).toMatchObject({ accepted: 'queued' })
    script.answer(0)
    await script.reached(1)
    expect(userTexts(model.calls[1])).toEqual(['go', 'cool'])
    expect(model.calls[1]).toMatchObject({ temperature: 0.5 })
    script.answer(1)
    await runtime.stop()
  })

  it('S23: while a run is being stopped it becomes the next run, before the inputs that wait', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }, { text: 'third' }])
    const deaf = gate()
    const stuck = defineTool({ name: 'stuck', description: 'Hears nothing.', inputSchema: z.object({}), execute: () => deaf.passed.then(() => 'x') })
    const { runtime, session, model } = await started({ steps: script.steps, tools: [stuck] })
    await session.send('go')
    await script.reached(0)
    const queued = await session.send('later')
    await session.stop({ waitMs: 0 })
    expect(await session.steer('instead')).toMatchObject({ accepted: 'queued' })
    for (const index of [0, 1, 2]) script.answer(index)
    await queued.result()
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'instead', 'later'])
    await runtime.stop()
  })

  it('S24: several reach the model in the order of acceptance, in one batch', async () => {
    const script = heldScript([call('quick'), { text: 'done' }])
    const { runtime, session, model } = await started({ steps: script.steps, tools: [quick] })
    const run = await session.send('go')
    await script.reached(0)
    await Promise.all(['a', 'b', 'c'].map((text) => session.steer(text)))
    script.answer(0)
    script.answer(1)
    await run.result()
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'a', 'b', 'c']])
    await runtime.stop()
  })

  it('S26: while the run waits for an answer it waits too, and comes behind the answer', async () => {
    const { runtime, session, model } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    const run = await session.send('go')
    await run.result()
    expect(await session.steer('hurry')).toMatchObject({ accepted: 'steered', runId: run.runId })
    expect(model.calls).toHaveLength(1)
    expect(await run.status()).toBe('awaiting-tools')
    const { run: resumed } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
    expect(await resumed.result()).toMatchObject({ status: 'completed' })
    expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(userTexts(model.calls[1])).toEqual(['go', 'hurry'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S26: what waited for a run that ends without it becomes the next run', async () => {
    const { runtime, session, model } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('hurry')
    expect(await session.stop()).toMatchObject({ status: 'aborted' })
    expect(await settledRuns(session)).toMatchObject([{ status: 'aborted' }, { status: 'completed' }])
    expect(userTexts(model.calls[1]).at(-1)).toBe('hurry')
    await checkLog(session)
    await runtime.stop()
  })

  it('S102: with all runs that wait, steering that waits is withdrawn', async () => {
    const { runtime, session, model } = await started({ steps: [call('place')], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('hurry')
    await session.send('later')
    await session.stop({ scope: 'all' })
    expect(await settledRuns(session)).toMatchObject([{ status: 'aborted' }, { status: 'aborted' }])
    await runtime.sweep()
    expect(await session.info()).toMatchObject({ status: 'idle', queued: 0 })
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('S32: an inbox with 1,000 rows refuses another one before it writes', async () => {
    const { runtime, session } = await started({ steps: [call('place')], tools: [place] })
    await (await session.send('go')).result()
    for (let index = 0; index < 1_000; index++) await session.steer('again')
    const before = await session.info()
    await expect(session.steer('one too many')).rejects.toMatchObject({ code: 'queue-full' })
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })
})

describe('the id of a steered input', () => {
  it('S15: the same again is the same input, while it waits, when it was taken, and when its run has ended', async () => {
    const script = heldScript([call('quick'), call('quick'), { text: 'done' }])
    const { runtime, session, model } = await started({ steps: script.steps, tools: [quick] })
    const run = await session.send('go')
    await script.reached(0)
    const steer = () => session.steer('left', { id: 'x' })
    const [first, second] = await Promise.all([steer(), steer()])
    expect([first.accepted, second.accepted].sort()).toEqual(['duplicate', 'steered'])
    script.answer(0)
    await script.reached(1)
    expect(await steer()).toMatchObject({ accepted: 'duplicate', runId: run.runId })
    script.answer(1)
    script.answer(2)
    await run.result()
    expect(await steer()).toMatchObject({ accepted: 'duplicate', runId: run.runId })
    expect(await session.send('left', { id: 'x' })).toMatchObject({ accepted: 'duplicate', runId: run.runId })
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'left'], ['go', 'left']])
    await runtime.stop()
  })

  it('S16: with other content it is refused, and nothing is written', async () => {
    const script = heldScript([call('quick'), { text: 'done' }])
    const { runtime, session } = await started({ steps: script.steps, tools: [quick] })
    const run = await session.send('go', { id: 'the first' })
    await script.reached(0)
    await session.steer('left', { id: 'x' })
    const before = await session.info()
    await expect(session.steer('right', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    await expect(session.send('right', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    await expect(session.steer('right', { id: 'the first' })).rejects.toMatchObject({ code: 'id-reused' })
    expect(await session.info()).toEqual(before)
    script.answer(0)
    script.answer(1)
    await run.result()
    await expect(session.steer('right', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    await runtime.stop()
  })

  it('S15, S22: it goes with an input that becomes a run of its own', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const { runtime, session } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    await session.steer('left', { id: 'x' })
    await session.stop()
    script.answer(0)
    script.answer(1)
    const [, next] = await settledRuns(session)
    expect(next).toMatchObject({ inputId: 'x', status: 'completed' })
    expect(await session.steer('left', { id: 'x' })).toMatchObject({ accepted: 'duplicate', runId: next?.runId })
    expect(types(await logOf(session)).filter((type) => type === 'run-queued')).toHaveLength(2)
    await runtime.stop()
  })

  it('S15: of a follow-up it is that of a run', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }] })
    const first = await session.followUp('hello', { id: 'x' })
    await first.result()
    expect(await session.followUp('hello', { id: 'x' })).toMatchObject({ accepted: 'duplicate', runId: first.runId })
    await expect(session.followUp('other', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('S164: it is forgotten with the run that took it', async () => {
    const { runtime, session } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('left', { id: 'x' })
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
    await run.result()
    expect(await runtime.store.readInbox('room:1', ['taken'])).toHaveLength(1)
    const { endedAt = 0 } = (await runtime.run(run.runId)) ?? {}
    await runtime.store.prune({ runsEndedBefore: endedAt + 1, expiredBefore: 0 }, 10)
    expect(await runtime.store.readInbox('room:1', ['taken'])).toEqual([])
    await runtime.stop()
  })
})

