import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createBridge, workerExecutor } from '../../src/index.ts'
import type { Bridge, BridgeOptions, ListedAgent, WorkerOptions } from '../../src/index.ts'
import { connectTo } from '../mcp/support.ts'
import { failureOf, outcomeOf, recordingLogger } from '../support.ts'
import type { TestBridge } from '../support.ts'
import { atEnd, foreignWorker, servedWorker, toldFile } from './support.ts'

async function startBridge(workers: readonly WorkerOptions[], options: BridgeOptions = {}): Promise<Bridge> {
  const bridge = createBridge({ executors: [workerExecutor({ workers })], logger: recordingLogger(), ...options })
  await bridge.start()
  atEnd(() => bridge.stop({ deadlineMs: 1000 }))
  return bridge
}

const soon = { restart: { backoffMs: 1 } }

describe('workers behind a bridge', () => {
  it('B6: the first discovery of a client waits for the first handshake; code learns that the worker is starting', async () => {
    const missing = { id: 'missing', command: '/opt/no/such/program' }
    // The discovery does not wait longer than 2 s of this clock, which stands still.
    const bridge = await startBridge([servedWorker(), missing], { clock: manualClock() })
    expect(bridge.discover().map(({ status }) => status)).toEqual(['starting', 'starting'])
    expect(bridge.health()).toMatchObject({ healthy: false, agents: { total: 2, ready: 0 } })
    const { call } = await connectTo({ bridge } as TestBridge)
    // No path of this machine may leave the process.
    const reason = 'could not be started: there is no program "[path]"'
    const [served, other] = ((await call('agents_discover')).structuredContent as { agents: ListedAgent[] }).agents
    expect(served).toMatchObject({ id: 'served', status: 'ready', capabilities: ['obey'] })
    expect(other).toMatchObject({ id: 'missing', reason })
    expect((await call('bridge_health')).structuredContent).toMatchObject({
      healthy: false,
      executors: [{ workers: [{ state: 'ready' }, { reason }] }],
    })
    expect(bridge.discover()[1]?.reason).toContain('/opt/no/such/program')
  })

  it('B51: a delegation opens a session, prompts and closes, in a worker of its own kind or a foreign one', async () => {
    const { env, told } = await toldFile()
    const bridge = await startBridge([servedWorker({ env }), foreignWorker()])
    const run = bridge.delegate({ agentId: 'served', prompt: 'everything', metadata: { team: 'red' } })
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'completed', text: 'all', stopReason: 'max_tokens', agentId: 'served' })
    expect(outcomeOf(await bridge.delegate({ agentId: 'foreign', prompt: 'stream' }).result())).toMatchObject({ text: 'one two three' })
    expect(told().slice(1)).toEqual([
      { create: expect.objectContaining({ sessionId: run.sessionId, metadata: { team: 'red' } }) as unknown },
      { close: run.sessionId, reason: 'closed' },
    ])
  })

  it('B40: a permission is asked for and given through the bridge', async () => {
    const bridge = await startBridge([foreignWorker()])
    const { sessionId } = await bridge.createSession({ agentId: 'foreign' })
    const waiting = outcomeOf(await bridge.prompt({ sessionId, prompt: 'permission', requestId: 'r1' }).result())
    expect(waiting).toMatchObject({ status: 'awaiting-approval', pending: [{ id: 'permission-1', toolName: 'Delete everything' }] })
    const run = bridge.prompt({ sessionId, requestId: 'r1', answers: [{ id: 'permission-1', decision: 'deny' }] })
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'completed', text: 'no' })
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it('B48: B50: a cancel reaches the worker and keeps the text so far', async () => {
    const bridge = await startBridge([foreignWorker()])
    const { sessionId } = await bridge.createSession({ agentId: 'foreign' })
    const run = bridge.prompt({ sessionId, prompt: 'wait' })
    for await (const event of run) if (event.type === 'text-delta') break
    expect(await bridge.cancel({ sessionId })).toMatchObject({ cancelled: true, settled: true })
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'aborted', stopReason: 'cancelled', text: 'waiting' })
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it('B46: a worker that does not stop leaves a failed session, and goes on with other sessions', async () => {
    const bridge = await startBridge([foreignWorker()], { cancelGraceMs: 50 })
    const { sessionId } = await bridge.createSession({ agentId: 'foreign' })
    const run = bridge.prompt({ sessionId, prompt: 'stubborn' })
    for await (const event of run) if (event.type === 'text-delta') break
    expect(await bridge.cancel({ sessionId })).toMatchObject({ cancelled: true, settled: false })
    expect((await bridge.session(sessionId)).status).toBe('failed')
    expect(outcomeOf(await bridge.delegate({ prompt: 'stream' }).result()).text).toBe('one two three')
  })

  it('B81: a lost worker fails its requests and its idle sessions, and is counted', async () => {
    const bridge = await startBridge([foreignWorker([], soon)])
    const [idle, doomed] = [await bridge.createSession(), await bridge.createSession()]
    const error = failureOf(await bridge.prompt({ sessionId: doomed.sessionId, prompt: 'die' }).result())
    expect(error).toMatchObject({ code: 'TRANSPORT', retryable: false, details: { outcome: 'unknown' } })
    expect(outcomeOf(await bridge.delegate({ prompt: 'stream' }).result()).text).toBe('one two three')
    for (const { sessionId } of [idle, doomed]) expect((await bridge.session(sessionId)).status).toBe('failed')
    expect(bridge.counters().workerRestarts).toBe(1)
    expect(bridge.health()).toMatchObject({
      healthy: true,
      executors: [{ kind: 'worker', workers: [{ id: 'foreign', state: 'ready', restarts: 1 }] }],
    })
  })

  it('B82: the caller of a durable agent sees one outcome, whatever happened to the process', async () => {
    const { env, told } = await toldFile()
    const bridge = await startBridge([servedWorker({ id: 'durable', env, ...soon }, 'durable-agent')])
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'die 1', requestId: 'r1' })
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'completed', text: 'whole' })
    expect(told().filter((each) => 'prompt' in each)).toHaveLength(2)
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it('B67: B15: the slots of sessions and requests are free again after a worker was lost', async () => {
    const executor = workerExecutor({ workers: [foreignWorker([], soon)], maxSessions: 1 })
    const bridge = createBridge({ executors: [executor], logger: recordingLogger(), maxInFlight: 1 })
    await bridge.start()
    atEnd(() => bridge.stop({ deadlineMs: 1000 }))
    failureOf(await bridge.delegate({ prompt: 'die' }).result())
    expect(outcomeOf(await bridge.delegate({ prompt: 'stream' }).result()).text).toBe('one two three')
    expect(bridge.counters().inFlight).toBe(0)
  })
})
