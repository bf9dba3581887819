import { defineTool } from '@bowline/agent-loop'
import type { Batch, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it, vi } from 'vitest'
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

/** Returns all runs of the session once none is open. */
/** Returns the runs when none is open and no input waits for one. */
async function settledRuns(session: Session, runs = 1) {
  for (;;) {
    const { items } = await vi.waitFor(async () => {
      const page = await session.runs()
      expect(page.items.length).toBeGreaterThanOrEqual(runs)
      return page
    })
    const open = items.find((run) => run.endedAt === undefined)
    if (!open) return items
    await collect(session.events({ runId: open.runId }))
  }
}

describe('steer', () => {
  it('S21: the input is stored before the call resolves, and is in the next model call of the run', async () => {
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

  it('S21: another process can steer the run', async () => {
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

  it('S22: an input that comes while the final answer is being committed causes one more step', async () => {
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

  it('S22: an input that arrives at the step limit becomes the next run', async () => {
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

  it('S22: inputs that a failed run did not take go before the waiting inputs, all in one turn', async () => {
    const script = heldScript([{ error: new Error('no') }, { text: 'second' }, { text: 'third' }])
    const { runtime, session, model } = await started({ steps: script.steps, agent: { retry: false } })
    await session.send('go')
    await script.reached(0)
    const queued = await session.send('later')
    await session.steer('left')
    await session.steer('right')
    for (const index of [0, 1, 2]) script.answer(index)
    expect(await queued.result()).toMatchObject({ text: 'third' })
    expect((await settledRuns(session)).map(({ status }) => status)).toEqual(['failed', 'completed', 'completed'])
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'right', 'later'])
    expect(userTexts(model.calls[1])).toEqual(['go', 'left', 'right'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S22: inputs that a stopped run did not take go before the waiting inputs, whichever process executes them', async () => {
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
    expect(runs.map(({ status }) => status)).toEqual(['stopped', 'completed', 'completed'])
    expect(second.model.calls.map((each) => userTexts(each).at(-1))).toEqual(['left', 'later'])
    await second.runtime.stop()
    await idle.runtime.stop()
  })

  it('S22, S33: an input that the run did not take does not wait for a run with a later notBefore', async () => {
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

  it('S23: on an idle session it acts as a send, and the handle says so', async () => {
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

  it('S23: as the default of a runtime it applies to send, but not to a follow-up', async () => {
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

  it('S23, S33: an input with notBefore or with parameters of its own becomes a run and steers nothing', async () => {
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

  it('S23: an input that comes while a run is being stopped becomes the next run, before the waiting inputs', async () => {
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
    const queued = await session.send('later')
    await session.stop({ waitMs: 0 })
    expect(await session.steer('instead')).toMatchObject({ accepted: 'queued' })
    for (const index of [0, 1, 2]) script.answer(index)
    await queued.result()
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['go', 'instead', 'later'])
    await runtime.stop()
  })

  it('S24: several inputs reach the model in the order of acceptance, in one batch', async () => {
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

  it.each(['boundary', 'turn'] as const)('S24, S87: with durability %s each input is shown once', async (durability) => {
    const script = heldScript([call('quick'), { text: 'almost' }, { text: 'done' }])
    const { runtime, session, model, faults } = await started({ steps: script.steps, tools: [quick], durability })
    const run = await session.send('go')
    await script.reached(0)
    await session.steer('left')
    await session.overlay('it is Monday', { turns: 2 })
    script.answer(0)
    await script.reached(1)
    await session.steer('right')
    for (const index of [1, 2]) script.answer(index)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'left', 'it is Monday'], ['go', 'left', 'it is Monday', 'right']])
    expect((await checkLog(session)).filter(({ type }) => type === 'runtime-input')).toHaveLength(3)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S26: an input that comes while the run waits for an answer waits too, and follows the answer', async () => {
    const { runtime, session, model } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    const run = await session.send('go')
    await run.result()
    expect(await session.steer('hurry')).toMatchObject({ accepted: 'steered', runId: run.runId })
    expect(model.calls).toHaveLength(1)
    expect(await run.status()).toBe('waiting-for-user')
    const { run: resumed } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
    expect(await resumed.result()).toMatchObject({ status: 'completed' })
    expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(userTexts(model.calls[1])).toEqual(['go', 'hurry'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S26: if a waiting run ends without the input, the input becomes the next run', async () => {
    const { runtime, session, model } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('hurry')
    expect(await session.stop()).toMatchObject({ status: 'stopped' })
    expect(await settledRuns(session, 2)).toMatchObject([{ status: 'stopped' }, { status: 'completed' }])
    expect(userTexts(model.calls[1]).at(-1)).toBe('hurry')
    await checkLog(session)
    await runtime.stop()
  })

  it('S102: a stop of all runs withdraws the waiting inputs too', async () => {
    const { runtime, session, model } = await started({ steps: [call('place')], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('hurry')
    await session.send('later')
    await session.stop({ scope: 'all' })
    expect(await settledRuns(session)).toMatchObject([{ status: 'stopped' }, { status: 'stopped' }])
    await runtime.sweep()
    expect(await session.info()).toMatchObject({ status: 'stopped', queued: 0 })
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
  it('S15: a repeat is the same input: while it waits, after it was taken, and after its run has ended', async () => {
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

  it('S16: the same id with other content is refused, and nothing is written', async () => {
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

  it('S15, S22: an input that becomes a run of its own keeps its id', async () => {
    const script = heldScript([{ text: 'never' }, { text: 'second' }])
    const { runtime, session } = await started({ steps: script.steps })
    await session.send('go')
    await script.reached(0)
    await session.steer('left', { id: 'x' })
    await session.stop()
    script.answer(0)
    script.answer(1)
    const [, next] = await settledRuns(session, 2)
    expect(next).toMatchObject({ inputId: 'x', status: 'completed' })
    expect(await session.steer('left', { id: 'x' })).toMatchObject({ accepted: 'duplicate', runId: next?.runId })
    expect(types(await logOf(session)).filter((type) => type === 'run-queued')).toHaveLength(2)
    await runtime.stop()
  })

  it('S15: a follow-up uses its id as the id of a run', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }] })
    const first = await session.followUp('hello', { id: 'x' })
    await first.result()
    expect(await session.followUp('hello', { id: 'x' })).toMatchObject({ accepted: 'duplicate', runId: first.runId })
    await expect(session.followUp('other', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('S164: the id is forgotten with the run that took the input', async () => {
    const { runtime, session } = await started({ steps: [call('place'), { text: 'done' }], tools: [place] })
    await (await session.send('go')).result()
    await session.steer('left', { id: 'x' })
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
    await run.result()
    expect(await runtime.store.readInbox('room:1', ['taken'])).toHaveLength(1)
    const { endedAt = 0 } = (await runtime.run(run.runId)) ?? {}
    await runtime.store.prune({ runsEndedBefore: endedAt + 1 }, 10)
    expect(await runtime.store.readInbox('room:1', ['taken'])).toEqual([])
    await runtime.stop()
  })
})
