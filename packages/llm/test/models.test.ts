import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import {
  createModels,
  streamMessage,
  type AnyLanguageModel,
  type LanguageModelV4,
  type ModelInfo,
  type ModelRef,
  type Models,
  type ModelsOptions,
  type ProviderEntry,
} from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { refusalOf, registry, shop } from './registries.ts'
import { hello } from './support.ts'

describe('references to models', () => {
  const models = registry({
    default: 'acme:big',
    aliases: { fast: 'acme:small', local: 'ollama:llama3:8b', own: 'tiny' },
  })

  it.each<[ModelRef | undefined, string]>([
    ['acme:big', 'acme:big'],
    ['ollama:llama3:8b', 'ollama:llama3:8b'],
    ['fast', 'acme:small'],
    ['local', 'ollama:llama3:8b'],
    ['own', 'acme:tiny'],
    ['middle', 'acme:middle'],
    [{ provider: 'ollama', model: 'llama3:8b' }, 'ollama:llama3:8b'],
    [{ provider: 'acme', model: 'fast' }, 'acme:fast'],
    [undefined, 'acme:big'],
  ])('L86: %j means %s', (ref, full) => {
    const { ref: resolved, provider, modelId } = models.resolve(ref)
    expect(resolved).toBe(full)
    expect(`${provider}:${modelId}`).toBe(full)
  })

  it('L86: a default provider accepts names without a prefix, and is no default model', () => {
    const ofAcme = registry({ default: 'acme' })
    expect(ofAcme.resolve('middle').ref).toBe('acme:middle')
    expect(refusalOf(() => ofAcme.resolve())).toContain('there is no default model')
    expect(refusalOf(() => registry().resolve())).toContain('there is no default model')
    expect(refusalOf(() => registry().resolve('middle'))).toContain('"middle" is not an alias and there is no default')
  })

  it.each<[ModelRef, string]>([
    ['openai:gpt', 'openai'],
    ['llama3:8b', 'llama3'],
    [':big', ''],
    [{ provider: 'openai', model: 'gpt' }, 'openai'],
    ['constructor:big', 'constructor'],
    ['toString:big', 'toString'],
    ['__proto__:big', '__proto__'],
    [{ provider: '__proto__', model: 'big' }, '__proto__'],
  ])('L87: %j is refused with the list of existing providers', (ref, provider) => {
    const message = `the provider "${provider}" is not registered; registered are: acme, ollama`
    expect(refusalOf(() => models.resolve(ref))).toBe(message)
    expect(refusalOf(() => models.info(ref))).toBe(message)
    expect(refusalOf(() => streamMessage({ model: ref, models, messages: hello }))).toBe(message)
  })

  it('L87: languageModel rejects where resolve throws', async () => {
    await expect(models.languageModel('openai:gpt')).rejects.toThrow('the provider "openai" is not registered')
    expect(models.providers()).toEqual(['acme', 'ollama'])
    expect(refusalOf(() => createModels({ providers: {} }).resolve('a:b'))).toContain('registered are: none')
  })

  it.each<[Partial<ModelRef>, string]>([
    ['acme:', '"acme:" does not name a model; write provider:model'],
    ['', 'ref must be a text with at least one character; received an empty text'],
    [{ provider: 'acme', model: '' }, 'ref.model must be a text with at least one character; received an empty text'],
    [{ provider: 'acme' }, 'ref.model must be a text with at least one character; received undefined'],
    [{ model: 'big' }, 'ref.provider must be a text with at least one character; received undefined'],
  ])('L87: %j names no model', (ref, message) => {
    expect(refusalOf(() => models.resolve(ref as ModelRef))).toBe(message)
  })

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'L86: %s is a name like any other: not an alias by default, but usable for a model, a provider or an alias',
    (name) => {
      expect(models.resolve(name).ref).toBe(`acme:${name}`)
      const own = <T>(value: T): Record<string, T> => Object.fromEntries([[name, value]])
      expect(createModels({ providers: own(shop().provider) }).resolve(`${name}:big`).ref).toBe(`${name}:big`)
      expect(registry({ aliases: own('acme:big') }).resolve(name).ref).toBe('acme:big')
      expect(registry({ default: 'acme', aliases: { fast: name } }).resolve('fast').ref).toBe(`acme:${name}`)
    },
  )

  it('L87: an error does not repeat a long name from outside in full', () => {
    const long = 'x'.repeat(100_000)
    expect(refusalOf(() => models.resolve(`${long}:big`)).length).toBeLessThan(400)
    expect(refusalOf(() => streamMessage({ model: long, messages: hello })).length).toBeLessThan(400)
  })
})

describe('checks at creation', () => {
  it.each<[string, Partial<ModelsOptions>, string]>([
    ['a default that is no provider', { default: 'openai' }, 'the provider "openai" is not registered'],
    ['a default model of no provider', { default: 'openai:gpt' }, 'the provider "openai" is not registered'],
    ['a default without a model', { default: 'acme:' }, 'does not name a model'],
    ['a default that is an alias', { default: 'fast', aliases: { fast: 'acme:big' } }, 'the provider "fast"'],
    ['an empty default', { default: '' }, 'the provider "" is not registered'],
    ['an alias of no provider', { aliases: { fast: 'openai:gpt' } }, 'the provider "openai" is not registered'],
    ['an alias without a provider', { aliases: { fast: 'big' } }, 'there is no default provider'],
    ['an alias without a model', { aliases: { fast: 'acme:' } }, 'does not name a model'],
    ['an alias of an alias', { aliases: { fast: 'small', small: 'acme:s' } }, '"fast" points to the alias "small"'],
    ['an alias of itself', { default: 'acme', aliases: { fast: 'fast' } }, '"fast" points to the alias "fast"'],
    ['an alias with a colon', { aliases: { 'acme:fast': 'acme:big' } }, 'the alias "acme:fast" must not contain ":"'],
    ['a row without a provider', { models: { big: {} } }, 'models["big"]: write provider:model'],
    ['a row with a star inside', { models: { 'acme:*-mini': {} } }, 'models["acme:*-mini"]: "*" is allowed only at'],
  ])('L88: %s is refused', (_, options, message) => {
    expect(refusalOf(() => registry(options))).toContain(message)
  })

  it.each<[string, ModelInfo['price']]>([
    ['must not be negative', { input: -1, output: 1 }],
    ['must be a finite decimal number', { input: 1, output: Infinity }],
    ['must have at most 9 decimals', { input: 1, output: 1, cacheRead: '0.0000000001' }],
  ])('L72: a price that %s is refused when the registry is created', (problem, price) => {
    const message = refusalOf(() => registry({ models: { 'acme:big': { price: price! } } }))
    expect(message).toContain('models["acme:big"].price')
    expect(message).toContain(problem)
  })

  it.each<[string, unknown, string]>([
    ['a', undefined, 'providers.a must be a provider'],
    ['a', null, 'providers.a must be a provider'],
    ['a', 'openai', 'providers.a must be a provider'],
    ['a', {}, 'providers.a must be a provider'],
    ['a', { provider: 'openai' }, 'providers.a.provider must be a provider'],
    ['a', { languageModel: 'big' }, 'providers.a must be a provider'],
    ['a', scriptedModel([]), 'providers.a must be a provider'],
    ['', shop().provider, 'is not a valid name'],
    ['a:b', shop().provider, 'is not a valid name'],
  ])('L89: the provider %j: %j is refused', (name, entry, message) => {
    expect(refusalOf(() => createModels({ providers: { [name]: entry as ProviderEntry } }))).toContain(message)
  })

  it('L83: defaults are copied deeply: a checked value does not change', () => {
    const defaults = { stopSequences: ['a'], providerSpecific: { x: { y: 1 } } }
    const models = createModels({ providers: { acme: { provider: shop().provider, defaults } }, default: 'acme' })
    defaults.stopSequences.push(5 as never)
    defaults.providerSpecific.x.y = 2
    expect(models.resolve('big').defaults).toEqual({ stopSequences: ['a'], providerSpecific: { x: { y: 1 } } })
  })

  it('L83: defaults that could not be sent, or that choose the model, are refused by their path', () => {
    const withDefaults = (defaults: object) => (): Models => createModels({ providers: { acme: { provider: shop().provider, defaults } } })
    expect(refusalOf(withDefaults({ temperature: 3 }))).toContain('providers.acme.defaults.temperature')
    expect(refusalOf(withDefaults({ model: 'acme:big' }))).toContain('providers.acme.defaults.model')
  })
})

class OneModel {
  readonly #model: LanguageModelV4

  constructor(model: LanguageModelV4) {
    this.#model = model
  }

  languageModel(): LanguageModelV4 {
    return this.#model
  }
}

describe('the models of a registry', () => {
  it('L89: a model is created once per reference, whatever its name', async () => {
    const acme = shop()
    const providers = { acme: acme.provider }
    const models = createModels({ providers, default: 'acme:big', aliases: { fast: 'acme:big' } })
    const resolved = models.resolve()
    for (const ref of ['acme:big', 'fast', 'big', { provider: 'acme', model: 'big' }, undefined]) {
      expect(models.resolve(ref)).toBe(resolved)
    }
    expect(await models.languageModel('fast')).toBe(await models.languageModel())
    expect(acme.made).toEqual(['big'])
    models.resolve('small')
    expect(acme.made).toEqual(['big', 'small'])
  })

  it('L89: nothing is created before it is requested', () => {
    const acme = shop()
    createModels({ providers: { acme: acme.provider }, default: 'acme:big', aliases: { fast: 'acme:big' } })
    expect(acme.made).toEqual([])
  })

  it('L89: of names from outside only the last thousand used are kept', () => {
    const acme = shop()
    const models = createModels({ providers: { acme: acme.provider } })
    for (let index = 0; index < 1_000; index++) models.resolve(`acme:${index}`)
    models.resolve('acme:0')
    expect(acme.made).toHaveLength(1_000)
    models.resolve('acme:new')
    models.resolve('acme:0')
    expect(acme.made).toHaveLength(1_001)
    models.resolve('acme:1')
    expect(acme.made.slice(1_000)).toEqual(['new', '1'])
  })

  it('L89: a name of a thousand characters and more works, and is not kept', () => {
    const acme = shop()
    const models = createModels({ providers: { acme: acme.provider } })
    const long = 'x'.repeat(1_000)
    expect(models.resolve(`acme:${long}`).modelId).toBe(long)
    models.resolve(`acme:${long}`)
    expect(acme.made).toHaveLength(2)
  })

  it.each<[string, (model: LanguageModelV4) => unknown]>([
    ['a function', (model) => () => model],
    ['a provider object', (model) => ({ languageModel: () => model })],
    ['a function with methods', (model) => Object.assign(() => 'wrong', { languageModel: () => model })],
    ['an object that has a provider, too', (model) => ({ provider: 'acme', languageModel: () => model })],
    ['settings around a provider', (model) => ({ provider: { languageModel: () => model } })],
    ['an object that needs its this', (model) => new OneModel(model)],
  ])('L89: %s makes models', async (_, entryOf) => {
    const model = scriptedModel([{ text: 'ok' }])
    const models = createModels({ providers: { acme: entryOf(model) as ProviderEntry } })
    expect(await models.languageModel('acme:any')).toBe(model)
  })

  it('L89: a provider that throws, or returns no language model, is an invalid configuration', () => {
    const broken = (create: () => unknown) => (): unknown =>
      createModels({ providers: { acme: create as () => AnyLanguageModel } }).resolve('acme:big')
    const throwing = broken(() => {
      throw new Error('no such model')
    })
    expect(refusalOf(throwing)).toBe('the model "acme:big" cannot be created: Error: no such model')
    expect(refusalOf(broken(() => undefined))).toBe('the model "acme:big" must be a language model of the AI SDK; received undefined')
    expect(refusalOf(broken(() => ({ specificationVersion: 'v4', provider: 'acme', modelId: 'embed' })))).toBe(
      'the model acme/embed is not a language model: it must have provider, modelId and doStream',
    )
  })

  it('L89: a model that could not be created is tried again', () => {
    const acme = shop()
    let broken = true
    const create = (modelId: string): LanguageModelV4 => {
      if (broken) throw new Error('not yet')
      return acme.provider(modelId)
    }
    const models = createModels({ providers: { acme: create } })
    expect(refusalOf(() => models.resolve('acme:big'))).toContain('not yet')
    broken = false
    expect(models.resolve('acme:big').ref).toBe('acme:big')
  })

  it('L90: the registry has its own name for a provider, messages that of the model', async () => {
    const models = createModels({ providers: { openai: shop('openai.responses').provider } })
    const resolved = models.resolve('openai:gpt')
    expect(resolved.provider).toBe('openai')
    const message = await streamMessage({ model: resolved, messages: hello }).result()
    expect([message.provider, message.modelId]).toEqual(['openai.responses', 'gpt'])
  })

  it('L90: two interfaces of one vendor count as two origins', async () => {
    const parts = [
      { type: 'text-start', id: 't', providerMetadata: { openai: { itemId: 'msg_item' } } },
      { type: 'text-delta', id: 't', delta: 'ok' },
      { type: 'text-end', id: 't' },
    ] as const
    const responses = scriptedModel([{ parts }, { text: 'ok' }], { provider: 'openai.responses', modelId: 'gpt' })
    const chat = scriptedModel([{ text: 'ok' }], { provider: 'openai.chat', modelId: 'gpt' })
    const models = createModels({ providers: { openai: () => responses, 'openai-chat': () => chat } })
    const answer = await streamMessage({ model: 'openai:gpt', models, messages: hello }).result()
    const messages = [...hello, answer, { role: 'user', content: 'and?' } as const]
    for (const model of ['openai:gpt', 'openai-chat:gpt']) await streamMessage({ model, models, messages }).result()
    expect(JSON.stringify(responses.calls[1]?.prompt)).toContain('msg_item')
    expect(JSON.stringify(chat.calls[0]?.prompt)).not.toContain('msg_item')
  })

  it('L17: a name needs a registry, a resolved model does not', async () => {
    for (const model of ['acme:big', { provider: 'acme', model: 'big' }]) {
      expect(refusalOf(() => streamMessage({ model, messages: hello }))).toContain('"acme:big" is only a name: pass models')
    }
    const resolved = registry().resolve('acme:big')
    expect((await streamMessage({ model: resolved, messages: hello }).result()).stopReason).toBe('stop')
  })

  it('L83: runtimeParams.model wins over the model of the request', async () => {
    const models = registry({ default: 'acme:big', aliases: { fast: 'acme:small' } })
    const direct = scriptedModel([{ text: 'direct' }])
    for (const model of [direct, 'acme:big', models.resolve()]) {
      const stream = streamMessage({ model, models, messages: hello, runtimeParams: { model: 'fast' } })
      expect((await stream.result()).modelId).toBe('small')
    }
    expect(direct.calls).toEqual([])
  })

  it('L86: the AI SDK accepts the result of languageModel', async () => {
    const models = registry({ default: 'acme:big' })
    const { text: answer } = streamText({ model: await models.languageModel(), prompt: 'hi' })
    expect(await answer).toBe('ok')
  })

  it('L10: a resolved model shows its facts in JSON and nothing else', () => {
    const models = registry({ models: { 'acme:big': { contextWindow: 10 } } })
    const resolved = models.resolve('acme:big')
    expect(JSON.parse(JSON.stringify(resolved))).toStrictEqual({ ...resolved })
    expect({ ...resolved }).toStrictEqual({
      provider: 'acme',
      modelId: 'big',
      ref: 'acme:big',
      info: { contextWindow: 10 },
      defaults: {},
    })
  })
})
