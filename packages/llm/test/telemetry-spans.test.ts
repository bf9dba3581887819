import { SpanKind, SpanStatusCode, trace, type TracerProvider } from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base'
import { createOpenAI } from '@ai-sdk/openai'
import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage, type LanguageModelV4 } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { providerName } from '../src/telemetry/provider-names.ts'
import { call, drain, finish, hello, rawModel, readAll, settle, text, type Call } from './support.ts'
import { forgetSdkAfterEach, record } from './telemetry-recorder.ts'

forgetSdkAfterEach()

describe('a span per call', () => {
  it('L95: the span has the request and the response', async () => {
    const recorder = record()
    const { stream, clock } = call(
      {
        parts: [
          { type: 'response-metadata', id: 'resp_1', modelId: 'scripted-model-2026' },
          { sleep: 40 },
          ...text('Hi'),
          finish('stop', 'end_turn'),
        ],
        finish: false,
      },
      {
        runtimeParams: { temperature: 0.5, maxTokens: 64, topP: 0.9, topK: 3, stopSequences: ['END'] },
        price: { input: 1, output: 2 },
        telemetry: { metadata: { tenant: 'acme' } },
      },
    )
    const result = stream.result()
    await settle()
    await clock.advance(40)
    await result
    const { name, kind, status, attributes, events, instrumentationScope } = recorder.span()
    expect({ name, kind, status, events, scope: instrumentationScope.name }).toEqual({
      name: 'chat scripted-model',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      events: [],
      scope: '@bowline/llm',
    })
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted-model',
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.top_k': 3,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.response.id': 'resp_1',
      'gen_ai.response.model': 'scripted-model-2026',
      'gen_ai.response.finish_reasons': ['end_turn'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'bowline.stop_reason': 'stop',
      'bowline.cost': 0.00002,
      'bowline.cost_currency': 'USD',
      'bowline.first_delta_ms': 40,
      'bowline.metadata.tenant': 'acme',
    })
  })

  interface Ending {
    readonly how: string
    readonly stopReason: AssistantMessage['stopReason']
    readonly reasons?: readonly string[]
    readonly errorType?: string
    run(): Promise<unknown>
  }

  const afterStart = async ({ stream }: Call, act: () => void): Promise<AssistantMessage> => {
    const result = stream.result()
    await settle()
    act()
    return result
  }

  const endings: readonly Ending[] = [
    { how: 'success', stopReason: 'stop', reasons: ['stop'], run: () => call({ text: 'a' }).stream.result() },
    {
      how: 'a tool call',
      stopReason: 'tool-calls',
      reasons: ['tool-calls'],
      run: () => call({ toolCalls: [{ name: 'x', input: {} }] }).stream.result(),
    },
    {
      how: 'a tool call of a provider without words of its own',
      stopReason: 'tool-calls',
      reasons: ['tool_call'],
      run() {
        const silent = { unified: 'tool-calls', raw: undefined } as const
        return call({ toolCalls: [{ name: 'x', input: {} }], finish: silent }).stream.result()
      },
    },
    {
      how: 'a provider that cannot be reached',
      stopReason: 'error',
      errorType: 'unknown',
      run: () => call({ error: new Error('no') }).stream.result(),
    },
    {
      how: 'an error between text and finish',
      stopReason: 'error',
      reasons: ['stop'],
      errorType: 'unknown',
      run: () => call({ text: 'ab', chunk: 1, failAfter: { parts: 3, error: 'x', as: 'part' } }).stream.result(),
    },
    {
      how: 'a filter',
      stopReason: 'error',
      errorType: 'content-blocked',
      reasons: ['refusal'],
      run: () => call({ text: 'a', finish: { unified: 'content-filter', raw: 'refusal' } }).stream.result(),
    },
    {
      how: 'a deadline',
      stopReason: 'error',
      errorType: 'timeout',
      async run() {
        const { stream, clock } = call({ hang: 'before' }, { timeouts: { firstPartMs: 5 } })
        const result = stream.result()
        await settle()
        await clock.advance(10)
        return result
      },
    },
    {
      how: 'an abort in mid-stream',
      stopReason: 'aborted',
      run() {
        const running = call({ text: 'ab', chunk: 1, hang: 'middle' })
        return afterStart(running, () => running.stream.abort())
      },
    },
    {
      how: 'an abort before the provider answers',
      stopReason: 'aborted',
      run() {
        const running = call({ hang: 'before', ignoreAbort: true })
        return afterStart(running, () => running.stream.abort())
      },
    },
    {
      how: 'a signal that was aborted before',
      stopReason: 'aborted',
      run: () => readAll(call({}, { abortSignal: AbortSignal.abort() }).stream),
    },
    {
      how: 'an abort before the first read',
      stopReason: 'aborted',
      run() {
        const { stream } = call({})
        stream.abort()
        return stream.result()
      },
    },
    {
      how: 'a reader who leaves',
      stopReason: 'aborted',
      async run() {
        for await (const event of call({ text: 'abc', chunk: 1 }).stream) if (event.type === 'text-delta') break
      },
    },
  ]

  it.each(endings)('L95: $how ends exactly one span', async ({ run, stopReason, reasons, errorType }) => {
    const recorder = record()
    await run()
    await settle()
    const { attributes, status, ended } = recorder.span()
    expect(ended).toBe(true)
    expect(status).toEqual({ code: stopReason === 'error' ? SpanStatusCode.ERROR : SpanStatusCode.UNSET })
    expect(attributes['bowline.stop_reason']).toBe(stopReason)
    expect(attributes['error.type']).toBe(errorType)
    expect(attributes['gen_ai.response.finish_reasons']).toEqual(reasons)
  })

  it('L95: estimated figures are marked', async () => {
    const recorder = record()
    await call({ text: 'abcdefgh', failAfter: { parts: 3, error: 'x', as: 'throw' } }).stream.result()
    expect(recorder.span().attributes).toMatchObject({
      'bowline.usage.estimated': true,
      'gen_ai.usage.output_tokens': 2,
    })
  })

  it('L95: a stream without reads has no span, one that is read and whose result is requested has one', async () => {
    const recorder = record()
    call({ text: 'a' })
    const { stream } = call({ text: 'a' })
    await readAll(stream)
    await stream.result()
    stream.abort()
    expect(recorder.spans()).toHaveLength(1)
  })

  it('L95: enabled: false gives no span', async () => {
    const recorder = record()
    await call({ text: 'a' }, { telemetry: { enabled: false } }).stream.result()
    expect(recorder.spans()).toEqual([])
  })

  it('L95: a call that is not sampled gives no span and the same message', async () => {
    const plain = await call({ text: 'a' }).stream.result()
    const recorder = record({ sampler: new AlwaysOffSampler() })
    expect(await call({ text: 'a' }, { telemetry: { content: true } }).stream.result()).toEqual(plain)
    expect(recorder.spans()).toEqual([])
  })
})

describe('context', () => {
  const tracer = () => trace.getTracer('test')

  it('L95: the span is a child of the context of the first read, not of the context that created the stream', async () => {
    const recorder = record()
    const { stream } = tracer().startActiveSpan('maker', (span) => {
      span.end()
      return call({ text: 'a' })
    })
    const reader = await tracer().startActiveSpan('reader', async (span) => {
      await drain(stream)
      span.end()
      return span.spanContext()
    })
    const chat = recorder.spans().find(({ name }) => name.startsWith('chat'))
    expect(chat?.parentSpanContext?.spanId).toBe(reader.spanId)
    expect(chat?.spanContext().traceId).toBe(reader.traceId)
  })

  it('L95: concurrent calls keep their own parents', async () => {
    const recorder = record()
    const model = scriptedModel(() => ({ text: 'abc', chunk: 1 }))
    const parents = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        tracer().startActiveSpan(name, async (span) => {
          await readAll(streamMessage({ model, messages: hello }))
          return span.spanContext().spanId
        }),
      ),
    )
    expect(recorder.spans().map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(parents)
  })

  it('L95: the provider is called inside the span, so that its requests nest', async () => {
    const recorder = record()
    let active: string | undefined
    const fetch = (): Promise<Response> => {
      active = trace.getActiveSpan()?.spanContext().spanId
      return Promise.resolve(new Response('{}', { status: 500 }))
    }
    await streamMessage({ model: createOpenAI({ apiKey: 'k', fetch })('gpt-5'), messages: hello }).result()
    const span = recorder.span()
    expect(active).toBe(span.spanContext().spanId)
    expect(span.attributes['gen_ai.provider.name']).toBe('openai')
  })

  it('L95: the reader goes on in its own context', async () => {
    record()
    await tracer().startActiveSpan('reader', async (span) => {
      for await (const _event of call({ text: 'abc', chunk: 1 }).stream) {
        expect(trace.getActiveSpan()).toBe(span)
      }
      expect(trace.getActiveSpan()).toBe(span)
    })
  })
})

describe('cost', () => {
  it('L95: the span is changed as often for 1000 deltas as for 2', async () => {
    const touches = async (deltas: number): Promise<number> => {
      record()
      const counted = countingProvider(trace.getTracerProvider())
      trace.disable()
      trace.setGlobalTracerProvider(counted.provider)
      await readAll(call({ text: 'x'.repeat(deltas), chunk: 1 }).stream)
      trace.disable()
      return counted.count()
    }
    const few = await touches(2)
    expect(few).toBeGreaterThan(2)
    expect(await touches(1_000)).toBe(few)
  })

  /** Counts operations on spans. */
  function countingProvider(real: TracerProvider): { provider: TracerProvider; count(): number } {
    let count = 0
    const counting = <T extends object>(target: T): T =>
      new Proxy(target, {
        get(object, key) {
          const value: unknown = Reflect.get(object, key)
          if (typeof value !== 'function') return value
          return (...given: unknown[]) => {
            count++
            const wrapped = given.map((item) =>
              typeof item === 'function' ? (span: object) => (item as (span: object) => unknown)(counting(span)) : item,
            )
            const result: unknown = value.apply(object, wrapped)
            return typeof result === 'object' && result !== null ? counting(result) : result
          }
        },
      })
    return { provider: counting(real), count: () => count }
  }
})

describe('names of providers', () => {
  it.each([
    ['openai.responses', 'openai'],
    ['openai.chat', 'openai'],
    ['anthropic.messages', 'anthropic'],
    ['google.generative-ai', 'gcp.gemini'],
    ['google.vertex.chat', 'gcp.vertex_ai'],
    ['vertex.anthropic.messages', 'gcp.vertex_ai'],
    ['amazon-bedrock', 'aws.bedrock'],
    ['bedrock.anthropic.messages', 'aws.bedrock'],
    ['azure.responses', 'azure.ai.openai'],
    ['azure-openai.chat', 'azure.ai.openai'],
    ['mistral.chat', 'mistral_ai'],
    ['moonshotai.chat', 'moonshot_ai'],
    ['xai.responses', 'x_ai'],
    ['groq.chat', 'groq'],
    ['acme.chat.v2', 'acme'],
    ['googlish', 'googlish'],
    ['', ''],
  ])('L95: %s is called %s', (provider, name) => {
    expect(providerName(provider)).toBe(name)
  })

  it('L95: a model without a name of its own still gets a span', async () => {
    const recorder = record()
    const model: LanguageModelV4 = rawModel(() => Promise.reject(new Error('x')), '')
    await streamMessage({ model, messages: hello }).result()
    expect(recorder.span().attributes['gen_ai.provider.name']).toBe('')
  })
})
