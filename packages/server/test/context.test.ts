import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import type { SessionView } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { bench, localTool, refusal, remoteTool, say, stores } from './support/bench.ts'
import { allFrames, completion, eventsOf } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const schema = { type: 'object', properties: { at: { type: 'string' } } } as const
const declaration = (name: string) => ({ name, description: 'Of the page.', inputSchema: schema })
const call = (name: string, input: object = {}) => ({ toolCalls: [{ id: `call-${name}`, name, input: input as never }] })
const earlier = [
  { role: 'user', content: 'Which knot?' },
  { role: 'assistant', content: 'A bowline.' },
] as const

describe.each(stores)('the context of a new session over the $name store', ({ make }) => {
  it('V13: earlier messages come before the input, for the model and for readers', async () => {
    const { execute, get, model } = await bench({
      store: make(),
      steps: [{ text: 'Yes.' }],
      agents: { assistant: { clientHistory: true } },
    })
    const answer = await execute({ sessionId: 'mine', input: say('Sure?'), context: { messages: earlier } })
    expect(completion(await allFrames(answer)).status).toBe('completed')
    const { messages } = (await (await get(mine)).json()) as SessionView
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    const prompt = model.calls[0]?.prompt.filter(({ role }) => role !== 'system')
    expect(prompt).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'user' }])
    expect(JSON.stringify(prompt)).toMatch(/Which knot\?.*A bowline\..*Sure\?/)
  })

  it('V13: a repeat with the same key finds the original history', async () => {
    const { execute, get } = await bench({ store: make(), steps: [{ text: 'Yes.' }], agents: { assistant: { clientHistory: true } } })
    const body = { input: say('Sure?'), context: { messages: earlier } }
    const key = { 'idempotency-key': 'k1' }
    const [first, again] = await Promise.all([execute(body, key), execute(body, key)])
    const id = first.headers.get('x-session-id') ?? ''
    expect(again.headers.get('x-run-id')).toBe(first.headers.get('x-run-id'))
    await Promise.all([allFrames(first), allFrames(again)])
    expect(((await (await get(`/api/agent/session/${id}`)).json()) as SessionView).messages).toHaveLength(4)
  })
})

it('V13: history and input are stored together, or not at all', async () => {
  const lost = losing(memoryStore(), 'session.ensure')
  const { execute, get } = await bench({ store: lost.store, steps: [{ text: 'Yes.' }], agents: { assistant: { clientHistory: true } } })
  const body = { sessionId: 'mine', input: say('Sure?'), context: { messages: earlier } }
  lost.fail(true)
  await refusal(execute(body, { 'idempotency-key': 'k1' }), 503, 'store-unavailable')
  lost.fail(false)
  await refusal(get(mine), 404, 'session-missing')
  await allFrames(await execute(body, { 'idempotency-key': 'k1' }))
  expect(((await (await get(mine)).json()) as SessionView).messages).toHaveLength(4)
})

it('V13: only with clientHistory, only messages of user and assistant', async () => {
  const closed = await bench()
  await refusal(closed.execute({ input: say('hi'), context: { messages: earlier } }), 403, 'option-not-allowed')
  const { execute } = await bench({ agents: { assistant: { clientHistory: true } } })
  const wrong = [
    { role: 'system', content: 'Obey.' },
    { role: 'tool-result', toolCallId: 'x', toolName: 'y', output: { type: 'text', value: '' } },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'y', input: {} }] },
    { role: 'user', content: '' },
    { role: 'user', content: 'hi', name: 'mine' },
  ]
  for (const message of wrong) await refusal(execute({ input: say('hi'), context: { messages: [message] } }), 400, 'invalid-body')
})

describe.each(stores)('tools of a client over the $name store', ({ make }) => {
  it('V14: none refuses every tool', async () => {
    const { execute, model } = await bench({ store: make(), agents: { assistant: { clientTools: 'none' } }, tools: [remoteTool('place')] })
    await refusal(execute({ input: say('hi'), context: { tools: [declaration('place')] } }), 403, 'client-tools-not-allowed')
    expect(model.calls).toEqual([])
  })

  it('V14: declared accepts tools that the agent leaves to the client, with the schema of the agent, and is the default', async () => {
    const { execute, model } = await bench({
      store: make(),
      steps: [call('place')],
      tools: [remoteTool('place'), localTool('look', () => 'seen')],
    })
    for (const name of ['look', 'other']) {
      const problem = await refusal(execute({ input: say('hi'), context: { tools: [declaration(name)] } }), 403, 'client-tools-not-allowed')
      expect(problem.detail).toContain(name)
    }
    const frames = await allFrames(await execute({ input: say('hi'), context: { tools: [declaration('place')] } }))
    expect(completion(frames)).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolName: 'place' }] })
    const told = model.calls[0]?.tools?.find((tool) => tool.name === 'place')
    expect(told).toMatchObject({ description: 'Asks the browser.', inputSchema: { properties: {} } })
  })

  it('V14: any accepts new tools, which stay with the session, and no tool that hides one of the agent', async () => {
    const { execute, model } = await bench({
      store: make(),
      agents: { assistant: { clientTools: 'any' } },
      steps: [call('paint', { at: 'top' }), { text: 'Painted.' }, call('paint', { at: 'bottom' })],
      tools: [localTool('look', () => 'seen')],
    })
    await refusal(execute({ input: say('hi'), context: { tools: [declaration('look')] } }), 403, 'client-tools-not-allowed')
    await refusal(execute({ input: say('hi'), context: { tools: [declaration('a'), declaration('a')] } }), 400, 'invalid-body')
    const first = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: { tools: [declaration('paint')] } }))
    expect(completion(first)).toMatchObject({ pendingToolCalls: [{ toolCallId: 'call-paint', toolName: 'paint', input: { at: 'top' } }] })
    expect(model.calls[0]?.tools?.map((tool) => tool.name)).toEqual(['look', 'paint'])
    await allFrames(await execute({ sessionId: 'mine', input: [{ toolCallId: 'call-paint', output: 'done' }] }))
    const later = await allFrames(await execute({ sessionId: 'mine', input: say('again') }))
    expect(completion(later)).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ input: { at: 'bottom' } }] })
  })
})

describe('V14: a declared tool', () => {
  const paint = { name: 'paint', description: 'Paints.', label: 'Paints', effect: 'pure' } as const
  const inJson: unknown = JSON.parse(JSON.stringify(defineTool({ ...paint, inputSchema: z.object({ at: z.string() }) })))
  const told = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
  it.each([
    ['made by defineTool without execute, as JSON', inJson, told],
    ['with a label and an effect', { ...paint, inputSchema: schema }, schema],
    ['with parameters in place of inputSchema', { name: 'paint', description: 'Paints.', parameters: schema }, schema],
  ])('is accepted %s', async (_form, tool, inputSchema) => {
    const { execute, model } = await bench({ agents: { assistant: { clientTools: 'any' } }, steps: [call('paint', { at: 'top' })] })
    const frames = await allFrames(await execute({ input: say('hi'), context: { tools: [tool] } as never }))
    expect(completion(frames)).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolName: 'paint', input: { at: 'top' } }] })
    expect(model.calls[0]?.tools).toMatchObject([{ name: 'paint', description: 'Paints.', inputSchema }])
  })

  it.each([
    [
      'with both schemas',
      { ...paint, inputSchema: schema, parameters: schema },
      'context.tools[0].inputSchema',
      'inputSchema or as parameters, not as both',
    ],
    ['without a schema', paint, 'context.tools[0].inputSchema', 'inputSchema or as parameters'],
    ['whose parameters are no schema', { ...paint, parameters: 'at' }, 'context.tools[0].parameters', 'JSON Schema'],
    [
      'whose parameters cannot be used',
      { ...paint, parameters: { properties: { a: { pattern: '(a)\\1' } } } },
      'context.tools[0].parameters.properties.a.pattern',
      '',
    ],
    ['with another effect', { ...paint, inputSchema: schema, effect: 'twice' }, 'context.tools[0].effect', ''],
    ['with another key', { ...paint, inputSchema: schema, sequential: true }, 'context.tools[0].sequential', 'not known'],
  ])('is refused %s', async (_form, tool, path, message) => {
    const { execute } = await bench({ agents: { assistant: { clientTools: 'any' } } })
    const { errors } = await refusal(execute({ input: say('hi'), context: { tools: [tool] } as never }), 400, 'invalid-body')
    expect(errors).toMatchObject([{ path: expect.stringContaining(path) as string, message: expect.stringContaining(message) as string }])
  })
})

it('V14: refuses a tool that would hide one of a subagent, or one that comes with subagents', async () => {
  const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([]), tools: [localTool('dig', () => 'dug')] })
  const boss = defineAgent({ name: 'boss', model: scriptedModel([]), subagents: [helper] })
  const { execute } = await bench({ otherAgents: [boss], agents: { boss: { clientTools: 'any' } } })
  for (const name of ['dig', 'delegate_to_helper', 'background_output']) {
    const context = { agent: 'boss', tools: [declaration(name)] }
    await refusal(execute({ input: say('hi'), context }), 403, 'client-tools-not-allowed')
  }
})

it('V14: accepts at most 32 tools of 64 KiB in all', async () => {
  const { execute } = await bench({ agents: { assistant: { clientTools: 'any' } }, steps: [{ text: 'Hi.' }] })
  const many = Array.from({ length: 33 }, (_, index) => declaration(`t${index}`))
  await refusal(execute({ input: say('hi'), context: { tools: many } }), 400, 'invalid-body')
  const large = { ...declaration('large'), description: 'x'.repeat(64 * 1024) }
  await refusal(execute({ input: say('hi'), context: { tools: [large] } }), 400, 'invalid-body')
  expect((await execute({ input: say('hi'), context: { tools: many.slice(1) } })).status).toBe(200)
})

/** Returns a schema in which each definition refers twice to the next. */
function doublingSchema(): object {
  const next = (index: number) => ({ anyOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] })
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`d${index}`, index === 39 ? { type: 'number' } : next(index + 1)]),
  )
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
}

describe('V106: a schema that a client declares is bounded before it is used', () => {
  const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) })
  it.each<[string, object, string]>([
    ['a pattern that looks back', { properties: { a: { type: 'string', pattern: '(a)\\1' } } }, '.properties.a.pattern'],
    ['a name by a pattern that looks ahead', { patternProperties: { '(?=a)b': {} } }, '.patternProperties'],
    ['a pattern that is too large', { properties: { a: { pattern: '(?:abcdefghij){1000}' } } }, '.properties.a.pattern'],
    ['references that double', doublingSchema(), ''],
    ['too many levels', nested(40), '.items.items.items.items'],
    ['too many parts', { properties: Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`p${index}`, {}])) }, ''],
    ['a type that is none', { type: 'nonsense' }, ''],
    ['an input that is no object', { type: 'string' }, ''],
    ['a step of 0', { properties: { a: { type: 'number', multipleOf: 0 } } }, ''],
    ['a length below 0', { properties: { a: { type: 'string', minLength: -1 } } }, ''],
    ['fewer than no items', { properties: { a: { type: 'array', minItems: -1 } } }, ''],
  ])('refuses %s, and names the place', async (_name, inputSchema, path) => {
    const { execute, runtime } = await bench({ agents: { assistant: { clientTools: 'any' } } })
    const tools = [declaration('fine'), { ...declaration('paint'), inputSchema }]
    const problem = await refusal(execute({ input: say('hi'), context: { tools } }), 400, 'invalid-body')
    expect(problem.errors).toEqual([{ path: `context.tools[1].inputSchema${path}`, message: expect.any(String) as string }])
    expect(problem.detail).toBe(`context.tools[1].inputSchema${path}: ${problem.errors?.[0]?.message}`)
    expect((await runtime.sessions()).items).toEqual([])
  })

  it('a pattern of a client never reaches the regular expression engine that backtracks', async () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a|a)*$' } } }
    const calls = ['a'.repeat(20), `${'a'.repeat(20)}!`].map((a, index) => ({ id: `c${index}`, name: 'paint', input: { a } }))
    const { execute } = await bench({ agents: { assistant: { clientTools: 'any' } }, steps: [{ toolCalls: calls }] })
    const context = { tools: [{ ...declaration('paint'), inputSchema }] }
    const run = vi.spyOn(RegExp.prototype, 'exec')
    onTestFinished(() => void run.mockRestore())
    const frames = await allFrames(await execute({ input: say('hi'), context }))
    expect(run).toHaveBeenCalled()
    expect((run.mock.contexts as RegExp[]).filter(({ source }) => source.includes('a|a'))).toEqual([])
    expect(completion(frames)).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'c0' }] })
    expect(eventsOf(frames).filter((event) => event.type === 'tool-execution-end')).toMatchObject([
      { toolCallId: 'c1', message: { status: 'error' } },
    ])
  })
})

it('V15: a declaration contains the input schema of a tool, and nothing that runs', async () => {
  const { execute } = await bench({ agents: { assistant: { clientTools: 'any' } } })
  for (const more of [{ execute: 'return 1' }, { needsApproval: false }, { providerOptions: {} }]) {
    const problem = await refusal(
      execute({ input: say('hi'), context: { tools: [{ ...declaration('x'), ...more }] } }),
      400,
      'invalid-body',
    )
    expect(problem.errors).toEqual([{ path: `context.tools[0].${Object.keys(more)[0]}`, message: expect.any(String) }])
  }
  await refusal(execute({ input: say('hi'), context: { tools: [declaration('a b')] } }), 400, 'invalid-body')
})

describe('A191: the schema of a final answer that a client gives', () => {
  const output = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const answers = (input: object) => ({ toolCalls: [{ name: 'final_output', input: input as never }] })
  const open = { assistant: { clientOutput: true } }

  it('holds for this run, and its output is in the last frame', async () => {
    const { execute } = await bench({ agents: open, steps: [answers({}), answers({ city: 'Oslo' }), { text: 'Words.' }] })
    const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {}, options: { output } }))
    expect(completion(frames)).toMatchObject({ status: 'completed', output: { city: 'Oslo' } })
    expect(eventsOf(frames).filter((event) => event.type === 'message-start')).toMatchObject([{ output: 'tool' }, { output: 'tool' }])
    const next = completion(await allFrames(await execute({ sessionId: 'mine', input: say('again') })))
    expect(next.status).toBe('completed')
    expect(next).not.toHaveProperty('output')
  })

  it('ends the run as an error if no answer fits', async () => {
    const { execute } = await bench({ agents: open, steps: [answers({}), answers({})] })
    const frames = await allFrames(await execute({ input: say('hi'), context: {}, options: { output } }))
    expect(completion(frames)).toMatchObject({ status: 'error', reason: 'output-invalid', error: { code: 'output-invalid' } })
    expect(completion(frames)).not.toHaveProperty('output')
  })

  it('is accepted only where the agent lets a client give one', async () => {
    const { execute } = await bench({})
    await refusal(execute({ input: say('hi'), context: {}, options: { output } }), 403, 'option-not-allowed')
  })

  it.each<[string, unknown, string]>([
    ['of a list', { type: 'array' }, 'options.output'],
    ['that is no object', 'x', 'options.output'],
    ['that is too large', { type: 'object', description: 'x'.repeat(2 ** 16) }, 'options.output'],
    [
      'with a pattern that looks back',
      { type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' } } },
      'options.output.properties.a.pattern',
    ],
    ['whose references double', doublingSchema(), 'options.output'],
  ])('V106: refuses an output schema %s, and names the place', async (_name, given, path) => {
    const { execute } = await bench({ agents: open })
    const problem = await refusal(execute({ input: say('hi'), context: {}, options: { output: given as never } }), 400, 'invalid-body')
    expect(problem.errors).toEqual([{ path, message: expect.any(String) as string }])
  })
})

function twoModels() {
  const small = scriptedModel([{ text: 'Small.' }, { text: 'Small.' }])
  const large = scriptedModel([{ text: 'Large.' }])
  const models = createModels({ providers: { test: { languageModel: (id: string) => (id === 'large' ? large : small) } } })
  return { small, large, agent: defineAgent({ name: 'chooser', model: 'test:small', models }) }
}

it('V16: a client may choose one of the models that the agent offers, for this run', async () => {
  const { small, large, agent } = twoModels()
  const { execute, get } = await bench({ otherAgents: [agent], agents: { chooser: { models: ['test:large'] } } })
  const context = { agent: 'chooser' }
  for (const model of ['test:small', 'test:other']) {
    await refusal(execute({ input: say('hi'), context, options: { model } }), 403, 'model-not-allowed')
  }
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context, options: { model: 'test:large' } }))
  expect(completion(frames).status).toBe('completed')
  expect([small.calls.length, large.calls.length]).toEqual([0, 1])
  await allFrames(await execute({ sessionId: 'mine', input: say('again') }))
  expect([small.calls.length, large.calls.length]).toEqual([1, 1])
  const { agents } = (await (await get('/api/agents')).json()) as { agents: readonly { id: string; models: string[] }[] }
  expect(agents.map(({ id, models }) => [id, models])).toEqual([
    ['assistant', []],
    ['chooser', ['test:large']],
  ])
})

it('V16: a client may set the fields of runtimeParams that the agent allows; by default none', async () => {
  const closed = await bench()
  const settings = { temperature: 0.5 }
  await refusal(closed.execute({ input: say('hi'), context: {}, options: { runtimeParams: settings } }), 403, 'option-not-allowed')
  await refusal(closed.execute({ input: say('hi'), context: {}, options: { model: 'test:x' } }), 403, 'model-not-allowed')
  const { execute, model } = await bench({ steps: [{ text: 'Hi.' }], agents: { assistant: { runtimeParams: ['temperature', 'model'] } } })
  const withParams = (runtimeParams: object) => execute({ input: say('hi'), context: {}, options: { runtimeParams } })
  await refusal(withParams({ ...settings, maxTokens: 5 }), 403, 'option-not-allowed')
  await refusal(withParams({ model: 'test:x' }), 403, 'model-not-allowed')
  for (const wrong of [{ temperature: 3 }, { baseURL: 'http://x' }, { apiKey: 'x' }]) await refusal(withParams(wrong), 400, 'invalid-body')
  await allFrames(await withParams(settings))
  expect(model.calls[0]?.temperature).toBe(0.5)
})

it('V17: instructions, tools and context stay those of the beginning of the session', async () => {
  const { execute } = await bench({
    steps: [{ text: 'One.' }],
    agents: { assistant: { clientTools: 'any', clientHistory: true, runtimeParams: ['systemPrompt'] } },
  })
  await refusal(execute({ input: say('hi'), context: { instructions: 'Obey.' } }), 400, 'invalid-body')
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  for (const context of [{ tools: [declaration('x')] }, { messages: earlier }, { metadata: { a: 1 } }]) {
    await refusal(execute({ sessionId: 'mine', input: say('hi'), context }), 409, 'session-exists')
  }
  const options = { runtimeParams: { systemPrompt: 'Obey.' } }
  await refusal(execute({ sessionId: 'mine', input: say('hi'), options }), 403, 'option-not-allowed')
})

/** Returns a store that fails commits with this write while it is switched on. */
function losing(store: SessionStore, op: string) {
  let fails = false
  const failing = new Proxy(store, {
    get(target, name) {
      if (name === 'commit') {
        return (batch: Parameters<SessionStore['commit']>[0]) => {
          if (!fails || !batch.writes.some((write) => write.op === op)) return target.commit(batch)
          return Promise.reject(
            Object.assign(new Error('gone'), { [Symbol.for('bowline.sessions.error')]: true, code: 'store-unavailable' }),
          )
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { store: failing, fail: (now: boolean) => void (fails = now) }
}
