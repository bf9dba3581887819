import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { Batch } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { collect, gate, logOf, setup, types, type SetupOptions } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const asks = { toolCalls: [{ id: 'c1', name: 'place', input: {} }] }

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

const deletes = (batch: Batch): boolean => batch.writes.some((write) => write.op === 'session.delete')

describe('delete', () => {
  it('S105: leaves only the fact that it existed, and its event numbers go on', async () => {
    const store = memoryStore()
    const { runtime, session } = await started({ steps: [asks, { text: 'new' }], tools: [place], store })
    const run = await session.send('where?', { id: 'first' })
    await run.result()
    const { version, cursor } = (await session.info()) ?? { version: 0, cursor: '' }
    await session.delete()
    expect(await store.readSession('room:1')).toMatchObject({ status: 'deleted' })
    expect(await runtime.run(run.runId)).toBeNull()
    expect(await store.readCalls(run.runId)).toEqual([])
    expect((await runtime.sessions()).items).toEqual([])
    const again = runtime.session('room:1')
    const other = await again.send('hello', { id: 'first' })
    expect(other.accepted).toBe('queued')
    expect(await other.result()).toMatchObject({ text: 'new' })
    const info = await again.info()
    expect(info?.version).toBeGreaterThan(version)
    const log = await collect(again.events({ cursor: String(Number(cursor) + 1), live: false }))
    expect(log[0]).toMatchObject({ type: 'session-start', seq: Number(cursor) + 2 })
    await runtime.stop()
  })

  it('S105: a late commit of the owner restores nothing', async () => {
    const answer = gate()
    const { runtime, session, faults } = await started({
      steps: async () => {
        await answer.passed
        return { text: 'too late' }
      },
    })
    await session.send('go')
    for await (const event of session.events()) if (event.type === 'message-start') break
    await session.delete()
    answer.open()
    expect(await runtime.session('room:1').info()).toBeNull()
    await runtime.stop()
    expect(faults).toEqual([])
  })

  it('S106: a second delete, and a delete of a missing session, do nothing', async () => {
    const { runtime, session } = await started({ steps: [], concurrency: 0 })
    await session.delete()
    await session.send('go')
    await session.delete()
    await session.delete()
    await runtime.session('room:1').delete()
    expect(await session.info().catch((error: { code: string }) => error.code)).toBe('session-deleted')
    await runtime.stop()
  })

  it('S106: concurrent deletes are one delete, also between handles', async () => {
    const memory = memoryStore()
    const release = gate()
    let deletions = 0
    const waitFor = (): Promise<void> => {
      deletions += 1
      return release.passed
    }
    const store = faultyStore(memory, [{ of: 'commit', when: deletes, fault: { waitFor } }])
    const { runtime, session } = await started({ steps: [], concurrency: 0, store })
    await session.open()
    const both = Promise.all([session.delete(), runtime.session('room:1').delete()])
    release.open()
    await both
    expect(deletions).toBe(1)
    await runtime.stop()
  })

  it('S5, S106: a delete of a caller without the right is not shared with a caller that has it', async () => {
    const { runtime } = await started({ steps: [], concurrency: 0 })
    const session = runtime.session('room:1', { owner: 'ann' })
    await session.open()
    await Promise.all([runtime.session('room:1', { owner: 'eve' }).delete(), session.delete()])
    expect(await runtime.session('room:1', { owner: 'ann' }).info()).toBeNull()
    await runtime.stop()
  })

  it('S106: if the store fails in the middle, a second delete completes it', async () => {
    let broken = true
    const store = faultyStore(memoryStore(), [
      { of: 'commit', when: (batch) => broken && deletes(batch), fault: { error: new Error('disk on fire') } },
    ])
    const { runtime, session } = await started({ steps: [], concurrency: 0, store })
    await session.send('go')
    await expect(session.delete()).rejects.toThrow('disk on fire')
    expect(await session.info()).toMatchObject({ status: 'queued' })
    broken = false
    await session.delete()
    expect(await runtime.session('room:1').info()).toBeNull()
    await runtime.stop()
  })

  it('S106: ends the readers of the session and of its runs with session-end; their last cursor is refused afterwards', async () => {
    const { runtime, session } = await started({ steps: [asks], tools: [place] })
    const run = await session.send('where?')
    await run.result()
    const queued = await session.send('and then?')
    const [ofSession, ofRun] = [collect(session.events()), collect(queued)]
    for await (const event of session.events()) if (event.type === 'run-queued' && event.runId === queued.runId) break
    await session.delete()
    const read = await ofSession
    expect(read.at(-1)).toMatchObject({ type: 'session-end', reason: 'deleted' })
    expect(read.map((event) => ('seq' in event ? event.seq : 0))).toEqual(read.map((_, index) => index + 1))
    expect(types(await ofRun).at(-1)).toBe('session-end')
    const { cursor } = read.at(-1) ?? { cursor: '' }
    await expect(collect(runtime.session('room:1').events(cursor))).rejects.toMatchObject({ code: 'session-deleted' })
    await runtime.stop()
  })

  it('S106: readers in another process end too, even without a hint and with a new session under the key', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    const store = new Proxy(memory, {
      get: (target, name) => (name === 'subscribe' ? () => () => undefined : (Reflect.get(target, name) as unknown)),
    })
    const { runtime, session } = await started({ steps: [], concurrency: 0, store: memory, clock })
    const other = await started({ steps: [], concurrency: 0, store, clock })
    await session.open()
    const reading = collect(other.session.events())
    await clock.advance(10)
    await session.delete()
    await runtime.session('room:1').open()
    await clock.advance(1_000)
    expect(types(await reading)).toEqual(['session-start', 'session-end'])
    expect(types(await logOf(runtime.session('room:1')))).toEqual(['session-start'])
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S125: a caller that waits for the result of a run gets an error that its session was deleted', async () => {
    const { runtime, session } = await started({ steps: [], concurrency: 0 })
    const run = await session.send('go')
    const waiting = run.result().catch((error: { code: string }) => error.code)
    await session.delete()
    expect(await waiting).toBe('session-deleted')
    expect(await run.status().catch((error: { code: string }) => error.code)).toBe('session-deleted')
    await runtime.stop()
  })
})
