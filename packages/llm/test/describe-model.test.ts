import { describe, expect, it } from 'vitest'
import { createModels, describeModel, LlmError, streamMessage, type ModelRequest } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { hello } from './support.ts'

const info = { contextWindow: 1_000, price: { input: '1', output: '2' } }
const defaults = { temperature: 0.5 }
const models = createModels({
  providers: {
    shop: { provider: (modelId) => scriptedModel([], { provider: 'shop.chat', modelId }), defaults },
  },
  default: 'shop:big',
  models: { 'shop:*': info },
})

describe('describeModel', () => {
  it('L90: describes a model by its name: its own names, as in messages, and what the registry knows', () => {
    const described = { provider: 'shop.chat', modelId: 'big', info, defaults }
    expect(describeModel({ model: 'big', models })).toEqual(described)
    expect(describeModel({ model: models.resolve() })).toEqual(described)
  })

  it('L83: the name in the runtime params wins', () => {
    expect(describeModel({ model: 'big', models, runtimeParams: { model: 'small' } }).modelId).toBe('small')
    const model = scriptedModel([], { provider: 'acme', modelId: 'one' })
    expect(describeModel({ model })).toEqual({ provider: 'acme', modelId: 'one', info: {}, defaults: {} })
    expect(describeModel({ model, models, runtimeParams: { model: 'small' } }).provider).toBe('shop.chat')
  })

  it.each<[string, Partial<ModelRequest>]>([
    ['a name without a registry', { model: 'big' }],
    ['a name in the params without a registry', { model: scriptedModel([]), runtimeParams: { model: 'big' } }],
    ['a provider that is not registered', { model: 'other:big', models }],
    ['a model of an unknown version', { model: { specificationVersion: 'v9', provider: 'p', modelId: 'm' } as never }],
    ['no model', { model: undefined as never }],
    ['params that do not fit', { model: 'big', models, runtimeParams: { model: '' } }],
  ])('L17: %s throws the same error as the call', (_, request) => {
    const thrownBy = (run: () => unknown): unknown => {
      try {
        return run()
      } catch (error) {
        return error
      }
    }
    const whole = { messages: hello, ...request } as ModelRequest
    const thrown = thrownBy(() => describeModel(whole))
    expect(LlmError.isInstance(thrown)).toBe(true)
    expect(thrown).toMatchObject({ code: 'invalid-config' })
    expect(thrown).toEqual(thrownBy(() => streamMessage(whole)))
  })

  it('L18: makes no call', () => {
    const model = scriptedModel([{ text: 'a' }])
    describeModel({ model })
    expect(model.calls).toEqual([])
  })
})
