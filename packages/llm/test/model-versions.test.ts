import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createModels,
  LlmError,
  streamMessage,
  type AnyLanguageModel,
  type AssistantMessage,
  type LanguageModelV4StreamPart,
} from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { modelOfV2, modelOfV3, type ModelOfV2 } from './older-models.ts'
import { nameOf, partsOf, stopRows } from './stop-rows.ts'
import { finish, hello, readAll, resultOf, settle, text } from './support.ts'

/** The AI SDK logs a warning through these globals for each model of version 2. */
const shared = globalThis as { AI_SDK_LOG_WARNINGS?: unknown; AI_SDK_DEFAULT_PROVIDER?: unknown }
const warned: unknown[] = []
beforeAll(() => void (shared.AI_SDK_LOG_WARNINGS = (warning: unknown) => warned.push(warning)))
afterAll(() => void delete shared.AI_SDK_LOG_WARNINGS)

type OlderModel = ReturnType<typeof modelOfV3> | ModelOfV2

const versions: [string, (parts: readonly LanguageModelV4StreamPart[]) => OlderModel][] = [
  ['V3', modelOfV3],
  ['V2', modelOfV2],
]

const answerOf = (model: AnyLanguageModel): Promise<AssistantMessage> =>
  streamMessage({ model, messages: hello, messageId: 'msg_1' }).result()

const call: LanguageModelV4StreamPart[] = [
  { type: 'tool-input-start', id: 'c', toolName: 'weather' },
  { type: 'tool-input-delta', id: 'c', delta: '{"city":' },
  { type: 'tool-input-delta', id: 'c', delta: '"Oslo"}' },
  { type: 'tool-input-end', id: 'c' },
  { type: 'tool-call', toolCallId: 'c', toolName: 'weather', input: '{"city":"Oslo"}' },
]

describe.each(versions)('F22: a model of version %s', (_, modelOf) => {
  it('F22, L59: text gives the events that a V4 model gives', async () => {
    const parts = [...text('Hello'), finish()]
    const { provider, modelId } = modelOf(parts)
    const clock = { now: () => 1_000, setTimer: () => () => undefined }
    const request = { messages: hello, messageId: 'msg_1', clock }
    const events = await readAll(streamMessage({ ...request, model: modelOf(parts) }))
    const model = scriptedModel([{ parts, finish: false }], { provider, modelId })
    const wanted = await readAll(streamMessage({ ...request, model }))
    // A scripted model also sends response data, unlike the mocks.
    const { response: _response, ...message } = (wanted.pop() as { message: AssistantMessage }).message
    expect(events.slice(0, -1)).toEqual(wanted)
    expect(events.at(-1)).toEqual({ type: 'message-end', message })
    expect(message).toMatchObject({ stopReason: 'stop', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } })
  })

  it('F22: a tool call is built from its own parts', async () => {
    const message = await answerOf(modelOf([...call, finish('tool-calls')]))
    expect(message).toMatchObject({
      stopReason: 'tool-calls',
      content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'weather', input: { city: 'Oslo' } }],
    })
  })

  it('F22: the finish unknown, which only older models have, is a broken stream', async () => {
    const message = await answerOf(modelOf([...text('so far'), finish('unknown' as 'other')]))
    expect(message).toMatchObject({ stopReason: 'error', error: { kind: 'stream-broken', phase: 'after-output' } })
    expect(message.content).toEqual([{ type: 'text', text: 'so far' }])
  })

  it('L59: files arrive as they do from a V4 model', async () => {
    const file = { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }
    const message = await answerOf(modelOf([file as unknown as LanguageModelV4StreamPart, finish()]))
    expect(message.content).toEqual([{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } }])
  })

  it('L59, L25: a refused call and an error in the stream are data', async () => {
    const broken = await answerOf(modelOf([...text('a'), { type: 'error', error: { type: 'overloaded_error' } }]))
    expect(broken).toMatchObject({ stopReason: 'error', error: { kind: 'overloaded', phase: 'after-output' } })
    const refusing = modelOf([])
    refusing.doStream = () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))
    expect((await answerOf(refusing)).error?.kind).toBe('network')
  })

  it('L59, L23: leaving reaches the stream of the model itself', async () => {
    let cancelled = false
    let signal: AbortSignal | undefined
    const stream = new ReadableStream({
      start: (controller) => {
        for (const part of text('a').slice(0, 2)) controller.enqueue(part)
      },
      cancel: () => void (cancelled = true),
    })
    const model = modelOf([])
    model.doStream = (options: { abortSignal?: AbortSignal }) => {
      signal = options.abortSignal
      return Promise.resolve({ stream })
    }
    const reading = streamMessage({ model, messages: hello })
    for await (const event of reading) if (event.type === 'text-delta') break
    expect(await reading.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'consumer-left' })
    await settle()
    expect([cancelled, signal?.aborted]).toEqual([true, true])
  })

  it('L59, L90: its own names are in the message and in the first event, also from a registry', async () => {
    const model = modelOf([...text('a'), finish()])
    const direct = await answerOf(model)
    const models = createModels({ providers: { mine: () => model } })
    const registered = await streamMessage({ model: 'mine:any', models, messages: hello }).result()
    for (const message of [direct, registered]) {
      expect([message.provider, message.modelId]).toEqual([model.provider, model.modelId])
    }
    expect(models.resolve('mine:any').provider).toBe('mine')
    expect((await models.languageModel('mine:any')).specificationVersion).toBe('v4')
    expect(await models.languageModel('mine:any')).toBe(await models.languageModel('mine:any'))
  })
})

describe('stop reasons of older models', () => {
  it.each(stopRows.map((row) => [nameOf(row), row] as const))('L36: %s, through V3', async (_, row) => {
    const message = await answerOf(modelOfV3(partsOf(row)))
    expect(message.stopReason).toBe(row.stopReason)
    expect(message.rawStopReason).toBe(row.raw)
    if (row.error) expect(message.error).toMatchObject(row.error)
    else expect(message).not.toHaveProperty('error')
  })

  it.each(stopRows.map((row) => [nameOf(row), row] as const))('L36: %s, through V2 without raw', async (_, row) => {
    const { raw, ...rest } = row
    const wanted = raw === undefined ? row : await resultOf(partsOf(rest))
    const message = await answerOf(modelOfV2(partsOf(row)))
    expect(message).not.toHaveProperty('rawStopReason')
    expect(message.stopReason).toBe(wanted.stopReason)
    expect(message.error?.kind).toBe(wanted.error?.kind)
  })

  it('L36: a pause is recognized through V3 and is an ordinary stop through V2', async () => {
    const parts = [...text('a'), finish('stop', 'pause_turn')]
    const paused = { stopReason: 'stop', paused: true, rawStopReason: 'pause_turn' }
    expect(await answerOf(modelOfV3(parts))).toMatchObject(paused)
    const older = await answerOf(modelOfV2(parts))
    expect(older.stopReason).toBe('stop')
    expect(older).not.toHaveProperty('paused')
  })
})

describe('the call of an older model', () => {
  const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } } as const
  const request = {
    messages: [{ role: 'user', content: [image] }],
    runtimeParams: { temperature: 0.5, maxTokens: 7 },
    headers: { 'x-a': '1' },
    providerOptions: { old: { b: 2 } },
  } as const

  it.each(versions)('L59: %s gets settings, headers and files in its own format', async (_, modelOf) => {
    const model = modelOf([...text('a'), finish()])
    await streamMessage({ model, ...request }).result()
    const [options] = model.doStreamCalls
    expect(options).toMatchObject({
      temperature: 0.5,
      maxOutputTokens: 7,
      headers: { 'x-a': '1' },
      providerOptions: { old: { b: 2 } },
      prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'AQID' }] }],
    })
    expect(options?.abortSignal).toBeInstanceOf(AbortSignal)
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('L59: one model object has one adapter, so that the AI SDK prints its warning once', async () => {
    const model = modelOfV2([])
    warned.length = 0
    for (let index = 0; index < 3; index++) await answerOf(model)
    expect(model.doStreamCalls).toHaveLength(3)
    expect(warned).toHaveLength(1)
  })
})

describe('models that cannot be called', () => {
  const named = (specificationVersion: unknown): AnyLanguageModel =>
    ({ ...scriptedModel([]), specificationVersion, provider: 'ancient.chat', modelId: 'gpt-1' }) as AnyLanguageModel

  function refusalOf(model: unknown): LlmError {
    try {
      streamMessage({ model: model as AnyLanguageModel, messages: hello })
    } catch (error) {
      if (LlmError.isInstance(error)) return error
    }
    throw new Error('the model was not refused')
  }

  it.each(['v1', 'v5', undefined, 4])('L59, L17: version %s is refused with provider, model and version', (version) => {
    const { code, message } = refusalOf(named(version))
    expect(code).toBe('invalid-config')
    expect(message).toBe(`the model ancient.chat/gpt-1 has specification version "${version}"; supported: "v4", "v3", "v2"`)
    const models = createModels({ providers: { ancient: () => named(version) } })
    expect(() => models.resolve('ancient:gpt-1')).toThrow(message)
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a number', 5],
    ['a model without names', { specificationVersion: 'v4', doStream: () => null }],
    ['a provider', Object.assign(() => scriptedModel([]), { specificationVersion: 'v4', languageModel: () => null })],
    ['an embedding model', { specificationVersion: 'v4', provider: 'a', modelId: 'b', doEmbed: () => null }],
  ])('L59: %s is not a model', (_, model) => {
    expect(refusalOf(model).code).toBe('invalid-config')
  })

  it('L60: a plain string throws, whatever default provider the AI SDK has', () => {
    const asked: string[] = []
    const languageModel = (id: string): AnyLanguageModel => (asked.push(id), scriptedModel([{ text: 'no' }]))
    shared.AI_SDK_DEFAULT_PROVIDER = { languageModel }
    try {
      expect(refusalOf('openai/gpt').message).toContain('model "openai/gpt" is only a name: pass models')
      const models = createModels({ providers: {} })
      expect(() => streamMessage({ model: 'openai/gpt', models, messages: hello })).toThrow(LlmError)
      expect(() => streamMessage({ model: scriptedModel([]), messages: hello, runtimeParams: { model: 'openai/gpt' } })).toThrow(
        'runtimeParams.model "openai/gpt" is only a name',
      )
      expect(asked).toEqual([])
    } finally {
      delete shared.AI_SDK_DEFAULT_PROVIDER
    }
  })
})
