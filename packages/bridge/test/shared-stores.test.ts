import { randomUUID } from 'node:crypto'
import type { StateStore } from '@bowline/sessions'
import { stateStoreFromEnv } from '@bowline/sessions/env'
import { startKvServer, type KvServer } from '@bowline/testing/stores'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import type { BridgeAgent, BridgeRun, BridgeSession } from '../src/index.ts'
import { bridgeProcess } from './bridge-process-handle.ts'
import { bridgeAt } from './fixtures/bridge-at.ts'
import { later, temporaryFile } from './runtime-support.ts'
import { codeOf, failureOf, outcomeOf, startBridge, testAgent } from './support.ts'

const owner = 'ann'

describe.skipIf(isRedisUrlMissing)(titleWithRedis('bridges on a shared state store', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  let kv: KvServer
  beforeAll(async () => {
    kv = await startKvServer({ redisUrl: redis.url })
  })
  afterAll(() => kv.close())

  const environments = {
    redis: () => ({ REDIS_URL: redis.url }),
    kv: () => ({ KV_REST_API_URL: kv.url, KV_REST_API_TOKEN: kv.token }),
  }
  const kinds = ['redis', 'kv'] as const

  async function open(kind: (typeof kinds)[number], prefix: string): Promise<StateStore> {
    const chosen = await stateStoreFromEnv({ prefix, environment: environments[kind]() })
    expect(chosen.kind).toBe(kind)
    later(() => chosen.store.close())
    return chosen.store
  }

  it.each(kinds)(
    'B98, B123, O70: two in one process decide together which session is busy, which caller may join and which is at its limit, on %s',
    async (kind) => {
      const prefix = randomUUID()
      const gate = Promise.withResolvers<void>()
      const durable = (): BridgeAgent =>
        testAgent('a', { durable: true, onPrompt: ({ prompt }) => gate.promise.then(() => ({ text: prompt, stopReason: 'end_turn' })) })
      const start = async () => (await startBridge([durable()], { store: await open(kind, prefix), maxSessionsPerOwner: 1 })).bridge
      const [one, two] = [await start(), await start()]
      later(() => Promise.all([one.stop({ deadlineMs: 0 }), two.stop({ deadlineMs: 0 })]))
      const { sessionId } = await one.createSession({ owner })
      expect(await codeOf(two.createSession({ owner }))).toBe('CAPACITY')
      const runs = [one, two].map((bridge, index) => bridge.prompt({ sessionId, prompt: 'hi', requestId: `r${index}`, owner }))
      const accepted = await Promise.all(runs.map((run) => run.accepted()))
      expect(accepted.filter(Boolean)).toHaveLength(1)
      expect(failureOf(await (runs[accepted.indexOf(false)] as BridgeRun).result()).code).toBe('BUSY')
      const { requestId, result } = runs[accepted.indexOf(true)] as BridgeRun
      gate.resolve()
      expect(outcomeOf(await result()).text).toBe('hi')
      for (const bridge of [one, two]) expect(outcomeOf(await bridge.request(requestId, { owner })).text).toBe('hi')
      await one.close({ sessionId, owner })
      expect(await codeOf(two.session(sessionId, { owner }))).toBe('NOT_FOUND')
      expect((await two.createSession({ owner })).sessionId).not.toBe(sessionId)
    },
  )

  it.each(kinds)("B97, B99, B123, O70: two processes know each other's work, and what a killed one left, on %s", async (kind) => {
    const prefix = randomUUID()
    const file = await temporaryFile()
    const other = await bridgeProcess([file, 'slow', '0', 'after', prefix], environments[kind]())
    const at = await bridgeAt({ file: await temporaryFile(), kind: 'slow', store: await open(kind, prefix), maxSessionsPerOwner: 1 })
    later(() => at.stop())
    const plain = (await other.ask<BridgeSession>('createSession', { agentId: 'plain' })) as BridgeSession
    const writer = (await other.ask<BridgeSession>('createSession', { agentId: 'writer', owner })) as BridgeSession
    await other.ask('promptUntilEvent', { sessionId: writer.sessionId, prompt: 'hi', requestId: 'r1', owner })
    await other.ask('prompt', { sessionId: plain.sessionId, prompt: 'hi', requestId: 'r2' })
    expect(await at.bridge.request('r2')).toMatchObject({ status: 'running' })
    expect(failureOf(await at.bridge.prompt({ sessionId: plain.sessionId, prompt: 'more' }).result()).details.reason).toBe('elsewhere')
    expect(await codeOf(at.bridge.createSession({ owner, agentId: 'writer' }))).toBe('CAPACITY')
    await other.kill()
    expect(failureOf(await at.bridge.request('r2', { waitMs: 20_000 }))).toMatchObject({
      code: 'TRANSPORT',
      details: { outcome: 'unknown' },
    })
    const next = await bridgeAt({ file, kind: 'fast', store: await open(kind, prefix) })
    later(() => next.stop())
    expect(outcomeOf(await next.bridge.request('r1', { owner, waitMs: 20_000 })).text).toBe('A line.')
  })
})
