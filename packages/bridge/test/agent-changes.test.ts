import { setImmediate } from 'node:timers/promises'
import { systemClock } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { BridgeError, inProcessExecutor, remoteExecutor, workerExecutor } from '../src/index.ts'
import type { BridgeExecutor, BridgeNotice, DiscoveredAgent } from '../src/index.ts'
import { later } from './runtime-support.ts'
import { stubServer } from './stub-server.ts'
import { failureOf, startBridgeOf, testAgent, type TestBridge } from './support.ts'
import { servedWorker, toldFile } from './worker/support.ts'

/** Records the agents that each report finds. */
function recordChanges({ bridge }: TestBridge) {
  const changes: string[] = []
  const stop = bridge.onAgentsChanged(() =>
    changes.push(
      bridge
        .discover()
        .map(({ id, description }) => description ?? id)
        .join(),
    ),
  )
  return { changes, stop }
}

async function refresh({ bridge, clock }: TestBridge): Promise<void> {
  await clock.advance(2000)
  await bridge.refresh()
}

describe('B125: listeners learn when the list of agents changes', () => {
  it('B125, B9: an added agent is reported once, and not after the listener was removed', async () => {
    const executor = inProcessExecutor({ agents: [testAgent('a')] })
    const started = await startBridgeOf(executor)
    const { changes, stop } = recordChanges(started)
    executor.add(testAgent('b'))
    expect(() => executor.add(testAgent('b'))).toThrow(BridgeError)
    await refresh(started)
    expect(changes).toEqual(['a,b'])
    stop()
    executor.add(testAgent('c'))
    expect(changes).toEqual(['a,b'])
    const again = recordChanges(started)
    executor.add(testAgent('d'))
    expect(again.changes).toEqual(['a,b,c,d'])
  })

  it('B125: a listener that throws is logged and hides the change from no other one', async () => {
    const executor = inProcessExecutor({ agents: [] })
    const started = await startBridgeOf(executor)
    started.bridge.onAgentsChanged(() => {
      throw new Error('broken listener')
    })
    const { changes } = recordChanges(started)
    executor.add(testAgent('a'))
    expect(changes).toEqual(['a'])
    expect(started.logger.lines).toContainEqual(expect.objectContaining({ message: 'a listener of the agent list failed' }))
  })

  it('B125: an executor without reports is compared after a refresh; a change of status is none', async () => {
    const agents: DiscoveredAgent[] = [{ id: 'a', capabilities: [], status: 'ready', durable: false }]
    const own = inProcessExecutor({ agents: [] })
    const executor: BridgeExecutor = { ...own, kind: 'own', agents: () => agents }
    const started = await startBridgeOf(executor)
    const { changes } = recordChanges(started)
    agents[0] = { ...(agents[0] as DiscoveredAgent), status: 'unavailable', reason: 'away' }
    await refresh(started)
    expect(changes).toEqual([])
    agents.push({ id: 'b', capabilities: [], status: 'ready', durable: false })
    await refresh(started)
    agents.shift()
    await refresh(started)
    expect(changes).toEqual(['a,b', 'b'])
  })

  it('B125, B93: a server that lists other agents is reported when its list is read', async () => {
    const agentIds = ['writer']
    const server = await stubServer(undefined, agentIds)
    const started = await startBridgeOf(remoteExecutor({ servers: [{ id: 'far', baseUrl: server.url, reconnect: { maxDownMs: 0 } }] }))
    const { bridge, clock } = started
    later(() => bridge.stop({ deadlineMs: 0 }))
    const { changes } = recordChanges(started)
    await refresh(started)
    agentIds.push('reader')
    expect(changes).toEqual([])
    await refresh(started)
    expect(changes).toEqual(['writer,reader'])
    // A discovery reads a list again that is older than 30 seconds, and does not wait for it.
    agentIds.shift()
    await clock.advance(30_000)
    const reported = new Promise<void>((resolve) => bridge.onAgentsChanged(resolve))
    expect(bridge.discover()).toHaveLength(2)
    await reported
    expect(changes).toEqual(['writer,reader', 'reader'])
  })

  it('B125, B81: a worker that starts again as another agent is reported once; one that starts again as the same is not', async () => {
    const { env } = await toldFile()
    const workers = [servedWorker({ id: 'changing', env, restart: { backoffMs: 0 } }, 'changing-agent')]
    let ready = Promise.withResolvers<void>()
    const onEvent = (notice: BridgeNotice): void => void (notice.type === 'worker-changed' && notice.to === 'ready' && ready.resolve())
    const started = await startBridgeOf({ clock: systemClock, onEvent }, workerExecutor({ workers }))
    const { bridge } = started
    later(() => bridge.stop({ deadlineMs: 0 }))
    await ready.promise
    const { changes } = recordChanges(started)
    const restart = async (prompt: string): Promise<void> => {
      ready = Promise.withResolvers()
      expect(failureOf(await bridge.delegate({ prompt }).result()).code).toBe('TRANSPORT')
      await ready.promise
      await setImmediate()
    }
    expect(bridge.discover()).toMatchObject([{ id: 'changing', description: 'I am first' }])
    await restart('die')
    expect(changes).toEqual([])
    await restart('second')
    expect(changes).toEqual(['I am second'])
  })
})
