import { describe, expect, it } from 'vitest'
import { createModels, streamMessage, type AssistantMessage, type ModelInfo, type ModelsOptions, type ResolvedModel } from '../src/index.ts'
import { knownModels } from '../src/models/known-models.ts'
import { scriptedModel, type Step } from '../src/testing/index.ts'
import { registry, shop } from './registries.ts'
import { hello, resultOf, text, usageOf } from './support.ts'

describe('information about a model', () => {
  const price = { input: 1, output: 2 }

  it('L88: the exact name wins over the longest pattern, field by field, and no shorter pattern counts', () => {
    const models = registry({
      models: {
        'acme:*': { contextWindow: 1, maxOutputTokens: 1, price: { input: 9, output: 9 } },
        'acme:big-*': { contextWindow: 2, maxOutputTokens: 2, input: { image: true, audio: true } },
        'acme:big-1': { contextWindow: 3, input: { image: false }, price },
      },
    })
    expect(models.info('acme:big-1')).toStrictEqual({
      contextWindow: 3,
      maxOutputTokens: 2,
      input: { image: false, audio: true },
      price,
    })
    expect(models.info('acme:big-2')).toStrictEqual({
      contextWindow: 2,
      maxOutputTokens: 2,
      input: { image: true, audio: true },
    })
    expect(models.info('acme:small')).toMatchObject({ contextWindow: 1 })
    expect(models.info('ollama:big-1')).toStrictEqual({})
  })

  it.each([0, -5, 1.5, Number.NaN])('L88: a window of %s tokens is refused when the registry is created', (tokens) => {
    expect(() => registry({ models: { 'acme:big': { contextWindow: tokens } } })).toThrow('models["acme:big"].contextWindow')
    expect(() => registry({ models: { 'acme:*': { maxOutputTokens: tokens } } })).toThrow('models["acme:*"].maxOutputTokens')
  })

  it('L88: a pattern also matches a name that equals its beginning', () => {
    const models = registry({ models: { 'acme:big*': { contextWindow: 2 }, 'acme:big': { maxOutputTokens: 3 } } })
    expect(models.info('acme:big')).toStrictEqual({ contextWindow: 2, maxOutputTokens: 3 })
    expect(models.info('acme:bi')).toStrictEqual({})
  })

  it("L88: fields that the user leaves out come from the built-in rows, found by the model's own name", () => {
    const known = knownModels.find(({ match }) => match.endsWith('*'))!
    const { contextWindow, maxOutputTokens } = known
    const [, modelId = ''] = `${known.match.slice(0, -1)}-20250101`.split(':')
    const options: ModelsOptions = {
      providers: { mine: shop('anthropic.messages').provider },
      aliases: { claude: `mine:${modelId}` },
    }
    expect(createModels(options).info('claude')).toStrictEqual({ contextWindow, maxOutputTokens })
    const corrected = createModels({ ...options, models: { 'mine:*': { contextWindow: 7, price } } })
    expect(corrected.info('claude')).toStrictEqual({ contextWindow: 7, maxOutputTokens, price })
  })

  it('L88: a built-in exact row wins over a built-in pattern', () => {
    const exact = knownModels.find(({ match }) => !match.endsWith('*'))!
    const [, modelId = ''] = exact.match.split(':')
    const models = createModels({ providers: { mine: shop('anthropic.messages').provider } })
    expect(models.info(`mine:${modelId}`)).toStrictEqual({
      contextWindow: exact.contextWindow,
      maxOutputTokens: exact.maxOutputTokens,
    })
    expect(models.info(`mine:${modelId}-more`)).toStrictEqual({})
  })

  it('L88: undefined fields are ignored', () => {
    const silent = { contextWindow: undefined, input: undefined } as unknown as ModelInfo
    const models = registry({ models: { 'acme:*': { contextWindow: 5 }, 'acme:big': silent } })
    expect(models.info('acme:big')).toStrictEqual({ contextWindow: 5 })
  })
})

describe('a known context window', () => {
  const resolve = (step: Step): ResolvedModel =>
    createModels({
      providers: { acme: () => scriptedModel([step]) },
      models: { 'acme:*': { contextWindow: 1_000 } },
    }).resolve('acme:big')

  const endingOf = (unified: 'stop' | 'length', input?: number, output?: number) => [
    ...text('a'),
    { type: 'finish', finishReason: { unified, raw: undefined }, usage: usageOf(input, output) } as const,
  ]

  const ending = (...how: Parameters<typeof endingOf>): Promise<AssistantMessage> =>
    streamMessage({ model: resolve({ parts: endingOf(...how) }), messages: hello }).result()

  it.each([
    [990, 0, 'context-overflow'],
    [1_200, 0, 'context-overflow'],
    [989, 0, undefined],
    [990, 1, undefined],
    [990, undefined, undefined],
    [undefined, 0, undefined],
  ])('L36: length with %s tokens in and %s out of a window of 1000 is %s', async (input, output, kind) => {
    const message = await ending('length', input, output)
    expect(message.stopReason).toBe(kind ? 'error' : 'length')
    expect(message.error?.kind).toBe(kind)
  })

  it('L36: without a known window the reason is length', async () => {
    expect((await resultOf(endingOf('length', 1e9, 0))).stopReason).toBe('length')
  })

  it.each([
    ['stop', 1_001, true],
    ['stop', 1_000, false],
    ['stop', undefined, false],
    ['length', 1_001, false],
  ] as const)('L40: %s with %s tokens in a window of 1000 warns: %s', async (unified, input, warns) => {
    const { warnings = [] } = await ending(unified, input, 5)
    expect(warnings).toEqual(
      warns ? [{ type: 'other', message: 'context-window-exceeded: 1001 input tokens, but the window has 1000' }] : [],
    )
  })

  it('L40: without a known window there is no warning', async () => {
    expect(await resultOf(endingOf('stop', 1e9, 5))).not.toHaveProperty('warnings')
  })
})
