import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type SessionStore, type StateStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { postgresStateStore, postgresStore } from '@bowline/postgres'
import { recordRequests, type RequestRecorder } from '@bowline/sessions/requests'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { sharedKv } from '../../../redis/test/kv-support.ts'
import { newPrefix, redisStores } from '../../../redis/test/redis-support.ts'

const key = 'room:1'
const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, execute: () => 'ein Seil, 東京' })
const call = (n: number) => ({ text: `step ${n} ${'x'.repeat(300)}`, toolCalls: [{ id: `c${n}`, name: 'look', input: { z: 1, a: n } }] })

/** Creates a process on shared sessions, with its own recorder. */
function processOf(requests: RequestRecorder, sessions: SessionStore) {
  const model = scriptedModel([call(1), call(2), call(3), { text: 'done' }, call(5), { text: 'and done' }])
  const agent = defineAgent({ name: 'assistant', model, instructions: 'Be brief.', tools: [look], extensions: [requests.extension] })
  const runtime = createRuntime({ agents: [agent], store: sessions, requests })
  onTestFinished(() => runtime.stop())
  const sent = () =>
    model.calls.map(
      ({ abortSignal: _signal, headers: _headers, prompt, tools = [], ...settings }) =>
        JSON.parse(JSON.stringify({ prompt, tools, settings })) as unknown,
    )
  return { runtime, sent, ask: async (text: string) => (await runtime.session(key).send(text)).result() }
}

/** Reads the requests page by page. */
async function contentOf(requests: RequestRecorder): Promise<readonly unknown[]> {
  const found: unknown[] = []
  let page: string | undefined
  do {
    const { items, next } = await requests.list(key, { limit: 2, ...(page !== undefined && { page }) })
    for (const { id } of items) {
      const { prompt, tools, settings } = (await requests.get(key, id)) ?? {}
      found.unshift({ prompt, tools, settings })
    }
    page = next
  } while (page !== undefined)
  return found
}

/** Two processes, each with its own connection, record one session; a third one reads it. */
async function recordTogether(open: () => StateStore): Promise<void> {
  const sessions = memoryStore()
  const [first, second] = [
    processOf(recordRequests({ store: open() }), sessions),
    processOf(recordRequests({ store: open() }), sessions.second()),
  ]
  const reader = recordRequests({ store: open() })
  await first.ask('go')
  await first.ask('go on')
  await first.runtime.stop()
  await second.ask('your turn')
  const sent = [...first.sent(), ...second.sent()]
  expect(await contentOf(reader)).toEqual(sent)
  const bounded = processOf(recordRequests({ store: open(), maxRequests: 4 }), sessions.second())
  await second.runtime.stop()
  await bounded.ask('and yours')
  const all = [...sent, ...bounded.sent()]
  const left = await contentOf(reader)
  expect(left.length).toBeGreaterThan(0)
  expect(left.length).toBeLessThanOrEqual(4)
  expect(left).toEqual(all.slice(-left.length))
  await bounded.runtime.session(key).delete()
  expect((await reader.list(key)).items).toEqual([])
}

describe.skipIf(isRedisUrlMissing)(titleWithRedis('requests on a shared store', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)
  const openRedis = redisStores(() => redis.url)

  it('D55: several processes record, bound, read and remove requests on redis', async () => {
    const prefix = newPrefix()
    await recordTogether(() => openRedis({ prefix }))
  })

  it('D55: several processes record, bound, read and remove requests on kv', async () => {
    const prefix = newPrefix()
    await recordTogether(() => kv.open({ prefix }))
  })
})

describe('requests on postgres', () => {
  const database = testDatabase()

  it('D55: several processes record, bound, read and remove requests', async () => {
    await recordTogether(() => {
      const store = postgresStateStore({ connectionString: database.url })
      onTestFinished(() => store.close())
      return store
    })
  })

  it('D55: requests are recorded in the state of the session store', async () => {
    const store = postgresStore({ connectionString: database.url })
    const requests = recordRequests({ store })
    const { ask, sent, runtime } = processOf(requests, store)
    await ask('go')
    expect(await contentOf(requests)).toEqual(sent())
    await runtime.session(key).delete()
    expect((await requests.list(key)).items).toEqual([])
  })
})
