import { defineTool } from '@bowline/agent-loop'
import type { Batch, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordingStore } from '../recording-store.ts'
import { checkLog, heldScript, logOf, setup, userTexts, type SetupOptions } from '../support.ts'

const secret = 'it is raining on Monday'
const quick = defineTool({ name: 'quick', description: 'Quick.', inputSchema: z.object({}), effect: 'pure', execute: () => 'ok' })
const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const call = (name: string, id = 'c1') => ({ toolCalls: [{ id, name, input: {} }] })

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

/** Returns everything that can be read from the store, as text. */
async function everything(store: SessionStore): Promise<string> {
  const runs = (await store.listRuns('room:1', { limit: 1000 })).items
  return JSON.stringify([
    await store.readSession('room:1'),
    await store.readPath('room:1', { limit: 1000 }),
    await store.readEvents('room:1', 0, 1000),
    runs,
    await Promise.all(runs.map(({ id }) => store.readCalls(id))),
    await store.readInbox('room:1', ['answer', 'decision', 'steer', 'overlay', 'taken', 'child-settled', 'child-changed']),
    await store.due(1000),
  ])
}

describe('overlay', () => {
  it('S27: is in every model call of the next turn, above the user message, and in no later turn', async () => {
    const { runtime, session, model } = await started({ steps: [call('quick'), { text: 'a' }, { text: 'b' }], tools: [quick] })
    await session.overlay(secret)
    await (await session.send('go')).result()
    await (await session.send('again')).result()
    expect(model.calls.map(userTexts)).toEqual([
      [secret, 'go'],
      [secret, 'go'],
      ['go', 'again'],
    ])
    await runtime.stop()
  })

  it('S27: added after the first model call comes last, and keeps its place', async () => {
    const script = heldScript([call('quick'), call('quick', 'c2'), { text: 'a' }, { text: 'b' }])
    const { runtime, session, model } = await started({ steps: script.steps, tools: [quick] })
    const run = await session.send('go')
    await script.reached(0)
    await session.overlay(secret)
    for (const index of [0, 1, 2, 3]) script.answer(index)
    await run.result()
    await (await session.send('again')).result()
    const roles = (index: number) => model.calls[index]?.prompt.map(({ role }) => role)
    expect([roles(1), roles(2)]).toEqual([
      ['user', 'assistant', 'tool', 'user'],
      ['user', 'assistant', 'tool', 'user', 'assistant', 'tool'],
    ])
    expect(model.calls.map(userTexts)).toEqual([['go'], ['go', secret], ['go', secret], ['go', 'again']])
    await runtime.stop()
  })

  it('S27: for several turns is shown once in each of them', async () => {
    const { runtime, session, model } = await started({
      steps: [call('quick'), { text: 'a' }, { text: 'b' }, { text: 'c' }],
      tools: [quick],
    })
    await session.overlay(secret, { turns: 2 })
    for (const text of ['one', 'two', 'three']) await (await session.send(text)).result()
    expect(model.calls.map(userTexts)).toEqual([
      [secret, 'one'],
      [secret, 'one'],
      ['one', secret, 'two'],
      ['one', 'two', 'three'],
    ])
    expect(await everything(runtime.store)).not.toContain(secret)
    await runtime.stop()
  })

  it.each([0, 1.5, -1, Infinity])('S27: for %d turns is refused before anything is written', async (turns) => {
    const { runtime, session } = await started({ steps: [] })
    await expect(session.overlay(secret, { turns })).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await session.info()).toBeNull()
    await runtime.stop()
  })

  it('S28: logs an event without its text, makes no entry, and leaves nothing after the turn', async () => {
    const { runtime, session } = await started({ steps: [call('quick'), { text: 'a' }], tools: [quick] })
    await session.overlay(secret, { id: 'weather' })
    expect(await everything(runtime.store)).toContain(secret)
    await (await session.send('go')).result()
    const event = (await checkLog(session)).find(({ type }) => type === 'runtime-input')
    expect(event).toEqual({
      type: 'runtime-input',
      source: 'overlay',
      placement: 'turn-start',
      characters: secret.length,
      inputId: 'weather',
      at: expect.any(Number) as number,
      runId: expect.any(String) as string,
      turn: 1,
      seq: expect.any(Number) as number,
      cursor: expect.any(String) as string,
    })
    expect(JSON.stringify(await session.messages())).not.toContain(secret)
    expect(await everything(runtime.store)).not.toContain(secret)
    await runtime.stop()
  })

  it.each(['stopped while it waits', 'stopped while the model answers', 'killed', 'failed'])(
    'S28: leaves nothing after a turn that is %s',
    async (how) => {
      const script = heldScript([call('place'), how === 'failed' ? { error: new Error('no') } : { text: 'never' }])
      const { runtime, session } = await started({ steps: script.steps, tools: [place], agent: { retry: false } })
      await session.overlay(secret, { id: 'weather' })
      const run = await session.send('go')
      script.answer(0)
      await run.result()
      expect(await everything(runtime.store)).toContain(secret)
      if (how === 'killed') await session.kill()
      else if (how === 'stopped while it waits') await session.stop()
      else {
        const { run: resumed } = await session.submitToolResults([{ toolCallId: 'c1', output: 'here' }])
        await script.reached(1)
        if (how !== 'failed') await session.stop()
        script.answer(1)
        await resumed.result()
      }
      expect(await run.status()).toBe(how === 'failed' ? 'failed' : 'stopped')
      expect(await everything(runtime.store)).not.toContain(secret)
      await runtime.stop()
    },
  )

  it('S29: is shown by the process that takes the run over', async () => {
    const store = memoryStore()
    const script = heldScript([call('quick'), { text: 'never' }])
    const first = await started({ steps: script.steps, tools: [quick], store })
    await first.session.overlay(secret, { turns: 2 })
    const { runId } = await first.session.send('go')
    script.answer(0)
    await script.reached(1)
    await first.runtime.stop()
    const second = await started({ steps: [{ text: 'a' }, { text: 'b' }, { text: 'c' }], tools: [quick], store })
    expect(await store.readInbox('room:1', ['overlay'])).toMatchObject([{ body: { turns: 1, takenBy: runId } }])
    for await (const event of second.session.events({ runId })) void event
    for (const text of ['two', 'three']) await (await second.session.send(text)).result()
    expect(second.model.calls.map(userTexts)).toEqual([
      [secret, 'go'],
      ['go', secret, 'two'],
      ['go', 'two', 'three'],
    ])
    expect(await everything(store)).not.toContain(secret)
    await checkLog(second.session)
    await second.runtime.stop()
  })

  it('S29: is shown once by a process that takes the run over before the overlay was taken', async () => {
    const memory = memoryStore()
    const dying = recordingStore(memory, (batch: Batch) => {
      if (batch.writes.some((write) => write.op === 'inbox.take' || write.op === 'inbox.patch')) throw new Error('dead')
    })
    const first = await started({ steps: [], store: dying })
    const second = await started({ steps: [{ text: 'a' }], store: memory, concurrency: 0 })
    await second.session.overlay(secret)
    const { runId } = await first.session.send('go')
    await first.runtime.stop()
    const third = await started({ steps: [{ text: 'a' }], store: memory })
    for await (const event of third.session.events({ runId })) void event
    expect(third.model.calls.map(userTexts)).toEqual([[secret, 'go']])
    for (const each of [third, second]) await each.runtime.stop()
  })

  it('S29: on an idle or missing session starts nothing', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }] })
    await session.overlay(secret)
    await runtime.sweep()
    expect(await session.info()).toEqual(expect.not.objectContaining({ status: expect.anything() as unknown }))
    expect((await logOf(session)).map(({ type }) => type)).toEqual(['session-start'])
    expect(model.calls).toEqual([])
    await runtime.stop()
  })

  it('S29: after the end of a run starts nothing', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }] })
    await (await session.send('go')).result()
    await session.overlay(secret)
    await runtime.sweep()
    expect(await session.info()).toMatchObject({ status: 'completed', queued: 0 })
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('S15, S16: has an id that is known while it waits and after its last turn', async () => {
    const { runtime, session, model } = await started({ steps: [{ text: 'a' }, { text: 'b' }] })
    const overlay = () => session.overlay(secret, { id: 'weather' })
    await Promise.all([overlay(), overlay()])
    await (await session.send('one')).result()
    await overlay()
    await (await session.send('two')).result()
    expect(model.calls.map(userTexts)).toEqual([
      [secret, 'one'],
      ['one', 'two'],
    ])
    await expect(session.overlay('it is sunny', { id: 'weather' })).rejects.toMatchObject({ code: 'id-reused' })
    // Overlays have ids of their own.
    expect(await runtime.store.readInbox('room:1', ['overlay'])).toEqual([])
    await runtime.stop()
  })

  it('S27, S24: shares an input slot with steered inputs, in the order of acceptance', async () => {
    const script = heldScript([call('quick'), { text: 'a' }])
    const { runtime, session, model } = await started({ steps: script.steps, tools: [quick] })
    const run = await session.send('go')
    await script.reached(0)
    await session.steer('left')
    await session.overlay(secret)
    await session.steer('right')
    for (const index of [0, 1]) script.answer(index)
    await run.result()
    expect(userTexts(model.calls[1])).toEqual(['go', 'left', secret, 'right'])
    await runtime.stop()
  })
})
