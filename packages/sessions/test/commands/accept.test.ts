import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, collect, gate, logOf, setup, types } from '../support.ts'

describe('send', () => {
  it('S13: validates and copies its input before anything is written', async () => {
    const { runtime, model } = setup({ steps: [{ text: 'ok' }] })
    const session = runtime.session('room:1')
    await runtime.start()
    const content = [{ type: 'text' as const, text: 'before' }]
    const sent = session.send({ role: 'user', content })
    content[0]!.text = 'after'
    await (await sent).result()
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('before')
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toContain('after')

    const info = await session.info()
    await expect(session.send({ toolResults: [] })).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(session.send({ nonsense: true } as never)).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(session.send('x', { id: '' })).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await session.info()).toEqual(info)
    await runtime.stop()
  })

  it('S13: stores an image as a file, as over HTTP, and refuses one without data before anything is written', async () => {
    const { runtime, model } = setup({ steps: [{ text: 'A dot.' }] })
    const session = runtime.session('room:1')
    await runtime.start()
    const text = { type: 'text', text: 'What is it?' } as const
    for (const send of ['send', 'steer', 'followUp', 'overlay'] as const) {
      const wrong = session[send]([text, { type: 'image' }] as never)
      await expect(wrong).rejects.toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining('input[1].image must be') as string,
      })
    }
    expect(await session.info()).toBeNull()
    const run = await session.send([text, { type: 'image', image: 'data:image/png;base64,aGk=' }], { id: 'x' })
    await run.result()
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } } as const
    expect((await session.send([text, file], { id: 'x' })).accepted).toBe('duplicate')
    expect((await session.messages()).items[0]).toMatchObject({ role: 'user', content: [text, file] })
    expect(model.calls[0]?.prompt.at(-1)?.content).toMatchObject([text, { type: 'file', mediaType: 'image/png' }])
    await runtime.stop()
  })

  it('S15: two sends with one id and equal content give one run', async () => {
    const { runtime, model } = setup({ steps: [{ text: 'ok' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    const [first, second] = await Promise.all([session.send('a', { id: 'x' }), session.send('a', { id: 'x' })])
    expect(second.runId).toBe(first.runId)
    expect([first.accepted, second.accepted].sort()).toEqual(['duplicate', 'queued'])
    await first.result()
    const later = await session.send('a', { id: 'x' })
    expect(later).toMatchObject({ runId: first.runId, accepted: 'duplicate' })
    expect((await later.result()).text).toBe('ok')
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('S16: the same id with other content is refused and writes nothing', async () => {
    const { runtime } = setup({ steps: [{ text: 'ok' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('a', { id: 'x' })).result()
    const before = await session.info()
    await expect(session.send('b', { id: 'x' })).rejects.toMatchObject({ code: 'id-reused' })
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })

  it('S17: runs of one session are executed one at a time in the order of acceptance', async () => {
    let running = 0
    const { runtime } = setup({
      steps: async (_call, index) => {
        expect(++running).toBe(1)
        await Promise.resolve()
        running--
        return { text: `answer ${index}` }
      },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const runs = []
    for (const text of ['a', 'b', 'c']) runs.push(await session.send(text))
    const results = await Promise.all(runs.map((run) => run.result()))
    expect(results.map((result) => result.text)).toEqual(['answer 0', 'answer 1', 'answer 2'])
    const { items } = await session.messages()
    expect(items.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S18: acceptance logs run-queued with the raw input; the user message comes with the start', async () => {
    const { runtime } = setup({ steps: [{ text: 'ok' }], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('hello')
    const log = await logOf(session)
    expect(types(log)).toEqual(['session-start', 'run-queued'])
    expect(log[1]).toMatchObject({ input: { role: 'user', content: 'hello' } })
    expect((await session.messages()).items).toEqual([])
    await runtime.stop()
  })

  it('S19: reject refuses while a run is open and writes nothing; queue queues the input', async () => {
    const go = gate()
    const { runtime } = setup({
      steps: async (_call, index) => {
        if (index === 0) await go.passed
        return { text: `answer ${index}` }
      },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const first = await session.send('a')
    const before = await session.runs()
    await expect(session.send('b', { onBusy: 'reject' })).rejects.toMatchObject({ code: 'busy', runId: first.runId })
    expect((await session.runs()).items).toHaveLength(before.items.length)
    const queued = await session.send('c')
    expect(await session.info()).toMatchObject({ status: 'running', queued: 1, openRun: { runId: first.runId } })
    go.open()
    expect((await queued.result()).text).toBe('answer 1')
    await runtime.stop()
  })

  it('S14: an accepted input that its own process never claimed is answered by the next process', async () => {
    const store = memoryStore()
    const first = setup({ steps: [], store, concurrency: 0 })
    await first.runtime.start()
    const { runId } = await first.runtime.session('room:1').send('hello')
    const second = setup({ steps: [{ text: 'taken up' }], store })
    await second.runtime.start()
    const session = second.runtime.session('room:1')
    const events = await collect(session.events({ runId }))
    expect(types(events)).toContain('turn-end')
    expect((await session.messages()).items.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'taken up' }] })
    await second.runtime.stop()
    await first.runtime.stop()
  })

  it('S32: a session with 1,000 queued runs refuses another one before it writes', async () => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    for (let index = 0; index < 1_000; index++) await session.send('again')
    const before = await session.info()
    await expect(session.send('one too many')).rejects.toMatchObject({ code: 'queue-full' })
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })

  it('S32: an input may set a shorter queue limit, and a repeated input does not count', async () => {
    const hold = gate()
    const { runtime } = setup({ steps: [{ parts: [{ wait: hold.passed }], text: 'ok' }, { text: 'ok' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('first')
    for await (const event of run) if (event.type === 'message-start') break
    await session.send('second', { maxQueued: 1, id: 'b' })
    await expect(session.send('third', { maxQueued: 1 })).rejects.toMatchObject({ code: 'queue-full' })
    await expect(session.followUp('third', { maxQueued: 1 })).rejects.toMatchObject({ code: 'queue-full' })
    expect(await session.send('second', { maxQueued: 1, id: 'b' })).toMatchObject({ accepted: 'duplicate' })
    expect(await session.steer('now', { maxQueued: 0 })).toMatchObject({ accepted: 'steered' })
    await expect(session.send('x', { maxQueued: -1 })).rejects.toMatchObject({ code: 'invalid-input' })
    hold.open()
    await runtime.stop()
  })
})
