import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import {
  createModels,
  streamMessage,
  type JSONObject,
  type JSONValue,
  type Models,
  type ModelsOptions,
  type ProviderLike,
  type ProviderSettings,
} from '../../src/index.ts'
import { hello } from '../support.ts'
import { bodyOf, finish, text, type WireName } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'

const server = useRawServer()
const apiKey = 'test-key'

/** The real providers, as an application registers them. */
function providers(): Record<string, ProviderLike> {
  const { url, fetch } = server
  const baseURL = `${url}/v1`
  const openai = createOpenAI({ baseURL, apiKey, fetch })
  return {
    openai,
    chat: (modelId) => openai.chat(modelId),
    // The name is chosen by the application. The client still reads its options under "openai".
    proxy: createOpenAI({ name: 'proxy', baseURL, apiKey, fetch }),
    anthropic: createAnthropic({ baseURL, apiKey, fetch }),
    google: createGoogle({ baseURL: `${url}/v1beta`, apiKey, fetch }),
    compatible: createOpenAICompatible({ name: 'compatible', baseURL, apiKey, fetch }),
  }
}

function registry(settings: Omit<ProviderSettings, 'provider'> = {}, options: Partial<ModelsOptions> = {}): Models {
  const entries = Object.entries(providers()).map(([name, provider]) => {
    const optionsKey = name === 'proxy' ? 'openai' : undefined
    return [name, { provider, ...settings, ...(optionsKey && { optionsKey }) }] as const
  })
  return createModels({ providers: Object.fromEntries(entries), ...options })
}

interface Row {
  readonly ref: string
  readonly wire: WireName
  /** Provider name that the model reports. */
  readonly provider: string
  /** An option under the client's own key, and the field that the client sends for it. */
  readonly specific: Readonly<Record<string, JSONValue>>
  readonly sent: JSONObject
  readonly temperature: (body: JSONObject) => unknown
}

const flat = (body: JSONObject): unknown => body['temperature']
const cacheKey = { specific: { promptCacheKey: 'k' }, sent: { prompt_cache_key: 'k' }, temperature: flat }

const rows: readonly Row[] = [
  { ref: 'openai:gpt-4o', wire: 'openai responses', provider: 'openai.responses', ...cacheKey },
  { ref: 'chat:gpt-4o', wire: 'openai chat', provider: 'openai.chat', ...cacheKey },
  { ref: 'proxy:gpt-4o', wire: 'openai responses', provider: 'proxy.responses', ...cacheKey },
  {
    ref: 'compatible:llama3:8b',
    wire: 'openai-compatible',
    provider: 'compatible.chat',
    specific: { house: 'rule' },
    sent: { house: 'rule' },
    temperature: flat,
  },
  {
    ref: 'anthropic:claude-sonnet-4-5',
    wire: 'anthropic',
    provider: 'anthropic.messages',
    specific: { metadata: { userId: 'u' } },
    sent: { metadata: { user_id: 'u' } },
    temperature: flat,
  },
  {
    ref: 'google:gemini-2.5-flash',
    wire: 'google',
    provider: 'google.generative-ai',
    specific: { cachedContent: 'cachedContents/c' },
    sent: { cachedContent: 'cachedContents/c' },
    temperature: (body) => (body['generationConfig'] as JSONObject | undefined)?.['temperature'],
  },
]

describe.each(rows)('$ref in a registry of real providers', ({ ref, wire, provider, specific, sent, temperature }) => {
  const answer = (): void => server.answer({ body: bodyOf(wire, text('Hello'), finish('stop')) })
  const modelId = ref.slice(ref.indexOf(':') + 1)

  it('L86, L89, L90: is called by its name and records its own name', async () => {
    answer()
    const models = registry()
    const message = await streamMessage({ model: ref, models, messages: hello }).result()
    expect(message).toMatchObject({ stopReason: 'stop', provider, modelId, content: [{ type: 'text', text: 'Hello' }] })
    expect(models.resolve(ref)).toMatchObject({ provider: ref.slice(0, ref.indexOf(':')), modelId, ref })
    expect(server.requests).toHaveLength(1)
    expect(JSON.stringify([server.requests[0]?.path, server.requests[0]?.body])).toContain(modelId)
  })

  it('L83: defaults of the provider reach the server, and those of the call win over them', async () => {
    const models = registry({ defaults: { temperature: 0.25, providerSpecific: specific } })
    answer()
    await streamMessage({ model: ref, models, messages: hello }).result()
    answer()
    await streamMessage({ model: ref, models, messages: hello, runtimeParams: { temperature: 0.75 } }).result()
    expect(server.requests.map(({ body }) => temperature(body))).toEqual([0.25, 0.75])
  })

  it('L84: providerSpecific is read by the client', async () => {
    answer()
    const runtimeParams = { providerSpecific: specific }
    await streamMessage({ model: ref, models: registry(), messages: hello, runtimeParams }).result()
    expect(server.requests[0]?.body).toMatchObject(sent)
  })

  it('L83: headers of the registry are sent, and those of the request win over them in any case', async () => {
    const models = registry({ headers: { 'X-Tenant': 'registry', 'x-kept': 'registry', 'x-gone': 'registry' } })
    const headers = { 'x-tenant': 'request', 'X-Gone': undefined }
    answer()
    await streamMessage({ model: ref, models, messages: hello, headers }).result()
    expect(server.requests[0]?.headers).toMatchObject({ 'x-tenant': 'request', 'x-kept': 'registry' })
    expect(server.requests[0]?.headers).not.toHaveProperty('x-gone')
  })

  it('L86: languageModel returns an object for the AI SDK', async () => {
    answer()
    const { text: said } = streamText({ model: await registry().languageModel(ref), prompt: 'hi', maxRetries: 0 })
    expect(await said).toBe('Hello')
  })

  it('L62: middleware around a real client sees its stream', async () => {
    const seen: string[] = []
    const models = registry(undefined, {
      middleware: {
        wrapStream: async ({ doStream, model }) => {
          seen.push(model.provider)
          return doStream()
        },
      },
    })
    answer()
    const message = await streamMessage({ model: ref, models, messages: hello }).result()
    expect(message).toMatchObject({ stopReason: 'stop', provider, content: [{ text: 'Hello' }] })
    expect(seen).toEqual([provider])
  })
})

describe('a registry of real providers', () => {
  it('L86: a name without a provider belongs to the default provider', async () => {
    server.answer({ body: bodyOf('anthropic', text('Hello'), finish('stop')) })
    const models = registry({}, { default: 'anthropic' })
    const message = await streamMessage({ model: 'claude-haiku-4-5', models, messages: hello }).result()
    expect(message.provider).toBe('anthropic.messages')
  })

  it('L88: a real model is found among the built-in ones under its provider, whatever its name in the registry', () => {
    const { anthropic } = providers()
    const models = createModels({ providers: { claude: anthropic! } })
    expect(models.info('claude:claude-sonnet-4-5-20250929').contextWindow).toBe(200_000)
  })

  it('L17, L59: refuses a provider in place of a model', () => {
    const { openai } = providers()
    expect(() => streamMessage({ model: openai as never, messages: hello })).toThrow('is not a language model')
    const embedding = createOpenAI({ apiKey }).embedding('text-embedding-3-small')
    expect(() => streamMessage({ model: embedding as never, messages: hello })).toThrow('is not a language model')
  })
})
