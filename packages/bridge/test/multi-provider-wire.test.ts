import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createModels } from '@bowline/llm'
import type { JSONObject } from '@bowline/llm'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createBridge, inProcessExecutor, multiProviderAgent } from '../src/index.ts'
import type { Bridge } from '../src/index.ts'
import { failureOf, outcomeOf, recordingLogger } from './support.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
const bodies: JSONObject[] = []
const bridges: Bridge[] = []
beforeAll(async () => void (await mock.start()))
afterEach(async () => {
  mock.reset()
  bodies.length = 0
  for (const bridge of bridges.splice(0)) await bridge.stop({ deadlineMs: 0 })
})
afterAll(() => mock.stop())

const recorded: typeof fetch = (input, init) => {
  bodies.push(JSON.parse(init?.body as string) as JSONObject)
  return fetch(input, init)
}

async function startTalker(): Promise<Bridge> {
  const client = { baseURL: `${mock.url}/v1`, apiKey: 'test-key', fetch: recorded }
  const agent = multiProviderAgent({
    id: 'talker',
    models: createModels({ providers: { openai: createOpenAI(client), anthropic: createAnthropic(client) } }),
    providers: [
      { id: 'openai', models: ['gpt-4o'] },
      { id: 'anthropic', models: ['claude-sonnet-4-5'], defaults: { maxTokens: 500 } },
    ],
    defaultProviderId: 'openai',
    instructions: 'Be kind.',
  })
  const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })], logger: recordingLogger() })
  await bridge.start()
  bridges.push(bridge)
  return bridge
}

describe('multiProviderAgent over the clients of the providers', () => {
  const wires = [
    { provider: 'openai', model: 'gpt-4o', expected: { temperature: 0.2 } },
    { provider: 'anthropic', model: 'claude-sonnet-4-5', expected: { max_tokens: 500, temperature: 0.2 } },
  ]
  it.each(wires)('B101: metadata.provider $provider', async ({ provider, model, expected }) => {
    const bridge = await startTalker()
    mock.onMessage('greet', { content: 'Hello there, friend', usage: { input_tokens: 12, output_tokens: 7 } }, { chunkSize: 4 })
    const run = bridge.delegate({ prompt: 'greet me', metadata: { provider }, runtimeParams: { temperature: 0.2 } })
    let text = ''
    for await (const event of run) if (event.type === 'text-delta') text += event.delta
    const outcome = outcomeOf(await run.result())
    expect(outcome).toMatchObject({ status: 'completed', text: 'Hello there, friend', stopReason: 'end_turn' })
    expect(outcome.usage).toMatchObject({ inputTokens: 12, outputTokens: 7 })
    expect(text).toBe(outcome.text)
    expect(bodies).toMatchObject([{ model, ...expected }])
  })

  const refusals = [
    { status: 401, type: 'authentication_error', code: 'AUTH', retryable: false },
    { status: 404, type: 'not_found_error', code: 'CONFIG', retryable: false },
    { status: 429, type: 'rate_limit_error', code: 'UPSTREAM', retryable: true },
    { status: 529, type: 'overloaded_error', code: 'UPSTREAM', retryable: true },
  ]
  it.each(refusals)('B35: a provider that answers $status is $code', async ({ status, type, code, retryable }) => {
    const bridge = await startTalker()
    mock.onMessage('greet', { error: { message: 'model: claude-sonnet-4-5', type }, status })
    const error = failureOf(await bridge.delegate({ prompt: 'greet me', metadata: { provider: 'anthropic' } }).result())
    expect(error).toMatchObject({ code, retryable, details: { agentId: 'talker' } })
  })

  it.each(wires)('B35, B121: after a 400 of $provider the session goes on, without the refused message', async ({ provider }) => {
    const bridge = await startTalker()
    const { sessionId } = await bridge.createSession({ metadata: { provider } })
    mock.onMessage('broken', { error: { message: 'bad request', type: 'invalid_request_error' }, status: 400 })
    mock.onMessage('greet', { content: 'Hello' })
    const error = failureOf(await bridge.prompt({ sessionId, prompt: 'broken' }).result())
    expect(error).toMatchObject({
      code: 'UPSTREAM',
      retryable: false,
      details: { sessionId, requestId: expect.any(String), sessionValid: true },
    })
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'idle', lastError: { code: 'UPSTREAM', next: error.next } })
    expect(outcomeOf(await bridge.prompt({ sessionId, prompt: 'greet me' }).result())).toMatchObject({ status: 'completed', text: 'Hello' })
    expect(JSON.stringify(bodies.at(-1))).not.toContain('broken')
  })
})
