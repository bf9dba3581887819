import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { LanguageModelMiddleware } from 'ai'
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import {
  createModels,
  streamMessage,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  type ModelRequest,
  type Models,
} from '../src/index.ts'
import { manualClock, scriptedModel, type ScriptedModel } from '../src/testing/index.ts'
import { finish, hello, messageOf, readAll, text } from './support.ts'

interface Wrapped {
  readonly models: Models
  readonly model: ScriptedModel
}

function wrapped(middleware: LanguageModelMiddleware | readonly LanguageModelMiddleware[]): Wrapped {
  const model = scriptedModel(() => ({ text: 'from the model' }), { provider: 'acme.chat', modelId: 'big' })
  return { model, models: createModels({ providers: { acme: () => model }, default: 'acme:big', middleware }) }
}

const request = {
  messages: hello,
  instructions: 'be brief',
  tools: [{ name: 'weather', inputSchema: { type: 'object' } }],
  toolChoice: 'required',
  runtimeParams: { temperature: 0.5, stopSequences: ['END'], reasoning: 'low', providerSpecific: { a: 1 } },
  headers: { 'x-a': '1' },
  providerOptions: { other: { b: 2 } },
} as const satisfies Partial<ModelRequest>

const withoutSignal = ({ abortSignal, ...options }: LanguageModelV4CallOptions): object => {
  expect(abortSignal).toBeInstanceOf(AbortSignal)
  return options
}

describe('middleware of the AI SDK', () => {
  it('L62: transformParams and wrapStream see the options that the model would see without them', async () => {
    const seen: LanguageModelV4CallOptions[] = []
    const { models, model } = wrapped({
      transformParams: ({ params, type }) => {
        expect(type).toBe('stream')
        seen.push(params)
        return Promise.resolve(params)
      },
      wrapStream: ({ params, doStream }) => {
        seen.push(params)
        return doStream()
      },
    })
    await streamMessage({ ...request, model: 'acme:big', models }).result()
    await streamMessage({ ...request, model }).result()
    const [throughMiddleware, direct] = model.calls.map(withoutSignal)
    expect(direct).toMatchObject({ temperature: 0.5, headers: { 'x-a': '1' }, toolChoice: { type: 'required' } })
    expect(throughMiddleware).toStrictEqual(direct)
    expect(seen.map(withoutSignal)).toStrictEqual([direct, direct])
    expect(seen[0]).toBe(seen[1])
  })

  it('L62: the model gets the changes of transformParams, the first middleware first', async () => {
    const add = (word: string): LanguageModelMiddleware => ({
      transformParams: ({ params }) => Promise.resolve({ ...params, stopSequences: [...(params.stopSequences ?? []), word] }),
    })
    const { models, model } = wrapped([add('first'), add('second')])
    await streamMessage({ model: 'acme:big', models, messages: hello }).result()
    expect(model.calls[0]?.stopSequences).toEqual(['first', 'second'])
  })

  it('L62: the stream of wrapStream is read, not that of the model', async () => {
    const { models, model } = wrapped({
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream()
        const louder = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
          transform: (part, controller) =>
            controller.enqueue(part.type === 'text-delta' ? { ...part, delta: part.delta.toUpperCase() } : part),
        })
        return { ...rest, stream: stream.pipeThrough(louder) }
      },
    })
    const events = await readAll(streamMessage({ model: 'acme:big', models, messages: hello }))
    expect(messageOf(events).content).toEqual([{ type: 'text', text: 'FROM THE MODEL' }])
    expect(model.calls).toHaveLength(1)
  })

  it('L62: a middleware may answer without the model', async () => {
    const stream = (): ReadableStream<LanguageModelV4StreamPart> => ReadableStream.from([...text('cached'), finish()])
    const { models, model } = wrapped({ wrapStream: () => Promise.resolve({ stream: stream() }) })
    const message = await streamMessage({ model: 'acme:big', models, messages: hello }).result()
    expect(message).toMatchObject({ stopReason: 'stop', content: [{ type: 'text', text: 'cached' }] })
    expect(model.calls).toEqual([])
  })

  it.each<[string, LanguageModelMiddleware]>([
    ['transformParams', { transformParams: () => Promise.reject(new Error('ECONNRESET in the middleware')) }],
    ['wrapStream', { wrapStream: () => Promise.reject(new Error('ECONNRESET in the middleware')) }],
    [
      'overrideProvider',
      {
        overrideProvider: () => {
          throw new Error('ECONNRESET in the middleware')
        },
      },
    ],
  ])('L62: an error of %s is data', async (_, middleware) => {
    const { models } = wrapped(middleware)
    const message = await streamMessage({ model: 'acme:big', models, messages: hello }).result()
    expect(message).toMatchObject({ stopReason: 'error', error: { phase: 'before-output' } })
    expect(message.error?.message).toContain('in the middleware')
  })

  it('L62: a failure while the model is wrapped is retried at the next call', async () => {
    let failures = 1
    const { models } = wrapped({
      overrideProvider: ({ model }) => {
        if (failures-- > 0) throw new Error('not yet')
        return model.provider
      },
    })
    const call = (): Promise<string> =>
      streamMessage({ model: 'acme:big', models, messages: hello })
        .result()
        .then(({ stopReason }) => stopReason)
    expect([await call(), await call()]).toEqual(['error', 'stop'])
  })

  it('L62, L90: names that a middleware sets are for the AI SDK; messages keep those of the model', async () => {
    const { models } = wrapped({ overrideProvider: () => 'renamed', overrideModelId: () => 'other' })
    const events = await readAll(streamMessage({ model: 'acme:big', models, messages: hello }))
    expect(events[0]).toMatchObject({ type: 'message-start', provider: 'acme.chat', modelId: 'big' })
    expect(messageOf(events)).toMatchObject({ provider: 'acme.chat', modelId: 'big' })
    const model = await models.languageModel()
    expect([model.provider, model.modelId]).toEqual(['renamed', 'other'])
  })

  it('L62, L84: a renamed model still gets its options under the key of its client', async () => {
    const { models, model } = wrapped({ overrideProvider: () => 'renamed' })
    const runtimeParams = { providerSpecific: { a: 1 } }
    await streamMessage({ model: 'acme:big', models, messages: hello, runtimeParams }).result()
    expect(model.calls[0]?.providerOptions).toEqual({ acme: { a: 1 } })
  })

  it('L62, L55: the supported URLs are those of the middleware', async () => {
    const asked: string[] = []
    const { models, model } = wrapped({ overrideSupportedUrls: () => ({ 'image/*': [/^https:\/\/cdn\./] }) })
    const image = (url: string) => ({ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }) as const
    await streamMessage({
      model: 'acme:big',
      models,
      messages: [{ role: 'user', content: [image('https://cdn.test/a.png'), image('https://far.test/b.png')] }],
      download: (url) => {
        asked.push(url.href)
        return Promise.resolve({ data: new Uint8Array([1]), mediaType: 'image/png' })
      },
    }).result()
    expect(asked).toEqual(['https://far.test/b.png'])
    expect(model.calls).toHaveLength(1)
  })

  it('L62: the AI SDK uses the same wrapped model', async () => {
    const { models } = wrapped({
      transformParams: ({ params }) => Promise.resolve({ ...params, seed: 7 }),
      wrapStream: ({ params }) => {
        const stream = ReadableStream.from([...text(`seed ${params.seed}`), finish()])
        return Promise.resolve({ stream })
      },
    })
    const { text: answer } = streamText({ model: await models.languageModel(), prompt: 'hi' })
    expect(await answer).toBe('seed 7')
  })

  it('L62, L28: an abort before the adapter is loaded calls no middleware', async () => {
    let called = 0
    const { models, model } = wrapped({ transformParams: ({ params }) => (called++, Promise.resolve(params)) })
    const stream = streamMessage({ model: 'acme:big', models, messages: hello, clock: manualClock() })
    const result = stream.result()
    stream.abort('changed my mind')
    expect(await result).toMatchObject({ stopReason: 'aborted', abortReason: 'changed my mind' })
    await models.languageModel()
    expect([called, model.calls.length]).toEqual([0, 0])
  })
})

describe('the package ai', () => {
  const source = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

  /** Runs a script in a separate process, which may record or refuse imports. */
  async function run(onResolve: string, script: string): Promise<unknown> {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      `import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ resolve(name, context, next) { ${onResolve}; return next(name, context) } })
      const { createModels, streamMessage } = await import(${source('../src/index.ts')})
      const { scriptedModel } = await import(${source('../src/testing/index.ts')})
      const script = () => scriptedModel([{ text: 'ok' }])
      const messages = [{ role: 'user', content: 'hi' }]
      const tools = [{ name: 'weather', inputSchema: { type: 'object', properties: {} } }]
      const call = async (request) => {
        const { stopReason, error } = await streamMessage({ messages, tools, ...request }).result()
        return { stopReason, error }
      }
      const old = () => ({ ...script(), specificationVersion: 'v3', provider: 'old', modelId: 'v3-model' })
      const modelsWith = (middleware) => createModels({ providers: { a: script }, default: 'a:b', middleware })
      ${script}`,
    ])
    return JSON.parse(stdout)
  }

  const note = 'loaded.push(name)'
  const refuse = "if (name === 'ai') throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })"
  const counted = 'const count = () => loaded.filter((name) => /^ai(\\/|$)/.test(name)).length'

  it('L61: is not loaded for V4 models, and at the first call through a middleware', async () => {
    const counts = await run(
      note,
      `${counted}
      const counts = { imported: count() }
      await call({ model: script() })
      await call({ model: 'a:b', models: modelsWith(undefined) })
      await call({ model: 'a:b', models: modelsWith([]) })
      await modelsWith(undefined).languageModel()
      counts.direct = count()
      const models = modelsWith({})
      models.resolve()
      streamMessage({ messages, model: old() })
      counts.named = count()
      await call({ model: 'a:b', models })
      counts.middleware = count() > 0
      console.log(JSON.stringify(counts))`,
    )
    expect(counts).toEqual({ imported: 0, direct: 0, named: 0, middleware: true })
  })

  it('L61: is loaded at the first call of an older model', async () => {
    const counts = await run(note, `${counted}; await call({ model: old() }); console.log(JSON.stringify(count() > 0))`)
    expect(counts).toBe(true)
  })

  it('L61: if it is not installed, calls that need it fail as data that says so, and the rest works', async () => {
    const outcomes = await run(
      refuse,
      `console.log(JSON.stringify({
        direct: await call({ model: script() }),
        older: await call({ model: old() }),
        middleware: await call({ model: 'a:b', models: modelsWith({}) }),
        languageModel: await modelsWith({}).languageModel().catch(({ name, code }) => [name, code]),
      }))`,
    )
    const error = { kind: 'config', retryable: false, phase: 'before-output' }
    expect(outcomes).toMatchObject({
      direct: { stopReason: 'stop' },
      older: {
        stopReason: 'error',
        error: { ...error, message: 'a model of version "v3" needs the package "ai", which cannot be loaded; run: npm install ai' },
      },
      middleware: {
        stopReason: 'error',
        error: { ...error, message: 'middleware needs the package "ai", which cannot be loaded; run: npm install ai' },
      },
      languageModel: ['LlmError', 'invalid-config'],
    })
  })
})
