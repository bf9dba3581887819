import { describe, expect, it } from 'vitest'
import {
  LlmError,
  mergeRuntimeParams,
  runtimeParamsSchema,
  streamMessage,
  type LanguageModelV4CallOptions,
  type ModelRequest,
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

  it('L81: providerSpecific is merged by top-level key, keys of prototypes are dropped', () => {
    const evil = JSON.parse(
      '{"__proto__":{"x":1},"constructor":1,"prototype":2,"kept":{"deep":2}}',
    ) as RuntimeParams['providerSpecific']
    const merged = mergeRuntimeParams({ providerSpecific: { a: 1, kept: { gone: 1 } } }, {}, { providerSpecific: evil })
    expect(merged).toStrictEqual({ providerSpecific: { a: 1, kept: { deep: 2 } } })
    expect(Object.getPrototypeOf(merged.providerSpecific)).toBe(Object.prototype)
  })

  it.each([
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: -0.1 }, 'temperature'],
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ maxTokens: 1.5 }, 'maxTokens'],
    [{ topP: 1.1 }, 'topP'],
    [{ topK: 0 }, 'topK'],
    [{ stopSequences: [1] }, 'stopSequences.0'],
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
    expect(LlmError.isInstance(refusal) && refusal.code).toBe('CONFIG')
    expect((refusal as Error).message).toContain(path)
  })

  it('L82: the ends of the ranges are accepted', () => {
    for (const params of [
      { temperature: 0, topP: 0 },
      { temperature: 2, topP: 1, maxTokens: 1, topK: 1 },
    ]) {
      expect(runtimeParamsSchema.parse(params)).toEqual(params)
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

  it('L85: every setting arrives under its own name, and only those that are given', async () => {
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
})
