import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createOrchestration, createRuntime } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { sharedKv } from '../../../redis/test/kv-support.ts'
import { newPrefix, redisStores } from '../../../redis/test/redis-support.ts'
import { openStateAt, type StatePlace } from '../state/state-place.ts'
import { expectLooksToExtend, id, startMs } from './support.ts'

const run = promisify(execFile)

describe.skipIf(isRedisUrlMissing)(titleWithRedis('an orchestration on a shared store', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)
  const openRedis = redisStores(() => redis.url)
  const places: Readonly<Record<'redis' | 'kv', (prefix: string) => StatePlace>> = {
    redis: (prefix) => ({ kind: 'redis', url: redis.url, prefix }),
    kv: (prefix) => ({ kind: 'kv', url: kv.server.url, token: kv.server.token, prefix }),
  }
  const kinds = ['redis', 'kv'] as const
  const open = (kind: 'redis' | 'kv', prefix: string) => (kind === 'redis' ? openRedis({ prefix }) : kv.open({ prefix }))

  it.each(kinds)('O13, O70: 32 uses at the same time in one process are all recorded on %s', async (kind) => {
    const prefix = newPrefix()
    const managers = [1, 2, 3, 4].map(() =>
      createOrchestration({ store: open(kind, prefix), environment: {}, config: { steps: [{ name: 'plan', isDefault: true }] } }),
    )
    await managers[0]?.getOrCreateState(id)
    await Promise.all(
      Array.from({ length: 32 }, async (_, n) =>
        managers[n % 4]?.recordToolUse(id, `tool-${n % 2}`, { key: `key-${n}`, usage: { inputTokens: 2 } }),
      ),
    )
    const state = await managers[1]?.getState(id)
    expect(state).toMatchObject({ activeStep: 'plan', version: 33, cumulativeTokenUsage: { promptTokens: 64 } })
    expect(new Set(state?.toolHistory.map(({ key }) => key)).size).toBe(32)
  })

  it.each(kinds)(
    'O13, O19, O70: uses of three processes at the same time are all recorded on %s, each once, and their cost ends a budget',
    async (kind) => {
      const prefix = newPrefix()
      const spent = { name: 'spent', conditions: [{ type: 'tokens', min: 48 } as const], tools: { allow: [] } }
      const orchestration = createOrchestration({
        store: open(kind, prefix),
        environment: {},
        config: { steps: [{ name: 'plan', isDefault: true }, spent] },
      })
      await orchestration.getOrCreateState(id)
      expect(await orchestration.allowedTools(id, ['a'])).toMatchObject({ step: 'plan', tools: ['a'] })
      const child = (tool: string) =>
        run(process.execPath, [
          ...nodeFlags,
          program('sessions/test/orchestration/fixtures/orchestration-process'),
          JSON.stringify(places[kind](prefix)),
          id,
          tool,
          '16',
        ])
      const own = Promise.all(
        Array.from({ length: 16 }, (_, n) => orchestration.recordToolUse(id, 'c', { key: `c-${n}`, usage: { inputTokens: 1 } })),
      )
      const [first, second] = await Promise.all([child('a'), child('b'), own])
      expect([first.stdout, second.stdout]).toEqual(['recorded\n', 'recorded\n'])
      const state = await orchestration.getState(id)
      expect(state).toMatchObject({ version: 49, cumulativeTokenUsage: { promptTokens: 48 } })
      expect(new Set(state?.toolHistory.map(({ key }) => key)).size).toBe(48)
      expect(await orchestration.allowedTools(id, ['a'])).toMatchObject({ step: 'spent', tools: [] })
      // A repetition, as after a crash: the keys are known.
      await child('a')
      expect((await orchestration.getState(id))?.version).toBe(49)
    },
  )

  it.each(kinds)('O42, O43, O70: a turn does what the state on %s allows, and records its calls there', async (kind) => {
    const config = { steps: [{ name: 'look', isDefault: true, sequence: ['search', 'read'] }] }
    const orchestration = createOrchestration({ store: open(kind, newPrefix()), environment: {}, config })
    const tools = ['search', 'read'].map((name) =>
      defineTool({ name, description: name, inputSchema: z.object({}), execute: () => 'done' }),
    )
    const calls = ['read', 'search', 'read'].map((name, n) => ({ id: `call-${n}`, name, input: {} }))
    const model = scriptedModel([{ toolCalls: calls }, { text: 'Done.' }])
    const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, tools, extensions: [orchestration.extension()] })] })
    await runtime.start()
    expect(await (await runtime.session(id).send('go')).result()).toMatchObject({ status: 'completed' })
    expect(await orchestration.getState(id)).toMatchObject({ sequenceIndex: 2, toolHistory: [{ key: 'call-1' }, { key: 'call-2' }] })
    await runtime.stop()
  })

  it.each(kinds)('O3, O49: a look is an access on %s, and writes only after a tenth of the lifetime', async (kind) => {
    const clock = manualClock(startMs)
    const store = openStateAt(places[kind](newPrefix()), clock)
    await expectLooksToExtend(store, clock)
    await store.close()
  })

  it('O64: a lost answer of a KV service does not record a use twice', async () => {
    const orchestration = createOrchestration({ store: kv.open(), environment: {} })
    await orchestration.getOrCreateState(id)
    kv.server.fail({ pass: true }, { lose: 'after' })
    expect(await orchestration.addUsedTool(id, 'search')).toMatchObject({ version: 2 })
    expect((await orchestration.getState(id))?.toolHistory).toHaveLength(1)
  })
})

describe('an orchestration on Postgres', () => {
  const database = testDatabase()

  it('O3, O49: a look is an access, and writes only after a tenth of the lifetime', async () => {
    const clock = manualClock(startMs)
    const store = openStateAt({ kind: 'postgres', connectionString: database.url }, clock)
    await expectLooksToExtend(store, clock)
    await store.close()
  })
})
