import { createModels } from '@bowline/llm'
import type { JSONObject, Models, RuntimeParams } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script, ScriptedModel, Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { inProcessExecutor, multiProviderAgent } from '../src/index.ts'
import type { BridgeAgent, BridgeEvent, MultiProviderAgentOptions, PromptContext, PromptResult, SessionContext } from '../src/index.ts'

type Options = Partial<Omit<MultiProviderAgentOptions, 'models'>>

interface Scripted {
  readonly agent: BridgeAgent
  /** The model that all names of one provider resolve to. */
  readonly red: ScriptedModel
  readonly blue: ScriptedModel
  readonly asked: string[]
}

function scripted(steps: { red?: Script; blue?: Script }, options: Options = {}): Scripted {
  const asked: string[] = []
  const red = scriptedModel(steps.red ?? [], { provider: 'red' })
  const blue = scriptedModel(steps.blue ?? [], { provider: 'blue' })
  const models = createModels({
    providers: {
      red: (name) => (asked.push(`red:${name}`), red),
      blue: (name) => (asked.push(`blue:${name}`), blue),
    },
  })
  return { agent: agentOver(models, options), red, blue, asked }
}

function agentOver(models: Models, options: Options = {}): BridgeAgent {
  const providers = [
    { id: 'red', models: ['crimson', 'scarlet'] },
    { id: 'blue', models: ['navy'] },
  ]
  return multiProviderAgent({ id: 'talker', models, providers, defaultProviderId: 'red', ...options })
}

let sessions = 0

function sessionOf(metadata: JSONObject = {}): SessionContext {
  const sessionId = `bs_${(sessions += 1)}`
  return { sessionId, conversationId: sessionId, agentId: 'talker', owner: 'local', metadata, createdAt: 0, depth: 0, path: [] }
}

async function opened(agent: BridgeAgent, metadata: JSONObject = {}): Promise<SessionContext> {
  const session = sessionOf(metadata)
  await agent.onSessionCreate?.(session)
  return session
}

type Parts = Partial<Pick<PromptContext, 'runtimeParams' | 'abortSignal'>>

function events(agent: BridgeAgent, session: SessionContext, prompt: string, parts: Parts = {}): AsyncIterable<BridgeEvent> {
  const request = { session, requestId: 'r', prompt, runtimeParams: {}, abortSignal: new AbortController().signal, ...parts }
  return agent.onPrompt(request) as AsyncIterable<BridgeEvent>
}

async function ask(agent: BridgeAgent, session: SessionContext, prompt: string, parts: Parts = {}): Promise<PromptResult> {
  let result: PromptResult | undefined
  for await (const event of events(agent, session, prompt, parts)) if (event.type === 'result') result = event.result
  if (!result) throw new Error('the stream ended without a result')
  return result
}

/** Returns the messages of the n-th call of a model, as `role: text`. */
function sent(model: ScriptedModel, index: number): string[] {
  return (model.calls[index]?.prompt ?? []).map(({ role, content }) => {
    const text = typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : part.type)).join('')
    return `${role}: ${text}`
  })
}

const config = (message: string): unknown =>
  expect.objectContaining({ code: 'CONFIG', message: expect.stringContaining(message) as unknown })

describe('the choice of provider and model', () => {
  it('B101: metadata.provider picks the provider for the whole session, or the default one if absent', async () => {
    const { agent, red, blue, asked } = scripted({ red: [{ text: 'r' }], blue: [{ text: 'b1' }, { text: 'b2' }] })
    const session = await opened(agent, { provider: 'blue' })
    expect(await ask(agent, session, 'one')).toMatchObject({ text: 'b1', stopReason: 'end_turn' })
    expect(await ask(agent, session, 'two')).toMatchObject({ text: 'b2' })
    expect(await ask(agent, await opened(agent), 'three')).toMatchObject({ text: 'r' })
    expect([red.calls.length, blue.calls.length, asked]).toEqual([1, 2, ['blue:navy', 'red:crimson']])
    // A model name of another provider does not change the provider of the session.
    await expect(ask(agent, session, 'four', { runtimeParams: { model: 'red:crimson' } })).rejects.toThrow(config('red:crimson'))
  })

  it('B101: an unknown provider, and one that is not a string, are CONFIG at create', () => {
    const { agent } = scripted({})
    const create = (provider: JSONObject[string]) => () => agent.onSessionCreate?.(sessionOf({ provider }))
    expect(create('green')).toThrow(config('"green"'))
    expect(create('toString')).toThrow(config('"toString"'))
    expect(create(7)).toThrow(config('metadata.provider 7'))
    expect(create(null)).toThrow(config('metadata.provider null'))
  })

  it('B102: providers that could never work fail at construction', () => {
    const one = { id: 'red', models: ['crimson'] }
    const build = (options: Options) => () => scripted({}, options)
    expect(build({ providers: [] })).toThrow(config('providers must have at least one provider'))
    expect(build({ providers: [one, one] })).toThrow(config('two providers have the id red'))
    expect(build({ defaultProviderId: 'green' })).toThrow(config('green'))
    expect(build({ providers: [one, { id: 'green', models: ['lime'] }] })).toThrow(config('no provider green'))
    expect(build({ providers: [{ id: 'red', models: [] }] })).toThrow(config('no models'))
    expect(build({ providers: [{ ...one, defaults: { model: 'rose' } }] })).toThrow(config('"rose"'))
    expect(build({ providers: [{ ...one, defaults: { temperature: 9 } }] })).toThrow(config('providers[0].defaults.temperature'))
    expect(build({ history: { maxMessages: -1 } })).toThrow(config('history.maxMessages'))
    expect(build({ id: '' })).toThrow(config('id'))
  })

  it('B104: without a model in any layer it uses the first of the provider, and others only where they are allowed', async () => {
    const open = { id: 'blue', models: ['navy'], allowOtherModels: true }
    const providers = [{ id: 'red', models: ['crimson', 'scarlet'] }, open]
    const { agent, asked } = scripted({ red: () => ({ text: 'r' }), blue: () => ({ text: 'b' }) }, { providers })
    const plain = await opened(agent)
    await ask(agent, plain, 'one')
    await ask(agent, plain, 'two', { runtimeParams: { model: 'scarlet' } })
    await expect(ask(agent, plain, 'three', { runtimeParams: { model: 'rose' } })).rejects.toThrow(config('"rose"'))
    await ask(agent, await opened(agent, { provider: 'blue' }), 'four', { runtimeParams: { model: 'sky:light' } })
    expect(asked).toEqual(['red:crimson', 'red:scarlet', 'blue:sky:light'])
    expect(() => agent.onSessionCreate?.(sessionOf({ runtimeParams: { model: 'rose' } }))).toThrow(config('"rose"'))
  })

  it('B5: its providers and models are declared, its settings are not', () => {
    const providers = [{ id: 'red', models: ['crimson'], displayName: 'Red', defaults: { seed: 1 }, allowOtherModels: true }]
    const { agent } = scripted({}, { providers })
    expect(inProcessExecutor({ agents: [agent] }).agents()).toEqual([
      {
        id: 'talker',
        capabilities: [],
        status: 'ready',
        durable: false,
        providers: [{ id: 'red', models: ['crimson'], displayName: 'Red' }],
      },
    ])
  })
})

describe('the choice of parameters', () => {
  const providers = [
    {
      id: 'red',
      models: ['crimson'],
      defaults: { temperature: 0.1, topK: 5, stopSequences: ['a', 'b'], providerSpecific: { x: 1, y: { deep: 1 } } },
    },
  ]

  it('B103: the prompt wins over the session, the session over the provider, the provider over the agent, by defined fields', async () => {
    const { agent, red } = scripted({ red: () => ({ text: 'r' }) }, { providers, defaults: { seed: 7, topK: 1 } })
    const session = await opened(agent, { runtimeParams: { temperature: 0.5, providerSpecific: { y: { other: 2 } } } })
    const runtimeParams: RuntimeParams = { maxTokens: 10, stopSequences: ['c'], topK: undefined }
    await ask(agent, session, 'one', { runtimeParams })
    expect(red.calls[0]).toMatchObject({ seed: 7, topK: 5, temperature: 0.5, maxOutputTokens: 10, stopSequences: ['c'] })
    expect(red.calls[0]?.providerOptions).toEqual({ red: { x: 1, y: { other: 2 } } })
  })

  it('B103: with empty layers no parameter is sent', async () => {
    const { agent, red } = scripted({ red: [{ text: 'r' }] })
    await ask(agent, await opened(agent, { runtimeParams: {} }), 'one')
    const { prompt: _prompt, abortSignal: _signal, ...settings } = red.calls[0] ?? {}
    expect(Object.values(settings).filter((value) => value !== undefined)).toEqual([])
  })

  it('B103: an empty systemPrompt removes the lower one', async () => {
    const { agent, red } = scripted({ red: () => ({ text: 'r' }) }, { instructions: 'Be kind.' })
    const session = await opened(agent, { runtimeParams: { systemPrompt: 'Be brief.' } })
    await ask(agent, session, 'one')
    await ask(agent, await opened(agent), 'two')
    await ask(agent, await opened(agent), 'three', { runtimeParams: { systemPrompt: '' } })
    expect(red.calls.map((_, index) => sent(red, index))).toEqual([
      ['system: Be brief.', 'user: one'],
      ['system: Be kind.', 'user: two'],
      ['user: three'],
    ])
  })

  it('B37: parameters of a prompt apply to that prompt only', async () => {
    const { agent, red } = scripted({ red: () => ({ text: 'r' }) }, { providers })
    const session = await opened(agent)
    await ask(agent, session, 'one', { runtimeParams: { temperature: 1, systemPrompt: 'Shout.' } })
    await ask(agent, session, 'two')
    expect(red.calls.map(({ temperature }) => temperature)).toEqual([1, 0.1])
    expect(sent(red, 1)[0]).toBe('user: one')
  })

  it('B13: only this agent checks metadata.runtimeParams, and names the fault', () => {
    const { agent } = scripted({})
    const create = () => agent.onSessionCreate?.(sessionOf({ runtimeParams: { temperature: 3, colour: 'red' }, other: { temperature: 3 } }))
    expect(create).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
    expect(create).toThrow('metadata.runtimeParams.temperature')
    expect(() => agent.onSessionCreate?.(sessionOf({ other: { temperature: 3 } }))).not.toThrow()
  })
})

describe('the conversation', () => {
  it('B105: a failed or cancelled completion adds nothing, and roles alternate', async () => {
    const { agent, red } = scripted({
      red: [
        { text: 'r1' },
        { error: new Error('down') },
        { text: 'half and half', chunk: 4, hang: 'middle' },
        { toolCalls: [{ name: 'none', input: {} }] },
        { text: 'r5' },
      ],
    })
    const session = await opened(agent)
    await ask(agent, session, 'one')
    await expect(ask(agent, session, 'two')).rejects.toMatchObject({ code: 'UPSTREAM', details: { agentId: 'talker' } })
    const controller = new AbortController()
    const seen: BridgeEvent[] = []
    for await (const event of events(agent, session, 'three', { abortSignal: controller.signal })) {
      seen.push(event)
      controller.abort()
    }
    expect(seen.at(-1)).toMatchObject({
      type: 'result',
      result: { stopReason: 'cancelled', text: expect.stringMatching(/^half/) as unknown },
    })
    await expect(ask(agent, session, 'four')).rejects.toMatchObject({ code: 'UPSTREAM', details: { reason: 'tool-calls' } })
    await ask(agent, session, 'five')
    expect(sent(red, 4)).toEqual(['user: one', 'assistant: r1', 'user: five'])
  })

  it('B105: a reader that leaves ends the call and adds nothing', async () => {
    const { agent, red } = scripted({ red: [{ text: 'half and half', chunk: 4, hang: 'middle' }, { text: 'r2' }] })
    const session = await opened(agent)
    for await (const event of events(agent, session, 'one')) if (event.type === 'text-delta') break
    expect(red.calls[0]?.abortSignal?.aborted).toBe(true)
    await ask(agent, session, 'two')
    expect(sent(red, 1)).toEqual(['user: two'])
  })

  it('the oldest whole turns are removed from a full history, by messages and by bytes', async () => {
    const byCount = scripted({ red: (_, index) => ({ text: `r${index}` }) }, { history: { maxMessages: 5 } })
    const session = await opened(byCount.agent)
    for (const prompt of ['p0', 'p1', 'p2', 'p3']) await ask(byCount.agent, session, prompt)
    expect(sent(byCount.red, 3)).toEqual(['user: p1', 'assistant: r1', 'user: p2', 'assistant: r2', 'user: p3'])

    const bySize = scripted({ red: (_, index) => ({ text: `r${index}` }) }, { history: { maxBytes: 2800 } })
    const other = await opened(bySize.agent)
    for (const prompt of ['p0', 'é'.repeat(1000), 'p2', 'x'.repeat(3000), 'p4']) await ask(bySize.agent, other, prompt)
    expect(sent(bySize.red, 2).map((line) => line.slice(0, 10))).toEqual(['user: éééé', 'assistant:', 'user: p2'])
    expect(sent(bySize.red, 4)).toEqual(['user: p4'])
  })

  it('sessions do not see each other, and a closed one is gone', async () => {
    const { agent, red } = scripted({ red: () => ({ text: 'r' }) })
    const [one, two] = [await opened(agent), await opened(agent)]
    await ask(agent, one, 'one')
    await ask(agent, two, 'two')
    expect(sent(red, 1)).toEqual(['user: two'])
    await agent.onSessionClose?.(one, 'closed')
    await expect(ask(agent, one, 'three')).rejects.toMatchObject({ code: 'NOT_FOUND', details: { sessionValid: false } })
  })
})

describe('the result', () => {
  it('B106: usage is absent when the provider gave none, and a missing count next to another is 0', async () => {
    const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
    const finish = (output: number | undefined): Step => ({
      text: 'r',
      parts: [
        {
          type: 'finish',
          finishReason: { unified: 'stop', raw: undefined },
          usage: { inputTokens: none, outputTokens: { total: output, text: undefined, reasoning: undefined } },
        },
      ],
    })
    const { agent } = scripted({ red: [finish(undefined), finish(3), { text: 'r', usage: { input: 2, output: 3 } }] })
    const session = await opened(agent)
    expect(await ask(agent, session, 'one')).toEqual({ text: 'r', stopReason: 'end_turn' })
    expect((await ask(agent, session, 'two')).usage).toEqual({ inputTokens: 0, outputTokens: 3, totalTokens: 3 })
    expect((await ask(agent, session, 'three')).usage).toMatchObject({ inputTokens: 2, outputTokens: 3 })
  })

  it('B31: a truncated answer is max_tokens', async () => {
    const { agent } = scripted({ red: [{ text: 'r', finish: 'length' }] })
    const session = await opened(agent)
    expect(await ask(agent, session, 'one')).toMatchObject({ text: 'r', stopReason: 'max_tokens' })
  })

  it('reasoning of a model counts as activity', async () => {
    const { agent } = scripted({ red: [{ reasoning: 'hm', text: 'r' }] })
    const types: string[] = []
    for await (const event of events(agent, await opened(agent), 'one')) types.push(event.type)
    expect(types).toEqual(['progress', 'text-delta', 'result'])
  })
})
