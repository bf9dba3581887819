import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { JSONObject, LanguageModelV4 } from '../../src/index.ts'
import type { WireName } from './raw-bodies.ts'

/** Address of the server, and the fetch that sends requests. */
export interface WireOptions {
  readonly url: string
  readonly fetch: typeof fetch
}

/** One protocol between a real client and a provider. */
export interface Wire {
  readonly name: WireName
  readonly model: (options: WireOptions) => LanguageModelV4
  /** A model of this wire that reasons; absent if the wire has no reasoning. */
  readonly reasoningModel?: (options: WireOptions) => LanguageModelV4
  /** The provider's finish reasons for the two ordinary ends; Responses has none. */
  readonly raw: { readonly stop?: string; readonly toolCalls?: string }
  /** 12 input and 7 output tokens, in the fields of this wire. */
  readonly usage: Record<string, number>
  /** Further fields of a fixture with tool calls. */
  readonly toolCallFixture?: { readonly finishReason: string }
  /** Returns the text of the tool results in a request of this wire. */
  readonly toolResults: (body: JSONObject) => unknown
}

const apiKey = 'test-key'

interface ChatBody {
  readonly messages: readonly { readonly role: string; readonly tool_call_id?: string; readonly content: unknown }[]
}

const chatResults = (body: JSONObject): unknown =>
  (body as unknown as ChatBody).messages.filter(({ role }) => role === 'tool').map((message) => [message.tool_call_id, message.content])

const openai = ({ url, fetch }: WireOptions): ReturnType<typeof createOpenAI> => createOpenAI({ baseURL: `${url}/v1`, apiKey, fetch })

const compatible = ({ url, fetch }: WireOptions): LanguageModelV4 =>
  createOpenAICompatible({ name: 'compatible', baseURL: `${url}/v1`, apiKey, includeUsage: true, fetch })('some-model')

const anthropic = ({ url, fetch }: WireOptions): LanguageModelV4 =>
  createAnthropic({ baseURL: `${url}/v1`, apiKey, fetch })('claude-sonnet-4-5')

const google = ({ url, fetch }: WireOptions): LanguageModelV4 =>
  createGoogle({ baseURL: `${url}/v1beta`, apiKey, fetch })('gemini-2.5-flash')

export const wires: readonly Wire[] = [
  {
    name: 'openai responses',
    model: (options) => openai(options).responses('gpt-4o'),
    reasoningModel: (options) => openai(options).responses('o4-mini'),
    raw: {},
    usage: { input_tokens: 12, output_tokens: 7 },
    toolResults: (body) =>
      (body['input'] as { type?: string; call_id?: string; output?: string }[])
        .filter(({ type }) => type === 'function_call_output')
        .map((item) => [item.call_id, item.output]),
  },
  {
    name: 'openai chat',
    model: (options) => openai(options).chat('gpt-4o'),
    raw: { stop: 'stop', toolCalls: 'tool_calls' },
    usage: { prompt_tokens: 12, completion_tokens: 7 },
    toolResults: chatResults,
  },
  {
    name: 'openai-compatible',
    model: compatible,
    reasoningModel: compatible,
    raw: { stop: 'stop', toolCalls: 'tool_calls' },
    usage: { prompt_tokens: 12, completion_tokens: 7 },
    toolResults: chatResults,
  },
  {
    name: 'anthropic',
    model: anthropic,
    reasoningModel: anthropic,
    raw: { stop: 'end_turn', toolCalls: 'tool_use' },
    usage: { input_tokens: 12, output_tokens: 7 },
    toolResults: (body) =>
      (body['messages'] as { content: { type: string; tool_use_id?: string; content?: unknown }[] }[])
        .flatMap(({ content }) => content)
        .filter(({ type }) => type === 'tool_result')
        .map((block) => [block.tool_use_id, block.content]),
  },
  {
    name: 'google',
    model: google,
    reasoningModel: google,
    raw: { stop: 'STOP', toolCalls: 'STOP' },
    usage: { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 },
    toolCallFixture: { finishReason: 'stop' },
    toolResults: (body) =>
      (body['contents'] as { parts: { functionResponse?: { id?: string; response: { content: unknown } } }[] }[])
        .flatMap(({ parts }) => parts)
        .flatMap(({ functionResponse }) => (functionResponse ? [[functionResponse.id, functionResponse.response.content]] : [])),
  },
]

export interface WireServer extends WireOptions {
  readonly mock: LLMock
  /** Bodies of all requests of the running test, as the client sent them. */
  readonly bodies: readonly JSONObject[]
}

/** A loopback server that supports all wires, for the tests of one file. */
export function useWireServer(): WireServer {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  const bodies: JSONObject[] = []
  beforeAll(async () => void (await mock.start()))
  afterEach(() => {
    mock.reset()
    bodies.length = 0
  })
  afterAll(() => mock.stop())
  return {
    mock,
    bodies,
    get url() {
      return mock.url
    },
    fetch: (input, init) => {
      if (typeof init?.body === 'string') bodies.push(JSON.parse(init.body) as JSONObject)
      return fetch(input, init)
    },
  }
}

export function wireNamed(name: WireName): Wire {
  const wire = wires.find((candidate) => candidate.name === name)
  if (!wire) throw new Error(`there is no wire ${name}`)
  return wire
}
