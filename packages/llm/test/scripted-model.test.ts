import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { streamMessage, type LanguageModelV4StreamPart } from '../src/index.ts'
import { manualClock, scriptedModel, type Step } from '../src/testing/index.ts'
import { drain, hello, settle } from './support.ts'

const options = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'and now?' }] }] }

async function partsOf(step: Step): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await scriptedModel([step]).doStream(options)
  return drain(stream)
}

describe('scriptedModel', () => {
  it('L100: a call after the last step rejects with its number and the last user text', async () => {
    const model = scriptedModel([{ text: 'one' }])
    await model.doStream(options)
    await expect(model.doStream(options)).rejects.toThrow('call 2 is not in the script; the last user text is "and now?"')
  })

  it('L100: assertDone and using throw when steps are left, naming them', async () => {
    const model = scriptedModel([{ text: 'one' }, { text: 'two' }, { toolCalls: [{ name: 'weather', input: {} }] }])
    await model.doStream(options)
    expect(() => model.assertDone()).toThrow('2 scripted steps were not used: step 2 (text "two"), step 3 (tool calls weather)')
    const leave = (): void => {
      using left = scriptedModel([{ reasoning: 'hm' }])
      expect(left.calls).toEqual([])
    }
    expect(leave).toThrow('1 scripted step was not used: step 1 (reasoning)')
    scriptedModel(() => ({ text: 'as many as you like' })).assertDone()
  })

  it('L101: it works in streamText, generateText and streamMessage', async () => {
    const model = scriptedModel(
      [1, 2, 3].map(() => ({ reasoning: 'hm', text: 'Hello' })),
      { provider: 'acme', modelId: 'm' },
    )
    expect(await streamText({ model, prompt: 'x' }).text).toBe('Hello')
    const generated = await generateText({ model, prompt: 'x' })
    expect([generated.text, generated.reasoningText, generated.usage.inputTokens]).toEqual(['Hello', 'hm', 10])
    expect(await streamMessage({ model, messages: hello }).result()).toMatchObject({
      provider: 'acme',
      modelId: 'm',
      stopReason: 'stop',
    })
    model.assertDone()
  })

  it('L101: doGenerate returns the same as the stream, errors included', async () => {
    const model = scriptedModel([
      { text: 'a', toolCalls: [{ name: 'x', input: { n: 1 } }] },
      { text: 'a', failAfter: { parts: 1, error: new Error('part'), as: 'part' } },
      { finish: false },
    ])
    expect(await model.doGenerate(options)).toMatchObject({
      content: [
        { type: 'text', text: 'a' },
        { type: 'tool-call', toolCallId: 'call-1-1', toolName: 'x', input: '{"n":1}' },
      ],
      finishReason: { unified: 'tool-calls' },
      response: { id: 'response-1' },
    })
    await expect(model.doGenerate(options)).rejects.toThrow('part')
    await expect(model.doGenerate(options)).rejects.toThrow('without a finish')
  })

  it('L101: doGenerate keeps metadata from deltas and ends, and merges it as a message does', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: 'r', providerMetadata: { acme: { item: 'i' } } },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { acme: { signature: 's' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'a' },
      { type: 'text-end', id: 't', citations: [{ type: 'text', citedText: 'q' }] as never },
    ]
    const { content } = await scriptedModel([{ parts }]).doGenerate(options)
    expect(content).toEqual([
      { type: 'reasoning', text: '', providerMetadata: { acme: { item: 'i', signature: 's' } } },
      { type: 'text', text: 'a', citations: [{ type: 'text', citedText: 'q' }] },
    ])
  })

  it('L101: tools run in generateText and streamText', async () => {
    const steps = [{ toolCalls: [{ name: 'add', input: { a: 1 }, chunk: 2 }] }, { text: 'two', chunk: 1 }]
    using model = scriptedModel([...steps, ...steps])
    const add = tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 1 })
    const settings = { model, prompt: 'x', tools: { add }, stopWhen: stepCountIs(2) }
    expect((await generateText(settings)).text).toBe('two')
    expect(await streamText(settings).text).toBe('two')
    expect(model.calls[3]?.prompt.at(-1)).toMatchObject({ role: 'tool', content: [{ toolCallId: 'call-3-1' }] })
  })

  it('L101: a call whose signal is already aborted does not hang', async () => {
    const call = { ...options, abortSignal: AbortSignal.abort(new Error('too late')) }
    await expect(scriptedModel([{ hang: 'before' }]).doStream(call)).rejects.toThrow('too late')
  })

  it.each(['before', 'middle', 'end'] as const)('L101: an abort breaks a script that hangs %s', async (hang) => {
    const controller = new AbortController()
    const model = scriptedModel([{ text: 'abcd', chunk: 1, hang }])
    const drained = (async () => {
      const { stream } = await model.doStream({ ...options, abortSignal: controller.signal })
      for await (const _ of stream) continue
    })()
    await settle()
    controller.abort(new Error('enough'))
    await expect(drained).rejects.toThrow('enough')
  })

  it('L101: ignoreAbort goes on as if there were no abort', async () => {
    const model = scriptedModel([{ text: 'a', ignoreAbort: true }])
    const { stream } = await model.doStream({ ...options, abortSignal: AbortSignal.abort() })
    expect((await drain(stream)).at(-1)?.type).toBe('finish')
  })

  it('L102: the fields of a step give legal order and defaults', async () => {
    const parts = await partsOf({ text: 'hi', reasoning: 'hm', toolCalls: [{ name: 'x', input: { a: 1 } }] })
    expect(parts.map(({ type }) => type)).toEqual([
      'stream-start',
      'response-metadata',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-end',
      'tool-call',
      'finish',
    ])
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: 'tool-calls' },
      usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } },
    })
    expect((await partsOf({ text: 'hi' })).at(-1)).toMatchObject({ finishReason: { unified: 'stop' } })
  })

  it('L102: chunk, raw input, usage and finish are used as written', async () => {
    const parts = await partsOf({
      text: 'abcde',
      chunk: 2,
      toolCalls: [{ id: 'c', name: 'x', input: { raw: '{"a' }, chunk: 1 }],
      usage: { input: 7, cacheRead: 3, reasoning: 2 },
      finish: 'length',
    })
    expect(parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []))).toEqual(['ab', 'cd', 'e'])
    expect(parts.flatMap((part) => (part.type === 'tool-input-delta' ? [part.delta] : []))).toEqual(['{', '"', 'a'])
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: 'length', raw: 'length' },
      usage: { inputTokens: { total: 7, cacheRead: 3 }, outputTokens: { total: 5, text: 3, reasoning: 2 } },
    })
    const own: LanguageModelV4StreamPart = {
      type: 'finish',
      finishReason: { unified: 'other', raw: 'x' },
      usage: { inputTokens: {}, outputTokens: {} } as never,
    }
    expect((await partsOf({ parts: [own] })).filter(({ type }) => type === 'finish')).toEqual([own])
  })

  it('L102: a step may wait, close early, or break after some parts', async () => {
    const waited = partsOf({ parts: [{ wait: Promise.resolve() }, { type: 'ping' }, { close: true }] })
    expect((await waited).map(({ type }) => type)).toEqual(['stream-start', 'response-metadata', 'ping'])
    await expect(partsOf({ parts: [{ wait: Promise.reject(new Error('awaited')) }] })).rejects.toThrow('awaited')
    await expect(partsOf({ text: 'abc', failAfter: { parts: 2, error: new Error('wire'), as: 'throw' } })).rejects.toThrow('wire')
  })

  it('L102: failAfter and hang count parts, not the delays between them', async () => {
    const clock = manualClock()
    const seenOf = async (step: Step): Promise<string[]> => {
      const model = scriptedModel([{ text: 'abc', chunk: 1, deltaDelayMs: 10, ...step }], { clock })
      const { stream } = await model.doStream(options)
      const seen: string[] = []
      void (async () => {
        for await (const part of stream) seen.push(part.type)
      })()
      await clock.advance(1_000)
      return seen.slice(2)
    }
    const error = 'x'
    expect(await seenOf({ failAfter: { parts: 3, error, as: 'part' } })).toEqual([
      'text-start',
      'text-delta',
      'text-delta',
      'error',
      'finish',
    ])
    expect(await seenOf({ failAfter: { parts: 0, error, as: 'part' } })).toEqual(['error', 'finish'])
    expect(await seenOf({ failAfter: { parts: 99, error, as: 'part' } })).toHaveLength(7)
    expect(await seenOf({ hang: 'middle' })).toEqual(['text-start', 'text-delta', 'text-delta'])
  })

  it('L102: expect sees the call, and an error in it rejects the call', async () => {
    const model = scriptedModel([{ expect: (call) => expect(call.prompt).toHaveLength(2) }])
    await expect(model.doStream(options)).rejects.toThrow()
  })

  it('L103: delays use the clock', async () => {
    const clock = manualClock(5)
    const model = scriptedModel([{ text: 'ab', chunk: 1, delayMs: 1_000, deltaDelayMs: 100 }], { clock })
    const { stream } = await model.doStream(options)
    const arrivals: [string, number][] = []
    const drained = (async () => {
      for await (const part of stream) arrivals.push([part.type, clock.now() - 5])
    })()
    await clock.advance(2_000)
    await drained
    expect(arrivals).toEqual([
      ['stream-start', 1_000],
      ['response-metadata', 1_000],
      ['text-start', 1_000],
      ['text-delta', 1_100],
      ['text-delta', 1_200],
      ['text-end', 1_200],
      ['finish', 1_200],
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('L103: calls are deep copies', async () => {
    const model = scriptedModel([{ text: 'a' }])
    const call = structuredClone(options)
    await model.doStream(call)
    const [part] = call.prompt[0]?.content ?? []
    if (part) part.text = 'changed'
    expect(model.calls[0]?.prompt).toEqual(options.prompt)
  })

  it('L103: a manual clock runs timers in order, at their own time', async () => {
    const clock = manualClock()
    const seen: [string, number][] = []
    clock.setTimer(20, () => seen.push(['b', clock.now()]))
    clock.setTimer(10, () => {
      seen.push(['a', clock.now()])
      clock.setTimer(15, () => seen.push(['chained', clock.now()]))
    })
    clock.setTimer(12, () => seen.push(['cancelled', 0]))()
    await clock.advance(30)
    expect(seen).toEqual([
      ['a', 10],
      ['chained', 15],
      ['b', 20],
    ])
    expect(clock.now()).toBe(30)
  })
})
