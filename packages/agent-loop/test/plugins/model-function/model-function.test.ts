import { streamMessage } from '@bowline/llm'
import type { MessageEvent, MessageStream } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../../src/index.ts'
import type { AgentOptions, ModelFunction, ModelFunctionMessage, ModelFunctionRequest } from '../../../src/index.ts'
import { agentOf, conversation, readAll } from '../../support/conversation.ts'
import { echo, gated, latch, remote, until } from '../../support/tools.ts'
import { eventsOf, playOut, typesOf } from '../../support/waiting.ts'

const call = (toolCallId: string, toolName: string) => ({ type: 'tool-call' as const, toolCallId, toolName, input: {} })
const text = (said: string): ModelFunctionMessage => ({ role: 'assistant', content: said })
const asks = (...calls: ReturnType<typeof call>[]): ModelFunctionMessage => ({ role: 'assistant', content: calls })
const result = (toolCallId: string, value: string): ModelFunctionMessage => ({
  role: 'tool-result',
  toolCallId,
  output: { type: 'text', value },
})

/** Creates an agent whose model function returns one list of messages per request, and a list of its requests. */
function agentOver(answers: readonly (readonly ModelFunctionMessage[])[], options: Partial<AgentOptions> = {}) {
  const requests: ModelFunctionRequest[] = []
  const custom: ModelFunction = (request) => Promise.resolve(answers[requests.push(request) - 1] ?? [])
  return { agent: defineAgent({ model: custom, retry: false, ...options }), requests }
}

describe('a model function', () => {
  it('A7: runs with the same events as a model', async () => {
    const shapeOf = (types: readonly string[]) => types.join(' ')
    const [mine, theirs] = [conversation(), conversation()]
    const { agent } = agentOver(
      [[{ role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'so' }, call('x', 'a')] }], [text('done')]],
      { tools: [echo('a').tool] },
    )
    await mine.play(agent, 'go')
    const steps = [{ reasoning: 'hm', text: 'so', toolCalls: [{ id: 'x', name: 'a', input: {} }] }, { text: 'done' }]
    await theirs.play(agentOf(steps, { tools: [echo('a').tool] }), 'go')
    expect(shapeOf(mine.types())).toBe(shapeOf(theirs.types()))
    expect(mine.types().filter((type) => type.endsWith('-delta'))).toHaveLength(4)
    expect(eventsOf(mine, 'message-start')[0]).toMatchObject({ model: { provider: 'function', modelId: 'custom' } })
    expect(eventsOf(mine, 'step-start')[0]).toMatchObject({ model: { provider: 'function', modelId: 'custom' } })
  })

  it('A8: calls without results are executed; results it returns are stored and their calls not executed', async () => {
    const talk = conversation()
    const [a, b] = [echo('a'), echo('b')]
    const { agent, requests } = agentOver([[asks(call('x', 'a'), call('y', 'b')), result('x', 'by itself')], [text('done')]], {
      tools: [a.tool, b.tool],
    })
    const { result: ended } = await talk.play(agent, 'go')
    expect(ended).toMatchObject({ status: 'completed', text: 'done' })
    expect([a.calls.length, b.calls.length]).toEqual([0, 1])
    expect(ended.messages.slice(2, 4)).toMatchObject([
      { toolCallId: 'x', output: { value: 'by itself' } },
      { toolCallId: 'y', output: { value: 'b said' } },
    ])
    expect(eventsOf(talk, 'tool-execution-start').map(({ toolCallId }) => toolCallId)).toEqual(['y'])
    expect(eventsOf(talk, 'tool-execution-end')[0]).toMatchObject({ toolCallId: 'x', executed: 'elsewhere' })
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'tool-result'])
  })

  it('A8: further assistant messages answer the next steps, without another request', async () => {
    const talk = conversation()
    const a = echo('a')
    const { agent, requests } = agentOver(
      [[asks(call('x', 'a')), result('x', 'one'), text('between'), asks(call('x', 'a')), text('done')]],
      { tools: [a.tool] },
    )
    const { result: ended } = await talk.play(agent, 'go')
    expect(ended).toMatchObject({ status: 'completed', text: 'done', steps: 4 })
    expect(requests).toHaveLength(1)
    expect(a.calls.map(({ toolCallId }) => toolCallId)).toEqual(['x~2'])
    expect(ended.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool-result',
      'assistant',
      'assistant',
      'tool-result',
      'assistant',
    ])
  })

  it('A92: an input that is steered meanwhile waits for the next request', async () => {
    const talk = conversation()
    const slow = gated('a')
    const { agent, requests } = agentOver([[asks(call('x', 'a')), text('done')], [text('and now this')]], { tools: [slow.tool] })
    const run = talk.run(agent, 'go')
    await until(() => slow.started.length === 1)
    await run.steer('one more')
    slow.open('x')
    expect((await run.result()).text).toBe('and now this')
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant', 'user'])
  })

  it('gets instructions, messages, params and tools as declarations', async () => {
    const talk = conversation()
    const typed = defineTool({ name: 'typed', description: 'takes n', inputSchema: z.object({ n: z.number() }), execute: () => 'ok' })
    const { agent, requests } = agentOver([[text('done')]], {
      tools: [typed, remote('far')],
      instructions: 'Be kind.',
      runtimeParams: { temperature: 0.3 },
    })
    await talk.play(agent, 'go')
    expect(requests[0]).toMatchObject({
      instructions: 'Be kind.',
      runtimeParams: { temperature: 0.3 },
      runId: 'run_1',
      turn: 1,
      step: 1,
      attempt: 1,
      messages: [{ role: 'user', content: 'go' }],
    })
    expect(requests[0]?.tools).toMatchObject([
      { name: 'typed', description: 'takes n', inputSchema: { type: 'object', required: ['n'] } },
      { name: 'far' },
    ])
    expect(JSON.parse(JSON.stringify(requests[0]?.tools))).toEqual(requests[0]?.tools)
  })

  it.each<[string, (request: ModelFunctionRequest, model: ReturnType<typeof scriptedModel>) => ReturnType<ModelFunction>]>([
    ['as it is', ({ messages, abortSignal }, model) => streamMessage({ model, messages, abortSignal })],
    ['in a promise', ({ messages, abortSignal }, model) => Promise.resolve(streamMessage({ model, messages, abortSignal })) as never],
  ])('may return a message stream, %s', async (_how, ask) => {
    const talk = conversation()
    const a = echo('a')
    const scripted = scriptedModel([{ text: 'one two', chunk: 4, toolCalls: [{ id: 'x', name: 'a', input: {} }] }, { text: 'done' }])
    const agent = defineAgent({ model: (request) => ask(request, scripted), tools: [a.tool], retry: false })
    const { result: ended } = await talk.play(agent, 'go')
    expect(ended).toMatchObject({ status: 'completed', text: 'done', usage: { inputTokens: 20 } })
    expect(a.calls).toHaveLength(1)
    expect(talk.types().filter((type) => type === 'text-delta')).toHaveLength(3)
    expect(eventsOf(talk, 'message-end').map(({ messageId, message }) => messageId === message.id)).toEqual([true, true])
    expect(eventsOf(talk, 'message-end')[0]?.message).toMatchObject({ provider: 'scripted', modelId: 'scripted-model' })
  })

  it('an abort ends its stream, with what had arrived, also if it ignores the signal', async () => {
    const talk = conversation()
    const scripted = scriptedModel([{ text: 'so far', finish: false, hang: 'end' }])
    const agent = defineAgent({ model: ({ messages }) => streamMessage({ model: scripted, messages }) })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('text-delta'))
    run.abort('enough')
    expect(await run.result()).toMatchObject({ status: 'aborted', text: 'so far' })
    expect(eventsOf(talk, 'message-end')).toMatchObject([
      { message: { stopReason: 'aborted', abortReason: 'enough', usage: { estimated: true } } },
    ])
  })

  it('A107: the runtime leaves a stream that ignores the abort at the end of the grace period, and drops what comes later', async () => {
    const talk = conversation()
    const late = latch()
    async function* deaf(): AsyncGenerator<MessageEvent> {
      yield { type: 'message-start', messageId: 'm', provider: 'p', modelId: 'm', at: 0 }
      await late.promise
      yield { type: 'text-start', index: 0 }
    }
    const agent = defineAgent({ model: () => deaf() as unknown as MessageStream, abortGraceMs: 300 })
    const run = talk.run(agent, 'go')
    await until(() => typesOf(talk).includes('message-start'))
    await talk.clock.advance(0)
    run.abort()
    await talk.clock.advance(299)
    expect(typesOf(talk)).not.toContain('message-end')
    await talk.clock.advance(1)
    expect((await run.result()).status).toBe('aborted')
    const before = talk.types().length
    late.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(talk.types()).toHaveLength(before)
  })

  it('A107: a run that is stopped before the function is called does not call it', async () => {
    const talk = conversation()
    let asked = 0
    const agent = defineAgent({ model: () => (asked++, Promise.resolve([text('late')])), tools: [echo('a').tool] })
    const run = talk.run(agent, 'go')
    // Between these events the tools are described for the first time.
    for await (const { type } of run) if (type === 'message-start') run.abort()
    expect(asked).toBe(0)
    expect(await run.result()).toMatchObject({ status: 'aborted', usage: { totalTokens: 0 } })
  })

  it('A107: a stream whose abort throws does not keep the run from ending', async () => {
    const talk = conversation()
    async function* deaf(): AsyncGenerator<MessageEvent> {
      yield { type: 'message-start', messageId: 'm', provider: 'p', modelId: 'm', at: 0 }
      await new Promise(() => {})
    }
    const stream = Object.assign(deaf(), {
      abort: () => {
        throw new Error('never')
      },
    })
    const run = talk.run(defineAgent({ model: () => stream as unknown as MessageStream, abortGraceMs: 300 }), 'go')
    await until(() => typesOf(talk).includes('message-start'))
    await talk.clock.advance(0)
    expect(() => run.abort()).not.toThrow()
    await talk.clock.advance(300)
    expect((await run.result()).status).toBe('aborted')
  })

  it('A112: a stream that stops the run with its first event leaves no timer', async () => {
    const talk = conversation()
    const stop = new AbortController()
    async function* stopping(): AsyncGenerator<MessageEvent> {
      stop.abort()
      await Promise.resolve()
      yield { type: 'message-start', messageId: 'm', provider: 'p', modelId: 'm', at: 0 }
    }
    await talk.play(defineAgent({ model: () => stopping() as unknown as MessageStream, retry: false }), 'go', { abortSignal: stop.signal })
    expect(talk.clock.pendingTimers).toBe(0)
  })

  it.each<[string, readonly unknown[]]>([
    ['a delta without its start', [{ type: 'text-delta', index: 0, delta: 'a' }]],
    ['a start at another place', [{ type: 'text-start', index: 5 }]],
    [
      'an end of another kind',
      [
        { type: 'content-part', index: 0, part: { type: 'custom', kind: 'k' } },
        { type: 'reasoning-end', index: 0, text: '' },
      ],
    ],
    ['a delta that is no text', [{ type: 'text-delta', index: 0, delta: 7 }]],
    ['an event of the run', [{ type: 'turn-end', index: 0, status: 'completed' }]],
    ['a part that is none', [{ type: 'content-part', index: 0, part: { type: 'thought' } }]],
    ['no event', [null]],
  ])('A35: a stream with %s is no answer, and readers see nothing of it', async (_what, events) => {
    const talk = conversation()
    async function* babble(): AsyncGenerator<MessageEvent> {
      await Promise.resolve()
      yield* events as readonly MessageEvent[]
    }
    const { result: ended } = await talk.play(
      defineAgent({ model: () => babble() as unknown as MessageStream, retry: { jitter: 0 } }),
      'go',
    )
    expect(ended).toMatchObject({
      status: 'error',
      error: { kind: 'malformed-response', message: expect.stringContaining('its stream') as string },
    })
  })

  it('a stream without its last event is broken, and the runtime retries it', async () => {
    const talk = conversation()
    let asked = 0
    async function* cut(): AsyncGenerator<MessageEvent> {
      await Promise.resolve()
      yield { type: 'message-start', messageId: 'm', provider: 'p', modelId: 'm', at: 0 }
    }
    const agent = defineAgent({
      model: () => (asked++ === 0 ? (cut() as unknown as MessageStream) : Promise.resolve([text('done')])),
      retry: { jitter: 0 },
    })
    expect((await playOut(talk, agent, 'go')).text).toBe('done')
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ error: { kind: 'stream-broken' } }])
  })

  it('A109, A105: a function that hangs ends at the abort, with an estimate of its usage', async () => {
    const talk = conversation()
    const hang = Promise.withResolvers<readonly ModelFunctionMessage[]>()
    const signals: AbortSignal[] = []
    const agent = defineAgent({ model: ({ abortSignal }) => (signals.push(abortSignal), hang.promise) })
    const run = talk.run(agent, 'a text of 24 characters.')
    await until(() => signals.length === 1)
    run.abort('enough')
    expect(await run.result()).toMatchObject({ status: 'aborted', usage: { inputTokens: 6, estimated: true } })
    expect(signals[0]?.aborted).toBe(true)
    expect(eventsOf(talk, 'message-end')).toMatchObject([{ message: { stopReason: 'aborted', abortReason: 'enough', content: [] } }])
    const before = talk.memory.snapshot()
    hang.reject(new Error('late'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it('an error it throws is an error of the model, retried as its kind says', async () => {
    const talk = conversation()
    let asked = 0
    const attempts: number[] = []
    const agent = defineAgent({
      retry: { jitter: 0 },
      model: ({ attempt }) => {
        attempts.push(attempt)
        if (asked++ === 0) throw Object.assign(new Error('overloaded'), { statusCode: 503 })
        return asked === 2 ? Promise.reject(Object.assign(new Error('no'), { statusCode: 400 })) : Promise.resolve([])
      },
    })
    expect(await playOut(talk, agent, 'go')).toMatchObject({
      status: 'error',
      reason: 'model-error',
      error: { kind: 'bad-request', provider: 'function' },
    })
    expect(attempts).toEqual([1, 2])
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ delayMs: 2_000 }])
  })

  const broken = async function* (error: Error): AsyncGenerator<MessageEvent> {
    yield { type: 'message-start', messageId: 'm', provider: 'p', modelId: 'm', at: 0 }
    await Promise.resolve()
    throw error
  }
  const faulty = (error: Error) =>
    ({
      specificationVersion: 'v4',
      provider: 'mine',
      modelId: 'm',
      supportedUrls: {},
      doGenerate: () => Promise.reject(error),
      doStream: () => Promise.reject(error),
    }) as const
  it.each<[string, (error: Error) => AgentOptions['model']]>([
    [
      'throws it',
      (error) => () => {
        throw error
      },
    ],
    ['rejects with it', (error) => () => Promise.reject(error)],
    ['returns a stream that breaks with it', (error) => () => broken(error) as unknown as MessageStream],
    ['is no function but a model', (error) => faulty(error)],
  ])(
    'A128: a TypeError or ReferenceError is a bug of the program and asked about once, a network error retried, of a model that %s',
    async (_how, modelOf) => {
      const countedOf = (model: AgentOptions['model'], count: () => void): AgentOptions['model'] => {
        if (typeof model === 'function') return (request) => (count(), model(request))
        return Object.assign({}, model as ReturnType<typeof faulty>, {
          doStream: (...given: never[]) => (count(), (model as ReturnType<typeof faulty>).doStream(...(given as []))),
        })
      }
      for (const error of [
        new TypeError("Cannot read properties of undefined (reading 'x')"),
        new ReferenceError('x is not defined'),
        new RangeError('Invalid array length'),
      ]) {
        let asked = 0
        const agent = defineAgent({ model: countedOf(modelOf(error), () => asked++), retry: { jitter: 0 } })
        const { status, reason, error: told } = await playOut(conversation(), agent, 'go')
        expect([asked, status, reason, told?.message]).toEqual([1, 'error', 'model-error', error.message])
      }
      let asked = 0
      const agent = defineAgent({ model: countedOf(modelOf(new TypeError('fetch failed')), () => asked++), retry: { jitter: 0 } })
      await playOut(conversation(), agent, 'go')
      expect(asked).toBe(4)
    },
  )

  it('A128: the error of a failed answer is reported, and a failed answer without an error gets one', async () => {
    const errorOf = async (error: unknown) => {
      const model = () => Promise.resolve([{ role: 'assistant', content: '', stopReason: 'error', error }]) as never
      return (await playOut(conversation(), defineAgent({ model, retry: false }), 'go')).error
    }
    expect(await errorOf({ kind: 'overloaded', retryable: true, phase: 'before-output', message: 'too many' })).toMatchObject({
      kind: 'overloaded',
      message: 'too many',
    })
    expect(await errorOf(undefined)).toMatchObject({ message: 'the model function failed' })
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'the value is not a JSON value (undefined)'],
    ['no list', 'text', 'it is not a list of messages'],
    ['an empty list', [], 'it has no assistant message'],
    ['no assistant message', [result('x', 'one')], 'message 0 is a result without a call before it'],
    ['a user message', [{ role: 'user', content: 'hi' }], 'message 0 is neither an answer nor a tool result'],
    ['a result of no call', [asks(call('x', 'a')), result('y', 'one')], 'message 1 is a result without a call before it'],
    ['two results of one call', [asks(call('x', 'a')), result('x', 'one'), result('x', 'two')], 'message 2 is a second result of x'],
    ['two calls of one id', [asks(call('x', 'a'), call('x', 'a'))], 'message 0 has two calls with the same id'],
    ['a call without an id', [asks(call('', 'a'))], 'message 0 has a call without an id'],
    [
      'a part that is none',
      [{ role: 'assistant', content: [{ type: 'thought' }] }],
      'message 0 has content that is neither text nor parts',
    ],
    ['a stopReason that is none', [{ role: 'assistant', content: 'a', stopReason: 'done' }], 'message 0 has an unknown stopReason'],
    [
      'a result of an answer that was cut',
      [{ ...asks(call('x', 'a')), stopReason: 'length' }, result('x', 'one')],
      'message 1 is a result of an answer that failed, was stopped or was cut',
    ],
    [
      'a result of an answer that failed',
      [{ ...asks(call('x', 'a')), stopReason: 'error' }, result('x', 'one')],
      'message 1 is a result of an answer that failed, was stopped or was cut',
    ],
    [
      'a usage that counts in words',
      [{ role: 'assistant', content: 'a', usage: { totalTokens: 'many' } }],
      'message 0 has an invalid usage',
    ],
    ['a usage below zero', [{ role: 'assistant', content: 'a', usage: { totalTokens: -100 } }], 'message 0 has an invalid usage'],
    [
      'a cost that is no number',
      [{ role: 'assistant', content: 'a', cost: { currency: 'USD', total: 'nothing' } }],
      'message 0 has an invalid cost',
    ],
    ['a model that is no text', [{ role: 'assistant', content: 'a', modelId: 7 }], 'message 0 has a modelId that is not a text'],
    ['a pause that is none', [{ role: 'assistant', content: 'a', paused: 'no' }], 'message 0 has a paused other than true'],
    ['no JSON', [{ role: 'assistant', content: 'a', usage: { raw: () => 1 } }], '/0/usage/raw is not a JSON value (function)'],
  ])('a function that returns %s fails with an error that says so, without a retry', async (_what, returned, said) => {
    const talk = conversation()
    let asked = 0
    const agent = defineAgent({ model: () => (asked++, Promise.resolve(returned)) as never, tools: [echo('a').tool], retry: { jitter: 0 } })
    const ended = await playOut(talk, agent, 'go')
    expect(ended).toMatchObject({
      status: 'error',
      reason: 'model-error',
      error: { kind: 'malformed-response', message: `the model function returned an invalid answer: ${said}` },
    })
    expect(asked).toBe(1)
    expect(ended.messages).toHaveLength(2)
  })

  it('an answer that is marked as failed is a failure', async () => {
    const given = { role: 'assistant', content: 'half', stopReason: 'error' } as const
    const { agent } = agentOver([[given]])
    expect(await playOut(conversation(), agent, 'go')).toMatchObject({
      status: 'error',
      text: 'half',
      error: { message: 'the model function failed' },
    })
  })

  it('later changes to the returned object have no effect', async () => {
    const talk = conversation()
    const content: { type: 'text'; text: string }[] = [{ type: 'text', text: 'as it was' }]
    const { agent } = agentOver([[{ role: 'assistant', content }]])
    const { result: ended } = await talk.play(agent, 'go')
    content[0]!.text = 'changed'
    expect(ended.text).toBe('as it was')
    expect(ended.messages.at(-1)).toMatchObject({ content: [{ text: 'as it was' }] })
  })

  it('a function without a name is anonymous', async () => {
    const talk = conversation()
    await readAll(
      talk.run(
        defineAgent({
          model: (
            () => () =>
              Promise.resolve([text('hi')])
          )(),
        }),
        'go',
      ),
    )
    expect(eventsOf(talk, 'message-start')).toMatchObject([{ model: { provider: 'function', modelId: 'anonymous' } }])
  })
})
