import { describe, expect, it } from 'vitest'
import {
  createModels,
  LlmError,
  mergeRuntimeParams,
  runtimeParamsSchema,
  streamMessage,
  type LanguageModelV4CallOptions,
  type ModelRequest,
  type ProviderOptions,
  type ProviderSettings,
  type RuntimeParams,
} from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { hello } from './support.ts'

async function optionsOf(request: Partial<ModelRequest>, provider = 'acme.chat'): Promise<LanguageModelV4CallOptions> {
  const model = scriptedModel([{ text: 'ok' }], { provider })
  await streamMessage({ model, messages: hello, ...request }).result()
  const [{ abortSignal: _, ...options } = { prompt: [] }] = model.calls
  return options
}

describe('runtime params', () => {
  it('L80: only defined fields override, lists are replaced, inputs stay as they are', () => {
    const low: RuntimeParams = { temperature: 1, maxTokens: 5, stopSequences: ['a', 'b'] }
    const high: RuntimeParams = { temperature: undefined, maxTokens: 7, stopSequences: ['c'] }
    const merged = mergeRuntimeParams(low, undefined, high)
    expect(merged).toStrictEqual({ temperature: 1, maxTokens: 7, stopSequences: ['c'] })
    expect(low).toStrictEqual({ temperature: 1, maxTokens: 5, stopSequences: ['a', 'b'] })
    expect(mergeRuntimeParams()).toStrictEqual({})
  })

  it('L80: the highest layer with a value wins, also with an empty value', () => {
    const merged = mergeRuntimeParams({ temperature: 1, seed: 1, systemPrompt: 'a' }, { seed: 2 }, { temperature: 0 })
    expect(merged).toStrictEqual({ temperature: 0, seed: 2, systemPrompt: 'a' })
    const nothing = { systemPrompt: '', stopSequences: [] }
    expect(mergeRuntimeParams({ systemPrompt: 'a', stopSequences: ['a'] }, nothing)).toStrictEqual(nothing)
  })

  it('L80, L81: frozen inputs are merged and stay unchanged', () => {
    const low = Object.freeze({ providerSpecific: Object.freeze({ a: Object.freeze({ x: 1 }) }) })
    const merged = mergeRuntimeParams(low, { providerSpecific: { b: 2 } })
    expect(merged).toStrictEqual({ providerSpecific: { a: { x: 1 }, b: 2 } })
    expect(low).toStrictEqual({ providerSpecific: { a: { x: 1 } } })
  })

  it('L81: providerSpecific is merged by top-level key, and prototype keys are dropped', () => {
    const evil = JSON.parse('{"__proto__":{"x":1},"constructor":1,"prototype":2,"kept":{"deep":2}}') as RuntimeParams['providerSpecific']
    const merged = mergeRuntimeParams({ providerSpecific: { a: 1, kept: { gone: 1 } } }, {}, { providerSpecific: evil })
    expect(merged).toStrictEqual({ providerSpecific: { a: 1, kept: { deep: 2 } } })
    expect(Object.getPrototypeOf(merged.providerSpecific)).toBe(Object.prototype)
  })

  it('L81: prototype keys are dropped also if nothing else is left', () => {
    const evil = JSON.parse('{"__proto__":{"x":1},"constructor":1}') as RuntimeParams['providerSpecific']
    expect(mergeRuntimeParams({ providerSpecific: evil })).toStrictEqual({ providerSpecific: {} })
  })

  it('L81: prototype keys reach no call, neither from the params nor from the request', async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"polluted":1},"kept":1}'
    const { providerOptions } = await optionsOf({
      runtimeParams: { providerSpecific: JSON.parse(evil) as RuntimeParams['providerSpecific'] },
      providerOptions: JSON.parse('{"__proto__":{"polluted":1},"constructor":{"own":1}}') as ProviderOptions,
    })
    expect(providerOptions?.['acme']).toStrictEqual({ kept: 1 })
    expect(Object.getPrototypeOf(providerOptions)).toBe(Object.prototype)
    expect(providerOptions?.['constructor']).toStrictEqual({ own: 1 })
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it.each([
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: NaN }, 'temperature'],
    [{ temperature: '1' }, 'temperature'],
    [{ temperature: null }, 'temperature'],
    [{ topP: -0.1 }, 'topP'],
    [{ topK: 1.5 }, 'topK'],
    [{ maxTokens: Infinity }, 'maxTokens'],
    [{ stopSequences: 'END' }, 'stopSequences'],
    [{ systemPrompt: 1 }, 'systemPrompt'],
    [{ providerSpecific: [] }, 'providerSpecific'],
    [{ providerSpecific: { a: { b: (): void => undefined } } }, 'providerSpecific.a'],
    [{ providerSpecific: { a: Symbol('s') } }, 'providerSpecific.a'],
    [{ providerSpecific: { a: NaN } }, 'providerSpecific.a'],
    [{ temperature: -0.1 }, 'temperature'],
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ maxTokens: 1.5 }, 'maxTokens'],
    [{ topP: 1.1 }, 'topP'],
    [{ topK: 0 }, 'topK'],
    [{ stopSequences: [1] }, 'stopSequences[0]'],
    [{ reasoning: 'extreme' }, 'reasoning'],
    [{ seed: 1.5 }, 'seed'],
    [{ model: '' }, 'model'],
    [{ warmth: 1 }, 'warmth'],
  ])('L82: %j is refused by its path', (params, path) => {
    let refusal: unknown
    try {
      streamMessage({ model: scriptedModel([]), messages: hello, runtimeParams: params as RuntimeParams })
    } catch (error) {
      refusal = error
    }
    expect(LlmError.isInstance(refusal) && refusal.code).toBe('invalid-config')
    expect((refusal as Error).message).toContain(path)
  })

  it('L82: the ends of the ranges are accepted', () => {
    for (const params of [
      { temperature: 0, topP: 0 },
      { temperature: 2, topP: 1, maxTokens: 1, topK: 1 },
      { seed: 0, stopSequences: [], systemPrompt: '', providerSpecific: {} },
      { seed: -1, providerSpecific: { a: [null, { b: 'c' }] }, model: 'a' },
      {},
    ]) {
      expect(runtimeParamsSchema.parse(params)).toEqual(params)
    }
    for (const reasoning of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const) {
      expect(runtimeParamsSchema.parse({ reasoning })).toEqual({ reasoning })
    }
  })

  it('L17: a model reference without a registry throws', () => {
    const request = { model: scriptedModel([]), messages: hello, runtimeParams: { model: 'openai:gpt' } }
    expect(() => streamMessage(request)).toThrow('pass models, a registry that knows it')
  })

  it('L83: the options of the request win key by key over providerSpecific', async () => {
    const { providerOptions } = await optionsOf({
      runtimeParams: { providerSpecific: { a: 1, b: 1 } },
      providerOptions: { acme: { b: 2 }, other: { c: 3 } },
    })
    expect(providerOptions).toEqual({ acme: { a: 1, b: 2 }, other: { c: 3 } })
  })

  it('L84: the options key is the provider up to its first dot', async () => {
    const runtimeParams = { providerSpecific: { a: 1 } }
    expect((await optionsOf({ runtimeParams }, 'openai.responses')).providerOptions).toEqual({ openai: { a: 1 } })
    expect((await optionsOf({ runtimeParams }, 'plain')).providerOptions).toEqual({ plain: { a: 1 } })
  })

  it('L85: every setting arrives under its own name, and only given ones', async () => {
    const runtimeParams: RuntimeParams = {
      temperature: 0.5,
      maxTokens: 100,
      topP: 0.9,
      topK: 40,
      stopSequences: ['END'],
      systemPrompt: 'instead',
      reasoning: 'low',
      seed: 7,
    }
    const { prompt, ...settings } = await optionsOf({ runtimeParams, instructions: 'replaced' })
    expect(settings).toStrictEqual({
      temperature: 0.5,
      maxOutputTokens: 100,
      topP: 0.9,
      topK: 40,
      stopSequences: ['END'],
      reasoning: 'low',
      seed: 7,
    })
    expect(prompt[0]).toEqual({ role: 'system', content: 'instead' })
    const { prompt: _, ...one } = await optionsOf({ runtimeParams: { seed: 1, temperature: undefined } })
    expect(one).toStrictEqual({ seed: 1 })
  })

  it('L85: an empty system prompt removes the instructions', async () => {
    const { prompt } = await optionsOf({ runtimeParams: { systemPrompt: '' }, instructions: 'replaced' })
    expect(prompt.filter(({ role }) => role === 'system')).toEqual([])
  })
})

describe('settings of a registry in a call', () => {
  async function callOf(
    settings: Omit<ProviderSettings, 'provider'>,
    request: Partial<ModelRequest> = {},
    provider = 'acme.chat',
  ): Promise<LanguageModelV4CallOptions> {
    const model = scriptedModel([{ text: 'ok' }], { provider })
    const models = createModels({ providers: { mine: { provider: () => model, ...settings } } })
    await streamMessage({ model: 'mine:any', models, messages: hello, ...request }).result()
    const [{ abortSignal: _, ...options } = { prompt: [] }] = model.calls
    return options
  }

  it('L83: defaults of the provider come below the params of the call', async () => {
    const defaults = { temperature: 0.5, seed: 1, stopSequences: ['a', 'b'], maxTokens: 9 }
    const { prompt: _, ...settings } = await callOf(
      { defaults },
      { runtimeParams: { temperature: 0.7, seed: undefined, stopSequences: ['c'] } },
    )
    expect(settings).toStrictEqual({ temperature: 0.7, seed: 1, stopSequences: ['c'], maxOutputTokens: 9 })
  })

  it('L83: options are merged key by key from the defaults, the params and, highest, the request', async () => {
    const { providerOptions } = await callOf(
      { defaults: { providerSpecific: { low: 1, middle: 1, high: 1 } } },
      {
        runtimeParams: { providerSpecific: { middle: 2, high: 2 } },
        providerOptions: { acme: { high: 3 }, other: { x: 1 } },
      },
    )
    expect(providerOptions).toStrictEqual({ acme: { low: 1, middle: 2, high: 3 }, other: { x: 1 } })
  })

  it('L83: a system prompt of the call replaces that of the defaults', async () => {
    const settings = { defaults: { systemPrompt: 'of the provider' } }
    const system = (content: string): object => ({ role: 'system', content })
    const other = { runtimeParams: { systemPrompt: 'of the call' } }
    expect((await callOf(settings)).prompt[0]).toEqual(system('of the provider'))
    expect((await callOf(settings, other)).prompt[0]).toEqual(system('of the call'))
  })

  it('L83: later changes to the objects given to the registry have no effect', async () => {
    const defaults = { temperature: 0.5, providerSpecific: { a: 1 } }
    const headers = { 'x-a': '1' }
    const model = scriptedModel([{ text: 'ok' }])
    const models = createModels({ providers: { mine: { provider: () => model, defaults, headers } } })
    defaults.temperature = 99
    headers['x-a'] = '2'
    await streamMessage({ model: 'mine:any', models, messages: hello }).result()
    expect(model.calls[0]).toMatchObject({ temperature: 0.5, headers: { 'x-a': '1' } })
  })

  it('L83: headers of the request win over those of the registry, in any case, and may remove them', async () => {
    const headers = { 'X-A': 'registry', 'x-b': 'registry', 'x-c': 'registry' }
    expect((await callOf({ headers })).headers).toStrictEqual(headers)
    expect((await callOf({ headers }, { headers: { 'x-a': 'request', 'X-C': undefined } })).headers).toStrictEqual({
      'x-a': 'request',
      'x-b': 'registry',
    })
    expect(await callOf({}, { headers: { 'x-a': undefined } })).not.toHaveProperty('headers')
  })

  it.each([
    ['acme.chat.v2', undefined, 'acme'],
    ['acme', undefined, 'acme'],
    ['acme.chat', 'house', 'house'],
    ['acme.chat', 'a.b', 'a.b'],
    ['acme.chat', '__proto__', '__proto__'],
  ])('L84: options of %s with the key %s are sent under %s', async (provider, optionsKey, key) => {
    const settings = optionsKey === undefined ? {} : { optionsKey }
    const { providerOptions } = await callOf(settings, { runtimeParams: { providerSpecific: { a: 1 } } }, provider)
    expect(Object.entries(providerOptions ?? {})).toStrictEqual([[key, { a: 1 }]])
  })

  it("L35: pings are requested if the client is declared as Anthropic's, unless the caller set the option", async () => {
    const settings = { optionsKey: 'anthropic' }
    expect((await callOf(settings)).providerOptions).toEqual({ anthropic: { includePings: true } })
    const runtimeParams = { providerSpecific: { includePings: false } }
    expect((await callOf(settings, { runtimeParams })).providerOptions).toEqual({ anthropic: { includePings: false } })
  })

  it('L85: fields that the registry does not set are absent', async () => {
    expect(Object.keys(await callOf({})).sort()).toEqual(['prompt'])
    expect(Object.keys(await callOf({ defaults: {}, headers: {} })).sort()).toEqual(['prompt'])
  })
})
