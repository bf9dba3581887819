import type { AssistantMessage, JSONValue, Message } from '@bowline/llm'
import { dynamicTool, jsonSchema, tool } from 'ai'
import type { Tool as SdkTool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AiSdkTool } from '../../src/contract/tool.ts'
import { adoptTool } from '../../src/index.ts'
import type { AgentOptions, Tool, ToolContext } from '../../src/index.ts'
import { fromAiSdk } from '../../src/tools/ai-sdk.ts'
import { toolSetOf } from '../../src/tools/define-tool.ts'
import { declarationOf, isTool } from '../../src/tools/tool.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf } from '../support/prompts.ts'

const inputSchema = z.strictObject({ city: z.string() })
const oslo = { city: 'Oslo' }

async function call(tools: AgentOptions['tools'], input: JSONValue = oslo) {
  const talk = conversation()
  const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input }] }, { text: 'done' }], { tools: tools ?? [] })
  const { result } = await talk.play(agent, 'go')
  return { talk, agent, outcome: result.messages.find((message) => message.role === 'tool-result') }
}

function own(name: string, sdkTool: AiSdkTool): Tool {
  const made = fromAiSdk(name, sdkTool)
  if (!isTool(made)) throw new Error(`${name} runs at its provider`)
  return made
}

const answer = (id: string, stopReason: AssistantMessage['stopReason'], toolCallId: string): AssistantMessage => ({
  role: 'assistant',
  id,
  provider: 'p',
  modelId: 'm',
  stopReason,
  usage: {},
  at: 0,
  timing: { totalMs: 0 },
  content: [{ type: 'tool-call', toolCallId, toolName: 'w', input: oslo }],
})
const earlier: readonly Message[] = [
  { role: 'user', content: 'a' },
  answer('failed', 'error', 'lost'),
  { role: 'tool-result', toolCallId: 'lost', toolName: 'w', output: { type: 'error-text', value: 'not run' } },
  answer('one', 'tool-calls', 'first'),
  { role: 'tool-result', toolCallId: 'first', toolName: 'w', output: { type: 'json', value: { n: 1 } } },
  answer('two', 'tool-calls', 'x'),
]

function contextOf(fields: Partial<ToolContext> = {}): ToolContext {
  const { signal } = new AbortController()
  return { toolCallId: 'x', messages: earlier, abortSignal: signal, ...fields } as ToolContext
}

describe('tools of the AI SDK', () => {
  it('A66: a tool with execute works unchanged', async () => {
    const seen: unknown[] = []
    const w = tool({
      description: 'weather',
      inputSchema,
      execute: ({ city }, { toolCallId, messages, abortSignal, context }) => {
        seen.push(toolCallId, messages, abortSignal instanceof AbortSignal, context)
        return { city, sky: 'clear' }
      },
    })
    const { outcome, agent } = await call({ w })
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'json', value: { city: 'Oslo', sky: 'clear' } } })
    expect(seen).toEqual(['x', [{ role: 'user', content: [{ type: 'text', text: 'go' }] }], true, undefined])
    expect(agent.model.calls[0]?.tools).toMatchObject([{ name: 'w', description: 'weather' }])
  })

  it('A66: options.messages are those before the answer, in the format of the AI SDK', async () => {
    const messages: unknown[] = []
    const w = tool({ inputSchema, execute: (_input, options) => messages.push(...options.messages) })
    await own('w', w).execute?.(oslo, contextOf())
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'first', toolName: 'w', input: oslo }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'first', toolName: 'w', output: { type: 'json', value: { n: 1 } } }] },
    ])
  })

  it('A66: options.context is the context of the run, and `this` is the tool', async () => {
    const counted = {
      inputSchema: jsonSchema({}),
      step: 3,
      execute(this: { step: number }, _input: unknown, { context }: { context: unknown }) {
        return [this.step, context]
      },
    }
    expect(await own('w', counted).execute?.({}, contextOf({ context: { user: 'u' } }))).toEqual({ output: [3, { user: 'u' }] })
  })

  it('A66: a tool without execute suspends the run', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input: oslo }] }], { tools: { w: tool({ inputSchema }) } })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'x', toolName: 'w' }] })
  })

  it('A66: a dynamic tool works too', async () => {
    const w = dynamicTool({ inputSchema: z.unknown(), execute: (input) => ({ got: input }) })
    const { outcome } = await call({ w })
    expect(outcome?.output).toEqual({ type: 'json', value: { got: oslo } })
  })

  it.each<[string, readonly unknown[], readonly unknown[], unknown]>([
    [
      'texts',
      ['a', 'ab', 'ab', 'c'],
      [
        ['a', undefined],
        ['b', undefined],
        ['c', true],
      ],
      { type: 'text', value: 'c' },
    ],
    [
      'objects',
      [{ n: 1 }, { n: 12 }],
      [
        ['{"n":1}', true],
        ['{"n":12}', true],
      ],
      { type: 'json', value: { n: 12 } },
    ],
    [
      'numbers that look as if they grew',
      [1, 12],
      [
        ['1', true],
        ['12', true],
      ],
      { type: 'json', value: 12 },
    ],
    [
      'text behind an object',
      [{}, '{}!'],
      [
        ['{}', true],
        ['{}!', true],
      ],
      { type: 'text', value: '{}!' },
    ],
    ['nothing', [], [], { type: 'text', value: 'done' }],
    [
      'nothing at last',
      [1, undefined],
      [
        ['1', true],
        ['null', true],
      ],
      { type: 'text', value: 'done' },
    ],
  ])('A66: a generator of %s streams its snapshots, and the last is the output', async (_what, snapshots, deltas, output) => {
    const w = tool({
      inputSchema,
      async *execute() {
        yield* snapshots
      },
    })
    const { talk, outcome } = await call({ w })
    expect(outcome?.output).toEqual(output)
    expect(talk.journal.log.flatMap((event) => (event.type === 'tool-execution-delta' ? [[event.delta, event.replace]] : []))).toEqual(
      deltas,
    )
  })

  it('A66: toModelOutput and an empty output are kept', async () => {
    const w = tool({
      inputSchema,
      execute: (): number | undefined => 3,
      toModelOutput: ({ toolCallId, output }) => ({ type: 'text' as const, value: `${toolCallId}: ${output ?? 0} stars` }),
    })
    const { agent } = await call({ w })
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ output: { type: 'text', value: 'x: 3 stars' } }])
    const silent = await call({ w: tool({ inputSchema, execute: () => undefined }) })
    expect(silent.outcome).toMatchObject({ status: 'result', output: { type: 'text', value: 'done' } })
  })

  it('A66: JSON output is sent in the same form as the AI SDK sends it', async () => {
    const at = new Date(0)
    class Point {
      x = 1
      #y = 2
      get sum() {
        return this.x + this.#y
      }
    }
    const row = { at, link: new URL('https://files.test/a'), seen: undefined, point: new Point() }
    const made = await call({ w: tool({ inputSchema, execute: () => row }) })
    const written = { at: '1970-01-01T00:00:00.000Z', link: 'https://files.test/a', point: { x: 1 } }
    expect(made.outcome).toMatchObject({ status: 'result', output: { type: 'json', value: written } })
    const streamed = await call({
      w: tool({
        inputSchema,
        async *execute() {
          yield { at }
        },
      }),
    })
    expect(streamed.outcome).toMatchObject({ status: 'result', output: { type: 'json', value: { at: '1970-01-01T00:00:00.000Z' } } })
  })

  it('A66: toModelOutput gets the value that the tool returned, JSON or not', async () => {
    const w = tool({
      inputSchema,
      execute: () => ({ png: new Uint8Array([1, 2, 255]), at: new Date(0) }),
      toModelOutput: ({ output: { png, at } }) => ({ type: 'text' as const, value: `${png.length} bytes of ${at.getTime()}` }),
    })
    expect((await call({ w })).outcome).toMatchObject({ status: 'result', output: { type: 'text', value: '3 bytes of 0' } })
  })

  it.each<[string, unknown, string]>([
    ['a bigint', { n: 1n }, '/n is not a JSON value (bigint)'],
    ['a function', () => 1, 'the value is not a JSON value (function)'],
    ['a set', { tags: new Set(['a']) }, '/tags is not a JSON value (Set)'],
    ['a number that JSON lacks', [1, Number.NaN], '/1 is not a JSON value (NaN)'],
    [
      'a value in itself',
      (() => {
        const ring: Record<string, unknown> = {}
        ring['me'] = ring
        return ring
      })(),
      '/me contains itself',
    ],
    ['what its own toJSON does not make JSON', { at: { toJSON: () => 1n } }, '/at is not a JSON value (bigint)'],
  ])('A62, A190: %s fails the call, and the error names its path', async (_what, value, named) => {
    for (const w of [
      tool({ inputSchema, execute: () => value }),
      tool({
        inputSchema,
        async *execute() {
          yield value
        },
      }),
    ]) {
      const { outcome } = await call({ w })
      expect(outcome).toMatchObject({ status: 'error', output: { type: 'error-text', value: expect.stringContaining(named) as string } })
    }
  })

  it('A66: the runtime waits for a slow toModelOutput', async () => {
    const w = tool({
      inputSchema,
      execute: () => 3,
      toModelOutput: ({ output }) => Promise.resolve({ type: 'text' as const, value: `${output}!` }),
    })
    const { outcome } = await call({ w })
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'text', value: '3!' } })
  })

  it('A66: content of toModelOutput is converted, including bytes and old names', () => {
    const value = [
      { type: 'text', text: 'see', providerOptions: { p: { a: 1 } } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 255]) }, filename: 'a.png' },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://files.test/a.png') } },
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'hé' } },
      { type: 'file-data', mediaType: 'application/pdf', data: 'AQI=' },
      { type: 'image-url', url: 'https://files.test/b.png' },
    ]
    const w = own('w', { inputSchema, execute: () => 1, toModelOutput: () => ({ type: 'content', value }) })
    expect(w.toModelOutput?.({ output: 1 }, { toolCallId: 'x', input: {} })).toEqual({
      type: 'content',
      value: [
        value[0],
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQL/' }, filename: 'a.png' },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://files.test/a.png' } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'aMOp' } },
        { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'AQI=' } },
        { type: 'file', mediaType: 'image/*', data: { type: 'url', url: 'https://files.test/b.png' } },
      ],
    })
  })

  it.each<[string, unknown]>([
    [
      'a reference to a file',
      { type: 'content', value: [{ type: 'file', mediaType: 'a/b', data: { type: 'reference', reference: { openai: 'f' } } }] },
    ],
    ['an unknown item', { type: 'content', value: [{ type: 'hologram' }] }],
    ['a text for an item', { type: 'content', value: ['a'] }],
    ['a file without data', { type: 'content', value: [{ type: 'file-data', mediaType: 'a/b' }] }],
    ['an unknown output', { type: 'hologram' }],
    ['a text output without text', { type: 'text' }],
    ['no output', undefined],
  ])('A62: %s from toModelOutput gives an error outcome', async (_what, output) => {
    const w = { inputSchema, execute: () => 1, toModelOutput: () => output }
    const { outcome } = await call({ w })
    expect(outcome).toMatchObject({ status: 'error', output: { type: 'error-text', value: expect.stringContaining('cannot be used') } })
  })

  it('A66: a value that only looks like content is sent as JSON', async () => {
    const { outcome } = await call({ w: tool({ inputSchema, execute: () => ({ type: 'content', value: ['a'] }) }) })
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'json', value: { type: 'content', value: ['a'] } } })
  })

  it('A66: needsApproval is called with input and options', async () => {
    const seen: unknown[] = []
    const w = tool({
      inputSchema,
      execute: () => 1,
      needsApproval: (input, { toolCallId, messages, context }) => {
        seen.push(input, toolCallId, messages.length, context)
        return true
      },
    })
    const { needsApproval } = own('w', w)
    if (typeof needsApproval !== 'function') throw new Error('it is asked for each call')
    expect(await needsApproval(oslo, contextOf({ context: 7 }))).toBe(true)
    expect(seen).toEqual([oslo, 'x', 3, 7])
    expect(own('w', tool({ inputSchema, needsApproval: true })).needsApproval).toBe(true)
  })

  it('A66: the declaration carries all it can, and the title is the label', () => {
    const fields = { description: 'd', strict: true, inputExamples: [{ input: oslo }], providerOptions: { p: { a: 1 } } }
    const made = own('w', tool({ inputSchema, title: 'Weather', ...fields }))
    expect(declarationOf(made)).toEqual({ name: 'w', inputSchema, ...fields })
    expect(made.label).toBe('Weather')
  })

  it('A66: a description that is a function is called once, without a context', () => {
    const describe = ({ context }: { context?: unknown }) => `for ${String(context)}`
    expect(own('w', { inputSchema, description: describe }).description).toBe('for undefined')
    const picky = ({ context }: { context: { user: string } }) => context.user
    expect(() => own('w', { inputSchema, description: picky })).toThrow('description of w')
  })

  it('A66: adoptTool sets the effect of a tool, and its options win', async () => {
    const sdkTool = tool({ inputSchema, description: 'old', execute: ({ city }) => city, needsApproval: true })
    const w = adoptTool({
      from: sdkTool,
      name: 'w',
      description: 'new',
      effect: 'idempotent',
      timeoutMs: 7,
      needsApproval: false,
      sequential: true,
    })
    expect(w).toMatchObject({ name: 'w', description: 'new', effect: 'idempotent', timeoutMs: 7, needsApproval: false, sequential: true })
    expect(own('w', sdkTool)).toMatchObject({ effect: 'once', timeoutMs: 120_000 })
    const { outcome } = await call([w])
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'text', value: 'Oslo' } })
  })
})

describe('tools that a provider defines', () => {
  const search = { type: 'provider', isProviderExecuted: true, id: 'p.search', args: { max: 3 }, inputSchema: jsonSchema({}) } as const
  const shell = {
    type: 'provider',
    isProviderExecuted: false,
    id: 'p.shell',
    args: { os: 'linux' },
    inputSchema,
    execute: ({ city }: { city: string }) => city,
  } as const

  it('A66: a tool that the provider runs is passed to the model call, and its result is not run here', async () => {
    const talk = conversation()
    const used = [
      { type: 'tool-call' as const, toolCallId: 's', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result' as const, toolCallId: 's', toolName: 'search', result: { hits: 2 } },
    ]
    const agent = agentOf([{ parts: used, text: 'two hits' }], { tools: { search: search as SdkTool } })
    const { result } = await talk.play(agent, 'go')
    expect(agent.model.calls[0]?.tools).toEqual([{ type: 'provider', id: 'p.search', name: 'search', args: { max: 3 } }])
    expect(result).toMatchObject({ status: 'completed', text: 'two hits' })
    expect(talk.types()).not.toContain('tool-execution-end')
  })

  it('A66: a tool that runs here is declared as its provider knows it', async () => {
    const { outcome, agent } = await call({ w: shell })
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'text', value: 'Oslo' } })
    expect(agent.model.calls[0]?.tools).toEqual([{ type: 'provider', id: 'p.shell', name: 'w', args: { os: 'linux' } }])
    const adopted = adoptTool({ from: shell, name: 'sh', effect: 'pure' })
    expect([adopted.effect, declarationOf(adopted)]).toEqual([
      'pure',
      { type: 'provider', id: 'p.shell', name: 'sh', args: { os: 'linux' } },
    ])
  })

  it('A4: names must be unique over both kinds', () => {
    const { tools, providerTools } = toolSetOf({ search, shell })
    expect([[...tools.keys()], [...providerTools.keys()]]).toEqual([['shell'], ['search']])
  })
})
