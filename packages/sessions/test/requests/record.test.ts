import { defineAgent, defineTool, type Agent, type AgentOptions } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type ScriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, memoryStateStore, type Runtime, type RuntimeOptions, type StateStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { recordRequests, type RecordedRequest, type RecordRequestsOptions, type RequestRecorder } from '@bowline/sessions/requests'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { checkLog } from '../support.ts'

const key = 'room:1'
const temporaryFolder = temporaryFolders()
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
  execute: () => 'a rope',
})
const call = (n: number) => ({ text: `step ${n}`, toolCalls: [{ id: `c${n}`, name: 'look', input: { at: `place ${n}` } }] })

interface Bench {
  readonly runtime: Runtime
  readonly requests: RequestRecorder
  readonly model: ScriptedModel
  readonly agent: Agent
}

function bench(
  steps: Script,
  {
    agent: more = {},
    runtime: others = {},
    recorder,
    ...options
  }: Partial<RecordRequestsOptions> & { agent?: Partial<AgentOptions>; runtime?: Partial<RuntimeOptions>; recorder?: RequestRecorder } = {},
): Bench {
  const store = others.store ?? memoryStore()
  const requests = recorder ?? recordRequests({ store, ...options })
  const model = scriptedModel(steps)
  const agent = defineAgent({
    name: 'assistant',
    model,
    instructions: 'Be brief.',
    tools: [look],
    extensions: [requests.extension],
    ...more,
  })
  const runtime = createRuntime({ agents: [agent], requests, ...others, store })
  onTestFinished(() => runtime.stop())
  return { runtime, requests, model, agent }
}

const ask = async (runtime: Runtime, text: string, session = key) => (await runtime.session(session).send(text)).result()

async function allOf(requests: RequestRecorder, session = key): Promise<readonly RecordedRequest[]> {
  const { items } = await requests.list(session, { limit: 1_000 })
  const whole = await Promise.all(items.map(({ id }) => requests.get(session, id)))
  return whole.flatMap((each) => each ?? []).reverse()
}

/** Returns the requests as JSON, without fields that are never recorded. */
function sentTo({ calls }: ScriptedModel): readonly unknown[] {
  return calls.map(
    ({ abortSignal: _signal, headers: _headers, prompt, tools = [], ...settings }) =>
      JSON.parse(JSON.stringify({ prompt, tools, settings })) as unknown,
  )
}

const contentOf = ({ prompt, tools, settings }: RecordedRequest) => ({ prompt, tools, settings })

const stores = {
  memory: () => memoryStore(),
  file: () => fileStore({ dir: temporaryFolder() }),
  sqlite: () => sqliteStore({ file: join(temporaryFolder(), 'data.db') }),
} as const

describe.each(Object.keys(stores) as (keyof typeof stores)[])('requests recorded over %s', (name) => {
  it('D55: each request is returned as the provider got it, by the id of its message, with turn, step, attempt, time and model', async () => {
    const clock = manualClock(5_000)
    const { runtime, requests, model } = bench([call(1), call(2), { text: 'done' }, { text: 'again' }], {
      clock,
      runtime: { store: stores[name]() },
      agent: { runtimeParams: { temperature: 0.2 } },
    })
    await ask(runtime, 'go')
    await ask(runtime, 'and?')
    const recorded = await allOf(requests)
    expect(recorded.map(contentOf)).toEqual(sentTo(model))
    expect(recorded.map(({ turn, step, attempt, purpose, at, model: { modelId } }) => [turn, step, attempt, purpose, at, modelId])).toEqual(
      [
        [1, 1, 1, 'answer', 5_000, model.modelId],
        [1, 2, 1, 'answer', 5_000, model.modelId],
        [1, 3, 1, 'answer', 5_000, model.modelId],
        [2, 1, 1, 'answer', 5_000, model.modelId],
      ],
    )
    const answers = (await checkLog(runtime.session(key))).flatMap((event) => (event.type === 'message-end' ? [event.messageId] : []))
    expect(recorded.map(({ id }) => id)).toEqual(answers)
    expect(recorded.map(({ messageCount, sharedCount, toolCount }) => [messageCount, sharedCount, toolCount])).toEqual([
      [2, 0, 1],
      [4, 2, 1],
      [6, 4, 1],
      [8, 6, 1],
    ])
    expect(recorded[0]?.tools[0]).toMatchObject({
      name: 'look',
      description: 'Looks.',
      inputSchema: { properties: { at: { type: 'string' } } },
    })
    expect(recorded[0]?.settings).toMatchObject({ temperature: 0.2 })
    expect(JSON.stringify(recorded)).not.toContain('headers')
  })

  it('D55: requests are removed with their session, and with no other session', async () => {
    const { runtime, requests } = bench(() => ({ text: 'hi' }), { runtime: { store: stores[name]() } })
    for (const session of [key, 'room:10']) await ask(runtime, 'go', session)
    await runtime.session(key).delete()
    expect((await requests.list(key)).items).toEqual([])
    expect((await requests.list('room:10')).items).toHaveLength(1)
    // The next session under the key starts anew.
    await ask(runtime, 'go')
    expect(await allOf(requests)).toMatchObject([{ messageCount: 2, sharedCount: 0 }])
  })
})

describe('recorded requests', () => {
  it('D55: each attempt has its own request: a retry, and a fallback with its model', async () => {
    const other = scriptedModel([{ text: 'from the other' }], { modelId: 'other' })
    const { runtime, requests, model } = bench([{ error: { status: 503 } }, { error: { status: 503 } }], {
      agent: { retry: { maxRetries: 1, baseDelayMs: 0, maxDelayMs: 0 }, fallback: [other] },
    })
    await ask(runtime, 'go')
    const recorded = await allOf(requests)
    expect(recorded.map(({ step, attempt, model: { modelId } }) => [step, attempt, modelId])).toEqual([
      [1, 1, model.modelId],
      [1, 2, model.modelId],
      [1, 3, 'other'],
    ])
    expect(new Set(recorded.map(({ id }) => id)).size).toBe(3)
    expect(recorded.map(contentOf)).toEqual([...sentTo(model), ...sentTo(other)])
  })

  it('D55: the call of a compaction is stored under the id of the compaction, within a turn and outside of one', async () => {
    const { runtime, requests, model } = bench(() => ({ text: 'A long story. '.repeat(50) }), {
      agent: { compaction: { keepRecentTokens: 10 } },
    })
    for (const text of ['one', 'two', 'three']) await ask(runtime, text)
    await runtime.session(key).compact()
    const log = await checkLog(runtime.session(key))
    const start = log.find((event) => event.type === 'compaction-start')
    const recorded = (await allOf(requests)).at(-1)
    expect(recorded).toMatchObject({
      id: start?.type === 'compaction-start' && start.compactionId,
      purpose: 'compaction',
      step: 0,
      toolCount: 0,
    })
    expect(recorded && contentOf(recorded)).toEqual(sentTo(model).at(-1))
  })

  it('D55: the summary of a left branch is stored under the id of its entry, also after another summary', async () => {
    const { runtime, requests, model } = bench(() => ({ text: 'A long story. '.repeat(50) }))
    for (const text of ['one', 'two', 'three']) await ask(runtime, text)
    const session = runtime.session(key)
    const answers = (await checkLog(session)).flatMap((event) => (event.type === 'message-end' ? [event.messageId] : []))
    for (const place of [0, 1]) await session.switchTo(answers[place] ?? '', { summarize: true })
    const switches = (await checkLog(session)).flatMap((event) => (event.type === 'branch-switched' ? [event.summaryEntryId] : []))
    const recorded = await allOf(requests)
    expect(recorded.map(contentOf)).toEqual(sentTo(model))
    expect(recorded.slice(3).map(({ id, purpose, runId, turn, step }) => [id, purpose, runId, turn, step])).toEqual(
      switches.map((id) => [id, 'branch-summary', '', 3, 0]),
    )
    await ask(runtime, 'four')
    expect((await allOf(requests)).map(contentOf)).toEqual(sentTo(model))
  })

  it('D55: a switch of the branch succeeds even if the request of its summary cannot be recorded; the failure is reported', async () => {
    const broken: StateStore = { ...memoryStateStore(), list: () => Promise.reject(new Error('away')) }
    const reported: unknown[] = []
    const { runtime } = bench(() => ({ text: 'words' }), {
      store: broken,
      runtime: { onError: (error, where) => void reported.push([String(error), where]) },
    })
    await ask(runtime, 'one')
    await runtime.session(key).switchTo(null, { summarize: true })
    expect(reported).toEqual([['Error: requests: away', { during: 'extension', session: key }]])
  })

  it('D55: files are named by their size, secrets of provider options are removed, and redact changes only the stored request', async () => {
    const redact: RecordRequestsOptions['redact'] = (message) =>
      JSON.parse(JSON.stringify(message).replaceAll('Ada', '[name]')) as typeof message
    const { runtime, requests, model } = bench([{ text: 'hi' }], {
      redact,
      agent: { runtimeParams: { providerSpecific: { apiKey: 'sk-123', tier: 'x' } } },
    })
    const data = Buffer.from('x'.repeat(3_000)).toString('base64')
    const run = await runtime.session(key).send({
      role: 'user',
      content: [
        { type: 'text', text: 'I am Ada' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data } },
      ],
    })
    await run.result()
    const [recorded] = await allOf(requests)
    const text = JSON.stringify(recorded)
    for (const hidden of ['Ada', 'sk-123', data]) expect(text).not.toContain(hidden)
    expect(text).toMatch(/I am \[name\].*\[\d+ (bytes|characters) left out\]/)
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Ada')
    expect(recorded?.settings).toMatchObject({ providerOptions: { scripted: { apiKey: '[redacted]', tier: 'x' } } })
  })

  it('D55: a failing store and a throwing redact are reported by an error event, and the call is still made', async () => {
    const broken: StateStore = { ...memoryStateStore(), list: () => Promise.reject(new Error('away')) }
    for (const options of [
      { store: broken },
      {
        redact: () => {
          throw new Error('no')
        },
      },
      { redact: () => 1 as never },
    ]) {
      const { runtime, requests } = bench([{ text: 'hi' }], options)
      expect(await ask(runtime, 'go')).toMatchObject({ status: 'completed', text: 'hi' })
      const errors = (await checkLog(runtime.session(key))).filter((event) => event.type === 'error')
      expect(errors).toMatchObject([{ source: 'extension', name: 'requests', hook: 'onModelRequest', fatal: false }])
      if (!('store' in options)) expect((await requests.list(key)).items).toEqual([])
    }
  })
})

/** Counts the calls of a store and the size of its writes. */
function counting(store: StateStore = memoryStateStore()) {
  const writes: number[] = []
  const calls: string[] = []
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        calls.push(String(name))
        if (name === 'compareAndSet') writes.push(JSON.stringify(args[3]).length)
        return (value as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  return { store: counted, writes, calls }
}

describe('the cost of recording', () => {
  it('D55: a step writes only what it adds, in one call, however long the conversation is', async () => {
    const { store, writes, calls } = counting()
    const { runtime } = bench([...Array.from({ length: 40 }, (_, n) => call(n)), { text: 'done' }], {
      store,
      agent: { limits: { maxSteps: 50 } },
    })
    await ask(runtime, 'go')
    expect(writes).toHaveLength(41)
    expect(calls.filter((name) => name !== 'compareAndSet')).toEqual(['list'])
    const sorted = writes.slice(1).sort((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length * 0.9)]).toBeLessThan(1_500)
    // Whole requests included, the written data is a small multiple of the new messages.
    expect(writes.reduce((a, b) => a + b)).toBeLessThan(4 * sorted.slice(0, -2).reduce((a, b) => a + b))
  })

  it('D55: the oldest requests are removed first, by number and by bytes, and every remaining one can be read whole', async () => {
    for (const bounds of [{ maxRequests: 10 }, { maxBytes: 24 * 1_024 }]) {
      const store = memoryStateStore()
      const { runtime, requests, model } = bench(
        [...Array.from({ length: 60 }, (_, n) => ({ ...call(n), text: `step ${n} ${'x'.repeat(200)}` })), { text: 'done' }],
        { store, ...bounds, agent: { limits: { maxSteps: 100 } } },
      )
      await ask(runtime, 'go')
      const { items } = await store.list('model-requests', { prefix: `${key}#`, limit: 1_000 })
      const bytes = items.reduce((sum, { value }) => sum + JSON.stringify(value).length, 0)
      expect(bounds.maxRequests === undefined ? bytes <= 24 * 1_024 : items.length <= 10).toBe(true)
      expect(items.length).toBeGreaterThan(0)
      const recorded = await allOf(requests)
      expect(recorded).toHaveLength(items.length)
      const sent = sentTo(model)
      const kept = recorded.filter(({ omitted }) => !omitted)
      const places = kept.map(({ step }) => sent[step - 1])
      expect(kept.map(contentOf)).toEqual(places)
      expect(recorded.at(-1)?.step).toBe(61)
    }
  })

  it('D55: a single request that is too large is listed without its prompt, and the next one is whole', async () => {
    const { runtime, requests, model } = bench(() => ({ text: 'hi' }), { maxBytes: 16 * 1_024 })
    await ask(runtime, 'x'.repeat(20_000))
    await ask(runtime, 'short', 'room:2')
    expect(await allOf(requests)).toMatchObject([{ omitted: true, prompt: [], messageCount: 2 }])
    expect((await allOf(requests, 'room:2')).map(contentOf)).toEqual(sentTo(model).slice(1))
  })
})

describe('several processes', () => {
  it('D55: another process continues the list, and so does a process whose rows were removed elsewhere', async () => {
    const store = memoryStateStore()
    const sessions = memoryStore()
    const [here, there] = [recordRequests({ store }), recordRequests({ store })]
    const sent: unknown[] = []
    for (const [text, recorder] of [
      ['first', here],
      ['second', there],
      ['third', here],
    ] as const) {
      const { runtime, model } = bench([{ text: 'ok' }], { recorder, runtime: { store: sessions.second() } })
      await ask(runtime, text)
      await runtime.stop()
      sent.push(...sentTo(model))
    }
    expect((await allOf(here)).map(contentOf)).toEqual(sent)
    expect(await allOf(there)).toEqual(await allOf(here))
    await there.remove(key)
    const { runtime, model } = bench([{ text: 'ok' }], { recorder: here, runtime: { store: sessions.second() } })
    await ask(runtime, 'fourth')
    expect((await allOf(here)).map(contentOf)).toEqual(sentTo(model))
  })

  it('D55: a process that knows a session deleted elsewhere starts again, whatever numbers the new session has used', async () => {
    const store = memoryStateStore()
    const sessions = memoryStore()
    const recorders = [recordRequests({ store }), recordRequests({ store })] as const
    const use = async (recorder: RequestRecorder, texts: readonly string[]) => {
      const { runtime, model } = bench(() => ({ text: 'ok' }), { recorder, runtime: { store: sessions.second() } })
      for (const text of texts) await ask(runtime, text)
      return { runtime, model }
    }
    await (await use(recorders[0], ['one', 'two', 'three'])).runtime.stop()
    const other = await use(recorders[1], [])
    await other.runtime.session(key).delete()
    for (const text of ['four', 'five', 'six']) await ask(other.runtime, text)
    await other.runtime.stop()
    const again = await use(recorders[0], ['seven', 'eight'])
    expect((await allOf(recorders[1])).map(contentOf)).toEqual([...sentTo(other.model), ...sentTo(again.model)])
  })

  it.each([false, true])('D55: if a process dies in any store call, all stored requests can be read (it lives on: %s)', async (livesOn) => {
    for (let dying = 0; dying < 24; dying++) {
      let left = dying
      const die = (): void => {
        if (left-- === 0 || (left < 0 && !livesOn)) throw new Error('died')
      }
      const inner = memoryStateStore()
      const store = new Proxy(inner, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return async (...args: unknown[]) => {
            die()
            const result: unknown = await (value as (...given: unknown[]) => unknown).apply(target, args)
            die()
            return result
          }
        },
      })
      const { runtime, model } = bench([...Array.from({ length: 5 }, (_, n) => call(n)), { text: 'done' }], { store, maxRequests: 4 })
      expect(await ask(runtime, 'go')).toMatchObject({ status: 'completed' })
      const { items } = await inner.list('model-requests', { prefix: `${key}#` })
      const recorded = await allOf(recordRequests({ store: inner }))
      expect(recorded).toHaveLength(items.length)
      expect(new Set(recorded.map(({ id }) => id)).size).toBe(recorded.length)
      const sent = sentTo(model)
      expect(recorded.map(contentOf)).toEqual(recorded.map(({ step }) => sent[step - 1]))
      // The request at which the process died may be missing.
      if (livesOn) expect(recorded.at(-1)?.step).toBeGreaterThanOrEqual(5)
    }
  })
})
