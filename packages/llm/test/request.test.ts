import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { jsonSchema, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { LlmError, streamMessage, toPrompt, type FunctionTool, type LanguageModelV4CallOptions, type ModelRequest } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { finish, hello, rawModel, text } from './support.ts'

async function optionsOf(request: Partial<ModelRequest>): Promise<LanguageModelV4CallOptions> {
  const model = scriptedModel([{ text: 'ok' }])
  await streamMessage({ model, messages: hello, ...request }).result()
  const [options] = model.calls
  if (!options) throw new Error('the model was not called')
  return options
}

describe('the call of the provider', () => {
  it('L58: a V4 model is called directly, and its own stream is read', async () => {
    const seen: unknown[] = []
    const parts = [...text('a'), finish()]
    const stream = new ReadableStream({
      pull: (controller) => {
        const next = parts.shift()
        if (next) controller.enqueue(next)
        else controller.close()
      },
    })
    const getReader = stream.getReader.bind(stream)
    stream.getReader = ((...args: []) => (seen.push('read'), getReader(...args))) as typeof stream.getReader
    const model = rawModel(function (this: unknown) {
      seen.push(this)
      return Promise.resolve({ stream })
    })
    await streamMessage({ model, messages: hello }).result()
    expect(seen).toEqual([model, 'read'])
    expect(stream.locked).toBe(true)
  })

  it('L61: importing the package does not load ai', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context) } })
      await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)})
      console.log(JSON.stringify(loaded))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    const loaded = JSON.parse(stdout) as string[]
    expect(loaded).toContain('uuid')
    expect(loaded.filter((name) => /^ai(\/|$)/.test(name))).toEqual([])
  })

  it('L85: absent fields are absent, not undefined', async () => {
    const options = await optionsOf({})
    expect(Object.keys(options).sort()).toEqual(['abortSignal', 'prompt'])
    const { tools } = await optionsOf({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] })
    expect(tools).toStrictEqual([{ type: 'function', name: 'a', inputSchema: { type: 'object' } }])
  })

  it('L85: every given field arrives', async () => {
    const search = { type: 'provider', id: 'acme.search', name: 'search', args: { max: 3 } } as const
    const weather: FunctionTool = {
      name: 'weather',
      description: 'Says the weather',
      inputSchema: z.object({ city: z.string() }),
      strict: true,
      inputExamples: [{ input: { city: 'Oslo' } }],
      providerOptions: { acme: { x: 1 } },
    }
    const options = await optionsOf({
      instructions: 'be brief',
      tools: [weather, search],
      toolChoice: { toolName: 'weather' },
      providerOptions: { acme: { y: 2 } },
      headers: { 'x-a': '1' },
    })
    expect(options).toMatchObject({
      prompt: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      ],
      toolChoice: { type: 'tool', toolName: 'weather' },
      providerOptions: { acme: { y: 2 } },
      headers: { 'x-a': '1' },
    })
    expect(options.tools).toMatchObject([
      search,
      {
        type: 'function',
        name: 'weather',
        description: 'Says the weather',
        strict: true,
        inputExamples: [{ input: { city: 'Oslo' } }],
        inputSchema: { properties: { city: { type: 'string' } } },
      },
    ])
    expect((await optionsOf({ tools: [search], toolChoice: 'required' })).toolChoice).toEqual({ type: 'required' })
  })

  it('L85: an output of JSON arrives with its schema, name and description, and nothing more', async () => {
    expect((await optionsOf({ output: { type: 'json' } })).responseFormat).toStrictEqual({ type: 'json' })
    const output = { type: 'json', schema: { type: 'object' }, name: 'city', description: 'A city' } as const
    expect((await optionsOf({ output })).responseFormat).toStrictEqual(output)
  })

  it('L91: the same inputs give the same bytes, tools sorted by name', async () => {
    const make = (name: string): FunctionTool => ({ name, inputSchema: z.object({ [name]: z.string() }) })
    const names = ['b', 'A', 'a', 'B', 'ä']
    const bytes = (order: readonly string[]): Promise<string> =>
      optionsOf({ tools: order.map(make), instructions: 'x' }).then(({ abortSignal: _, ...options }) => JSON.stringify(options))
    expect(await bytes(names)).toBe(await bytes([...names].reverse()))
    expect((await optionsOf({ tools: names.map(make) })).tools?.map(({ name }) => name)).toEqual(['A', 'B', 'a', 'b', 'ä'])
  })

  it('L91: another process gives the same bytes', async () => {
    const script = `
      import { z } from 'zod'
      import { streamMessage } from './src/index.ts'
      import { scriptedModel } from './src/testing/index.ts'
      const message = { role: 'assistant', id: 'm', modelId: 'm', stopReason: 'stop', usage: {}, at: 1, timing: {} }
      const call = (toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'b', input: { x: 1 } })
      const model = scriptedModel([{ text: 'ok' }], { provider: 'anthropic.messages' })
      await streamMessage({
        model,
        instructions: 'Be brief.',
        cache: 'auto',
        messages: [
          { role: 'user', content: 'Hello' },
          { ...message, provider: 'other', content: [call('a:b'), call('a:b'), call('ü'.repeat(80))] },
          { role: 'tool-result', toolCallId: 'a:b', toolName: 'b', output: { type: 'json', value: { y: [2] } } },
          { role: 'user', content: 'And now?' },
        ],
        tools: ['b', 'a'].map((name) => ({ name, inputSchema: z.object({ [name]: z.string() }) })),
        output: { type: 'json', schema: { type: 'object' } },
      }).result()
      const [{ abortSignal, ...options }] = model.calls
      console.log(JSON.stringify(options))`
    const run = promisify(execFile)
    const cwd = new URL('..', import.meta.url)
    const [first, second] = await Promise.all(
      ['UTC', 'Asia/Tokyo'].map((TZ) =>
        run(process.execPath, ['--input-type=module', '-e', script], { cwd, env: { ...process.env, TZ, LANG: TZ } }),
      ),
    )
    expect(first?.stdout).toContain('"cacheControl"')
    expect(second?.stdout).toBe(first?.stdout)
  })

  it('L91: a schema object is converted once', async () => {
    let conversions = 0
    const inputSchema = jsonSchema(() => (conversions++, { type: 'object' }))
    const tools = [{ name: 'a', inputSchema }]
    await optionsOf({ tools })
    await optionsOf({ tools })
    expect(conversions).toBe(1)
  })

  it('L91: tools that were sent before are sent unchanged, and new ones with them', async () => {
    const model = scriptedModel([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
    const tools = ['b', 'a'].map((name): FunctionTool => ({ name, description: name, inputSchema: { type: 'object' } }))
    const sent = async (more: readonly FunctionTool[]): Promise<unknown> => {
      await streamMessage({ model, messages: hello, tools: [...tools, ...more] }).result()
      return model.calls.at(-1)?.tools
    }
    const first = await sent([])
    expect(first).toMatchObject([{ name: 'a' }, { name: 'b' }])
    expect(await sent([])).toEqual(first)
    const added: FunctionTool = { name: 'aa', inputSchema: { type: 'object', properties: {} } }
    expect(await sent([added])).toMatchObject([{ name: 'a' }, { ...added, type: 'function' }, { name: 'b' }])
  })

  it('L91: the schema of an AI SDK tool is used unchanged', async () => {
    const { inputSchema } = tool({ description: 'x', inputSchema: z.object({ n: z.number() }) })
    const { tools } = await optionsOf({ tools: [{ name: 'a', inputSchema }] })
    expect(tools).toMatchObject([{ inputSchema: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false } }])
  })

  it('L17: a schema that cannot be read is a config error of the call, not an exception', async () => {
    const broken = jsonSchema(() => {
      throw new Error('bad schema')
    })
    const model = scriptedModel([])
    const schemaFailure = await streamMessage({
      model,
      messages: hello,
      tools: [{ name: 'a', inputSchema: broken }],
    }).result()
    expect(schemaFailure.error).toMatchObject({
      kind: 'config',
      message: expect.stringContaining('bad schema') as string,
    })
    expect(model.calls).toHaveLength(0)
  })

  it.each<[string, unknown, string]>([
    ['null', null, 'messages[1] must be a message; received null'],
    ['no role', { content: 'x' }, 'messages[1].role must be one of user, assistant, tool-result; received undefined'],
    [
      'a user without text',
      { role: 'user', content: [{ type: 'text' }] },
      'messages[1].content[0].text must be a text; received undefined',
    ],
    [
      'an answer of plain text',
      { role: 'assistant', content: 'Hello' },
      'messages[1].content must be a list of parts; received a text of 5 characters',
    ],
    [
      'a file whose data is plain text',
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'aGk=' }] },
      "messages[1].content[0].data must be { type: 'data', data: a text in base64 } or { type: 'url', url: a text }; received a text of 4 characters",
    ],
  ])('L17, S208: a transcript with %s is refused by its place', (_, broken, message) => {
    const model = scriptedModel([])
    const messages = [...hello, broken as (typeof hello)[number]]
    expect(() => streamMessage({ model, messages })).toThrow(new LlmError('invalid-input', message))
    expect(() => toPrompt({ model: { provider: 'p', modelId: 'm' }, messages })).toThrow(new LlmError('invalid-input', message))
  })

  it.each<[string, unknown, string]>([
    [
      'a misspelled role',
      { role: 'uesr', content: 'x' },
      'messages[1].role must be one of user, assistant, tool-result; received "uesr"; did you mean user?',
    ],
    [
      'a role of other libraries',
      { role: 'tool', content: [] },
      'messages[1].role must be one of user, assistant, tool-result; received "tool"',
    ],
    [
      'a system message',
      { role: 'system', content: 'x' },
      'messages[1].role must be user, assistant or tool-result; use instructions for a system prompt',
    ],
    [
      'a user part of no known type',
      { role: 'user', content: [{ type: 'image', image: 'x' }] },
      'messages[1].content[0].type must be one of text, file; received "image"',
    ],
    [
      'a user part that is a text',
      { role: 'user', content: ['x'] },
      'messages[1].content[0] must be a text or file part; received a text of 1 character',
    ],
    [
      'an output of no known type',
      { role: 'tool-result', toolCallId: 'c', toolName: 'x', output: { type: 'jsn', value: 1 } },
      'messages[1].output.type must be one of text, json, content, error-text, error-json, execution-denied; received "jsn"; did you mean json?',
    ],
    [
      'an item of an output of no known type',
      { role: 'tool-result', toolCallId: 'c', toolName: 'x', output: { type: 'content', value: [{ type: 'image-data', data: 'x' }] } },
      'messages[1].output.value[0].type must be one of text, file; received "image-data"',
    ],
  ])('S208: a call with %s is refused by its place; toPrompt converts a transcript without it', (_, broken, message) => {
    const messages = [...hello, Object.freeze(broken) as (typeof hello)[number]]
    const converted = toPrompt({ model: { provider: 'p', modelId: 'm' }, messages })
    expect(converted.prompt).toHaveLength(1)
    expect(() => streamMessage({ model: scriptedModel([]), messages })).toThrow(new LlmError('invalid-input', message))
  })

  it.each<[string, ModelRequest['messages']]>([
    ['an empty text', [{ role: 'user', content: ' ' }]],
    ['a result without its call', [{ role: 'tool-result', toolCallId: 'c', toolName: 'x', output: { type: 'text', value: 'x' } }]],
  ])('S208: a call that would send only instructions is a config error: %s', async (_, messages) => {
    const model = scriptedModel([])
    const { error } = await streamMessage({ model, messages, instructions: 'Be brief.' }).result()
    expect(error).toMatchObject({
      kind: 'config',
      retryable: false,
      message: expect.stringContaining('messages must have content to send') as string,
    })
    expect(model.calls).toHaveLength(0)
  })

  it('S208: a transcript whose fields throw when they are read is a config error of the call', async () => {
    const model = scriptedModel([])
    const hostile = Object.defineProperty({ role: 'assistant', content: [] }, 'provider', { get: () => expect.fail('read') })
    const { error } = await streamMessage({ model, messages: [...hello, hostile as unknown as (typeof hello)[number]] }).result()
    expect(error).toMatchObject({ kind: 'config', retryable: false, phase: 'before-output' })
  })

  it('L42: repairs of the transcript are listed in the message', async () => {
    const model = scriptedModel([{ text: 'ok' }])
    const message = await streamMessage({ model, messages: [...hello, { role: 'user', content: '' }] }).result()
    expect(message.repairs).toEqual([
      { code: 'empty-content', messageIndex: 1 },
      { code: 'dropped-message', messageIndex: 1 },
    ])
  })
})
