import { LLMock, type Fixture } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDemo } from '../src/server/create-demo.ts'
import { makeDataFolder, removeDataFolder } from './demo-process.ts'

interface Wire {
  readonly name: string
  readonly provider: string
  env(url: string): Record<string, string>
}

const wires: readonly Wire[] = [
  {
    name: 'OpenAI Responses',
    provider: 'openai.responses',
    env: (url) => ({ OPENAI_API_KEY: 'key-1', OPENAI_BASE_URL: `${url}/v1` }),
  },
  {
    name: 'OpenAI Chat through DEMO_BASE_URL',
    provider: 'openai-compatible.chat',
    env: (url) => ({ DEMO_BASE_URL: `${url}/v1`, DEMO_MODEL: 'local-model', DEMO_API_KEY: 'key-2' }),
  },
  {
    name: 'Anthropic',
    provider: 'anthropic.messages',
    env: (url) => ({ ANTHROPIC_API_KEY: 'key-3', ANTHROPIC_BASE_URL: `${url}/v1` }),
  },
  {
    name: 'Gemini',
    provider: 'google.generative-ai',
    env: (url) => ({ GOOGLE_GENERATIVE_AI_API_KEY: 'key-4', GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1beta` }),
  },
]

describe.each(wires)('the demo over $name', ({ provider, env }) => {
  const wire = new LLMock({ port: 0 })
  let dataFolder: string
  let demo: Awaited<ReturnType<typeof createDemo>>

  beforeAll(async () => {
    await wire.start()
    dataFolder = await makeDataFolder()
    demo = await createDemo({ ...env(wire.url), DEMO_DATA: dataFolder, DEMO_STORE: 'memory:', DEMO_SPEED: '0' })
    await demo.runtime.start()
  })

  afterAll(async () => {
    await demo.runtime.stop()
    await wire.stop()
    await removeDataFolder(dataFolder)
  })

  beforeEach(() => {
    wire.reset()
    wire.onMessage('still there', { content: 'Yes, still here.' })
  })

  /** Fails the given number of attempts. Each is a separate fixture, because a wire may join both messages of the user. */
  function failAttempts(userMessage: string, attempts: number, fixture: Omit<Fixture, 'match'>) {
    for (let sequenceIndex = 0; sequenceIndex < attempts; sequenceIndex++) {
      wire.prependFixture({ ...fixture, match: { userMessage, sequenceIndex } })
    }
  }

  const retriesIn = (types: readonly string[]): number => types.filter((type) => type === 'retry-start').length

  let sessions = 0
  function newSession() {
    return demo.runtime.session(`wire-${++sessions}`)
  }

  async function ask(session: ReturnType<typeof newSession>, text: string) {
    const run = await session.send(text)
    const types: string[] = []
    for await (const event of run) types.push(event.type)
    return { ...(await run.result()), types }
  }

  it('D8: is chosen by the environment alone', () => {
    expect(demo.choice.model.provider).toBe(provider)
    expect(demo.choice.offline).toBe(false)
  })

  it('streams text', async () => {
    wire.onMessage('good morning', { content: 'Good morning to you, and fair winds.' }, { chunkSize: 6 })
    const { status, text, types } = await ask(newSession(), 'good morning')
    expect({ status, text }).toEqual({ status: 'completed', text: 'Good morning to you, and fair winds.' })
    expect(types.filter((type) => type === 'text-delta').length).toBeGreaterThan(2)
  })

  it('streams reasoning separate from the text', async () => {
    wire.onMessage('think first', { content: 'Done thinking.', reasoning: 'Let me see how deep the water is.' })
    const { text, message, types } = await ask(newSession(), 'think first')
    expect(text).toBe('Done thinking.')
    expect(types).toContain('reasoning-delta')
    expect(message?.content.filter((part) => part.type === 'reasoning')).toMatchObject([{ text: 'Let me see how deep the water is.' }])
  })

  it('asks for a tool, gets its result, and answers from it', async () => {
    wire.addFixture({
      match: { userMessage: 'weather', hasToolResult: false },
      response: { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }], finishReason: 'stop' },
    })
    wire.addFixture({
      match: { userMessage: 'weather', hasToolResult: true },
      response: { content: 'Oslo has light snow at -3 °C.' },
    })
    const session = newSession()
    const { status, text, types } = await ask(session, 'how is the weather in Oslo')
    expect({ status, text }).toEqual({ status: 'completed', text: 'Oslo has light snow at -3 °C.' })
    expect(types.filter((type) => type.startsWith('tool-execution'))).toEqual(['tool-execution-start', 'tool-execution-end'])
    const { items } = await session.messages()
    expect(items.map((message) => message.role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
    const request = JSON.stringify(wire.getLastRequest()?.body)
    expect(request).toContain('light snow')
  })

  it.each([
    [401, 'auth', 0],
    [429, 'rate-limit', 3],
    [500, 'server-error', 3],
  ])('D9: answers %i as the classified error %s, and the session stays usable', async (status, kind, retries) => {
    failAttempts('trouble', retries + 1, {
      response: { error: { message: `the provider says ${status}`, type: 'provider_error' }, status, retryAfter: 0 },
    })
    const session = newSession()
    const failed = await ask(session, 'trouble')
    expect(failed.status).toBe('error')
    expect(retriesIn(failed.types)).toBe(retries)
    expect(failed.error).toMatchObject({ kind, status })
    expect(await ask(session, 'still there?')).toMatchObject({ status: 'completed', text: 'Yes, still here.' })
  })

  it('D9: a stream that is cut is an error, never a success, and the session stays usable', async () => {
    const content = 'This answer is long enough to be cut somewhere in its middle, where nobody expects it.'
    failAttempts('cut me off', 4, {
      response: { content },
      chunkSize: 4,
      truncateAfterChunks: 12,
      // Data that is still in the socket when it is destroyed is lost: each piece must have been sent before.
      latency: 10,
    })
    const session = newSession()
    const cut = await ask(session, 'cut me off')
    expect(cut.status).toBe('error')
    expect(retriesIn(cut.types)).toBe(3)
    expect(cut.error).toMatchObject({ phase: 'after-output' })
    expect(['stream-broken', 'network']).toContain(cut.error && 'kind' in cut.error ? cut.error.kind : undefined)
    expect(await ask(session, 'still there?')).toMatchObject({ status: 'completed', text: 'Yes, still here.' })
  })
})
