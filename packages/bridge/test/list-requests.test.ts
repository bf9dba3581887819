import { memoryStateStore } from '@bowline/sessions'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import type { Bridge, RequestFilter, RequestSummary } from '../src/index.ts'
import { heldAgent } from './mcp/support.ts'
import { codeOf, failureOf, recordingLogger, startBridge, testAgent } from './support.ts'

async function listed(bridge: Bridge, filter: RequestFilter = {}): Promise<readonly RequestSummary[]> {
  return (await bridge.requests(filter)).requests
}

const asking = () =>
  testAgent('asking', {
    onPrompt: () => ({ text: '', stopReason: 'needs_input', pending: [{ id: 'q', kind: 'tool', toolName: 't', input: {} }] }),
  })

describe('B117: requests of the caller', () => {
  it('B117: open and ended ones, newest first, by session and status', async () => {
    const held = heldAgent('held')
    const failing = testAgent('failing', { onPrompt: () => Promise.reject(new Error('no')) })
    const { bridge, clock } = await startBridge([testAgent('a'), held.agent, failing, asking()])
    const { sessionId } = await bridge.createSession({ agentId: 'a', idempotencyKey: 'k' })
    await bridge.prompt({ sessionId, prompt: 'one', requestId: 'r1' }).result()
    await clock.advance(1)
    await bridge.delegate({ prompt: 'x'.repeat(500), agentId: 'failing', requestId: 'r2' }).result()
    await clock.advance(1)
    bridge.delegate({ prompt: 'three', agentId: 'held', requestId: 'r3' })
    await held.began
    await clock.advance(1)
    await bridge.delegate({ prompt: 'four', agentId: 'asking', requestId: 'r4' }).result()
    const all = await listed(bridge)
    expect(all.map(({ requestId, status }) => [requestId, status])).toEqual([
      ['r4', 'awaiting-tools'],
      ['r3', 'running'],
      ['r2', 'error'],
      ['r1', 'completed'],
    ])
    expect(all.at(-1)).toEqual({ requestId: 'r1', sessionId, agentId: 'a', status: 'completed', createdAt: 1000, prompt: 'one' })
    expect(all[2]?.prompt).toBe(`${'x'.repeat(120)}…`)
    expect((await listed(bridge, { sessionId })).map(({ requestId }) => requestId)).toEqual(['r1'])
    expect((await listed(bridge, { status: 'running' })).map(({ requestId }) => requestId)).toEqual(['r3'])
    expect(await listed(bridge, { status: 'running', sessionId })).toEqual([])
    held.finish('x')
    await bridge.stop()
  })

  it('B117: by page, with a cursor that new requests do not move', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')])
    const ask = async (requestId: string): Promise<void> => {
      await bridge.delegate({ prompt: 'hi', requestId }).result()
      await clock.advance(1)
    }
    for (const id of ['r1', 'r2', 'r3']) await ask(id)
    const first = await bridge.requests({ limit: 2 })
    await ask('r4')
    const second = await bridge.requests({ limit: 2, ...(first.nextCursor !== undefined && { cursor: first.nextCursor }) })
    expect([...first.requests, ...second.requests].map(({ requestId }) => requestId)).toEqual(['r3', 'r2', 'r1'])
    expect(second.nextCursor).toBeUndefined()
    expect(await codeOf(bridge.requests({ cursor: 'x' }))).toBe('PROTOCOL')
    expect(await codeOf(bridge.requests({ status: 'over' as never }))).toBe('PROTOCOL')
  })

  it('B117: only as long as they are kept', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')], { requestRetentionMs: 1000 })
    await bridge.delegate({ prompt: 'hi', requestId: 'r1' }).result()
    expect(await listed(bridge)).toHaveLength(1)
    await clock.advance(2000)
    expect(await listed(bridge)).toEqual([])
    expect(failureOf(await bridge.request('r1')).code).toBe('NOT_FOUND')
  })

  it('B117, B14: never of another owner, whatever the filter', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    for (const owner of ['ann', 'ann/x', 'an', 'bob', 'local']) await bridge.delegate({ prompt: owner, owner, requestId: 'r' }).result()
    const { sessionId } = (await listed(bridge, { owner: 'bob' }))[0] as RequestSummary
    for (const owner of ['ann', 'ann/x', 'an', 'local']) {
      expect((await listed(bridge, { owner })).map(({ prompt }) => prompt)).toEqual([owner])
      expect(await listed(bridge, { owner, sessionId })).toEqual([])
    }
    expect(await listed(bridge, { owner: 'nobody' })).toEqual([])
  })

  it('B117, B99: a request of a bridge that is gone is reported as lost, like its status; a request of a running bridge goes on', async () => {
    const clock = manualClock(1000)
    const store = memoryStateStore({ clock })
    const bridgeOn = async (agent: Parameters<typeof inProcessExecutor>[0]['agents'][number]): Promise<Bridge> => {
      const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })], store, clock, logger: recordingLogger() })
      await bridge.start()
      return bridge
    }
    const held = heldAgent('a')
    const before = await bridgeOn(held.agent)
    before.delegate({ prompt: 'hi', requestId: 'r1' })
    await held.began
    const after = await bridgeOn(testAgent('a'))
    expect(await listed(after)).toMatchObject([{ requestId: 'r1', status: 'running' }])
    // The record of the first bridge expires, as if that bridge had been killed on another machine.
    for (const { id } of (await store.list('bridge-process', { limit: 10 })).items)
      if (!(await isOwn(after, store, id))) await store.delete('bridge-process', id)
    expect(await listed(after)).toMatchObject([{ requestId: 'r1', status: 'error' }])
    expect(await listed(after, { status: 'running' })).toEqual([])
    expect(failureOf(await after.request('r1'))).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown', sessionValid: false } })
    held.finish('late')
    await after.stop()
  })
})

/** Returns whether this process record belongs to the given bridge. */
async function isOwn(bridge: Bridge, store: ReturnType<typeof memoryStateStore>, id: string): Promise<boolean> {
  await bridge.delegate({ prompt: 'who', requestId: `who-${id.slice(0, 8)}`, owner: 'probe' }).result()
  const { items } = await store.list('bridge-request', { prefix: 'probe/', limit: 10 })
  return items.some(({ value }) => (value as { home: string }).home === id)
}
