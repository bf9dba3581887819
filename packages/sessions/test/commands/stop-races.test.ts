import { defineTool } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { Batch, Runtime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes, recordingStore } from '../recording-store.ts'
import { checkLog, setup, types } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const quick = defineTool({ name: 'quick', description: 'Quick.', inputSchema: z.object({}), effect: 'pure', execute: () => 'ok' })
const call = (name: string) => ({ toolCalls: [{ id: 'c1', name, input: {} }] })

/** Lets another process store its stop request just before the first commit with an event of this type. */
function stoppedBefore(type: string, name: string) {
  const memory = memoryStore()
  const other = setup({ steps: [], store: memory, concurrency: 0 })
  let done = false
  const store = recordingStore(memory, async (batch: Batch) => {
    if (done || !eventTypes(batch).includes(type)) return
    done = true
    expect(await other.runtime.session('room:1').stop({ waitMs: 0 })).toMatchObject({ state: 'pending' })
  })
  const own = setup({ steps: [call(name), { text: 'never' }], tools: [place, quick], store })
  return { ...own, other: other.runtime }
}

async function runToEnd({ runtime, other }: { readonly runtime: Runtime; readonly other: Runtime }) {
  await other.start()
  await runtime.start()
  const session = runtime.session('room:1')
  const result = await (await session.send('go')).result()
  const log = types(await checkLog(session))
  const { items } = await session.messages()
  const info = await session.info()
  await runtime.stop()
  await other.stop()
  return { result, log, items, info }
}

describe('a stop request that is stored while the run moves on', () => {
  it('S97: before the commit of the next step: the model is not called again', async () => {
    const setUp = stoppedBefore('tool-execution-end', 'quick')
    const { result, items, info } = await runToEnd(setUp)
    expect(result).toMatchObject({ status: 'aborted' })
    expect(setUp.model.calls).toHaveLength(1)
    expect(items.map((message) => message.role).slice(0, 3)).toEqual(['user', 'assistant', 'tool-result'])
    expect(info).toMatchObject({ status: 'stopped' })
    expect(setUp.faults).toEqual([])
  })

  it('S97: before the commit that starts a tool: the tool does not run', async () => {
    const setUp = stoppedBefore('tool-execution-start', 'quick')
    const { result, items } = await runToEnd(setUp)
    expect(result).toMatchObject({ status: 'aborted' })
    expect(items.at(-1)).toMatchObject({ role: 'tool-result', status: 'cancelled' })
    expect(setUp.model.calls).toHaveLength(1)
  })

  it('S99, S101: before the commit that would suspend the run: it does not wait for ever', async () => {
    const setUp = stoppedBefore('awaiting-tools', 'place')
    const { result, items, log, info } = await runToEnd(setUp)
    expect(result).toMatchObject({ status: 'aborted', pendingToolCalls: [] })
    expect(items.at(-1)).toMatchObject({ role: 'tool-result', status: 'cancelled' })
    expect(log.filter((each) => each === 'turn-end')).toHaveLength(2)
    expect(setUp.model.calls).toHaveLength(1)
    expect(info).toMatchObject({ status: 'stopped' })
    expect(setUp.faults).toEqual([])
  })

  it('S126: before the start commit of a claimed run: it logs no turn-start, and its input stays out', async () => {
    const setUp = stoppedBefore('user-message', 'quick')
    const { result, items, log } = await runToEnd(setUp)
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort', text: '' })
    expect(result.error).toBeUndefined()
    expect(log).toEqual(['session-start', 'run-queued', 'turn-end', 'settled'])
    expect(items).toEqual([])
    expect(setUp.model.calls).toEqual([])
    expect(setUp.faults).toEqual([])
  })

  it('S126: between two claims of a run that never began: the next owner ends the run in the same way', async () => {
    const store = memoryStore()
    await store.open({ namespace: 'default', clock: systemClock, owner: 'dead' })
    const { runtime, model } = setup({ steps: [], store, concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    expect(await store.claim({ owner: 'dead', max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })).toHaveLength(1)
    await session.stop({ waitMs: 0 })
    const next = setup({ steps: [], store })
    await next.runtime.start()
    expect(await next.runtime.session('room:1').stop({ runId: run.runId })).toMatchObject({ state: 'settled', status: 'stopped' })
    expect((await session.messages()).items).toEqual([])
    expect([...model.calls, ...next.model.calls]).toEqual([])
    await next.runtime.stop()
    await runtime.stop()
  })

  it('S82, S99: a run that waits although its stop was stored ends if the stop is repeated', async () => {
    const { runtime } = setup({ steps: [call('place')], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await run.result()
    await runtime.store.commit({
      id: 'batch-of-an-older-version',
      key: 'room:1',
      expect: [],
      writes: [{ op: 'run.patch', runId: run.runId, patch: { stop: { at: 1 } } }],
    })
    expect(await session.stop()).toMatchObject({ state: 'settled', status: 'stopped', calls: [{ status: 'cancelled' }] })
    await checkLog(session)
    await runtime.stop()
  })

  it('S90, S97: an answer to a run that is being stopped is refused at once', async () => {
    const store = memoryStore()
    const first = setup({ steps: [call('place')], tools: [place], store })
    await first.runtime.start()
    await (await first.runtime.session('room:1').send('go')).result()
    await first.runtime.stop()
    const idle = setup({ steps: [], tools: [place], store, concurrency: 0 })
    await idle.runtime.start()
    const session = idle.runtime.session('room:1')
    expect(await session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending', status: 'queued' })
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'late' }])).rejects.toMatchObject({
      code: 'tool-result-conflict',
      refused: [{ id: 'c1', code: 'tool-result-conflict' }],
    })
    await idle.runtime.stop()
  })
})
