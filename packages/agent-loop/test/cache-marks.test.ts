import { createAnthropic } from '@ai-sdk/anthropic'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { defineAgent, defineExtension, defineTool, summarizeMessages } from '../src/index.ts'
import type { AgentOptions, ToolContext } from '../src/index.ts'
import { conversation } from './support/conversation.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
const bodies: JSONObject[] = []
beforeAll(async () => void (await mock.start()))
afterEach(() => {
  mock.reset()
  bodies.length = 0
})
afterAll(() => mock.stop())

const model = () => {
  const recorded: typeof fetch = (input, init) => {
    bodies.push(JSON.parse(init?.body as string) as JSONObject)
    return fetch(input, init)
  }
  return createAnthropic({ baseURL: `${mock.url}/v1`, apiKey: 'test-key', fetch: recorded })('claude-sonnet-4-5')
}

const look = defineTool({ name: 'look', description: 'Looks', inputSchema: { type: 'object' }, effect: 'pure', execute: () => 'seen' })
const callOf = (name: string, input: object = {}, id = `call_${name}`) => ({ toolCalls: [{ id, name, arguments: JSON.stringify(input) }] })
const agentWith = (options: Partial<AgentOptions> = {}) =>
  defineAgent({ model: model(), instructions: 'Be brief.', tools: [look], retry: false, ...options })

/** Returns the paths of all cache marks of a request. */
function marksIn(value: JSONValue, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item = null]) => (key === 'cache_control' ? [path.join('.')] : marksIn(item, [...path, key])))
}

/** Returns the texts after which a request has its marks. */
function markedTexts(body: JSONObject | undefined): readonly JSONValue[] {
  return marksIn(body ?? {})
    .map((path) => {
      const block = path.split('.').reduce<JSONValue>((item, key) => (item as JSONObject)[key] ?? null, body ?? {}) as JSONObject
      return block['text'] ?? block['content'] ?? null
    })
    .toSorted()
}

/** Answers `one` with a call of `look`, everything else with a text. */
function answerTurns(): void {
  mock.on({ userMessage: 'one', hasToolResult: false }, callOf('look'))
  mock.on({ userMessage: /.*/ }, { content: 'Done.' })
}

describe('cache marks of an agent', () => {
  it('A187: are set after the system prompt and the last stored message, in both steps of a turn and in the next turn', async () => {
    answerTurns()
    const talk = conversation()
    const agent = agentWith()
    await talk.play(agent, 'one')
    await talk.play(agent, 'two')
    expect(bodies.map((body) => marksIn(body).toSorted())).toEqual([
      ['messages.0.content.0', 'system.0'],
      ['messages.2.content.0', 'system.0'],
      ['messages.4.content.0', 'system.0'],
    ])
    expect(bodies.map(markedTexts)).toEqual([
      ['Be brief.', 'one'],
      ['Be brief.', 'seen'],
      ['Be brief.', 'two'],
    ])
  })

  it('A187: with off there are none, in everything that the agent starts', async () => {
    mock.on({ userMessage: 'Write the summary now.' }, { content: 'Summary.' })
    mock.on({ userMessage: 'one', hasToolResult: false }, callOf('delegate_to_helper', { prompt: 'help' }))
    mock.on({ userMessage: 'help', hasToolResult: false }, callOf('side', {}, 'call_side'))
    mock.on({ userMessage: /.*/ }, { content: 'Done.' })
    const side = defineTool({
      name: 'side',
      description: 'Works aside',
      inputSchema: { type: 'object' },
      execute: async (_input, { spawnChild }: ToolContext) => (await spawnChild().run('aside').result()).text,
    })
    const helper = defineAgent({ model: model(), name: 'helper', description: 'Helps', instructions: 'Help.', tools: [side], retry: false })
    const talk = conversation()
    const agent = agentWith({ cache: 'off', subagents: [helper], compaction: { keepRecentTokens: 1 } })
    expect((await talk.play(agent, 'one')).result.status).toBe('completed')
    expect((await agent.compact({ journal: talk.journal })).outcome).toBe('done')
    expect(bodies).toHaveLength(6)
    expect(bodies.flatMap((body) => marksIn(body))).toEqual([])
    // The helper itself is unchanged, and its own setting has priority.
    await helper.run('by yourself').result()
    expect(markedTexts(bodies.at(-1))).toEqual(['Help.', 'by yourself'])
    bodies.length = 0
    const own = defineAgent({
      model: model(),
      name: 'helper',
      description: 'Helps',
      instructions: 'Help.',
      tools: [side],
      cache: 'auto',
      retry: false,
    })
    await agentWith({ cache: 'off', subagents: [own] })
      .run('one')
      .result()
    expect(bodies.map((body) => marksIn(body).length)).toEqual([0, 2, 2, 2, 0])
  })

  it('A187: subagents, their subagents, spawnChild and compactions set them without an option of their own', async () => {
    mock.on({ userMessage: 'Write the summary now.' }, { content: 'Summary.' })
    mock.on({ userMessage: 'one', hasToolResult: false }, callOf('delegate_to_helper', { prompt: 'help' }))
    mock.on({ userMessage: 'help', hasToolResult: false }, callOf('side', {}, 'call_side'))
    mock.on({ userMessage: /.*/ }, { content: 'Done.' })
    const side = defineTool({
      name: 'side',
      description: 'Works aside',
      inputSchema: { type: 'object' },
      execute: async (_input, { spawnChild }: ToolContext) => (await spawnChild().run('aside').result()).text,
    })
    const instructions = { system: 'Help.', footer: { date: true } } as const
    const helper = defineAgent({ model: model(), name: 'helper', description: 'Helps', instructions, tools: [side], retry: false })
    const talk = conversation()
    const agent = agentWith({ subagents: [helper], compaction: { keepRecentTokens: 1 } })
    await talk.play(agent, 'one')
    const [, child, spawned, again, parent] = bodies
    expect([child, spawned, again, parent].map(markedTexts)).toEqual([
      ['Help.', 'help'],
      ['Help.', 'aside'],
      ['Done.', 'Help.'],
      ['Be brief.', expect.stringContaining('Done.')],
    ])
    // The part that a provider caches is byte-identical.
    expect([spawned?.['system'], spawned?.['tools']]).toEqual([child?.['system'], child?.['tools']])
    expect((await agent.compact({ journal: talk.journal })).outcome).toBe('done')
    expect(marksIn(bodies.at(-1) ?? {})).toEqual(['system.0'])
    await summarizeMessages(agent, { messages: [{ role: 'user', content: 'hi' }] })
    expect(marksIn(bodies.at(-1) ?? {})).toEqual(['system.0'])
  })

  it('A187: content that changes from turn to turn comes after the mark of the prompt', async () => {
    answerTurns()
    const dated = defineExtension({
      name: 'dated',
      hooks: { beforeAgentStart: ({ instructions }, { turn }) => ({ instructions: `${instructions}\n\nTurn ${turn}.` }) },
    })
    const talk = conversation()
    const agent = agentWith({ instructions: { system: 'Be brief.', append: 'Be kind.', footer: { date: true } }, extensions: [dated] })
    await talk.play(agent, 'one')
    await talk.play(agent, 'two')
    const texts = bodies.map((body) => (body['system'] as readonly JSONObject[]).map(({ text }) => text))
    const [first] = texts
    expect(first).toEqual(['Be brief.\n\nBe kind.', '\n\nDate: 1970-01-01\n\nTurn 1.'])
    expect(texts[2]).toEqual(['Be brief.\n\nBe kind.', '\n\nDate: 1970-01-01\n\nTurn 2.'])
    expect(bodies.map(markedTexts)).toEqual([
      ['Be brief.\n\nBe kind.', 'one'],
      ['Be brief.\n\nBe kind.', 'seen'],
      ['Be brief.\n\nBe kind.', 'two'],
    ])
  })

  it('A187: no mark is set on an overlay or an ephemeral message', async () => {
    answerTurns()
    const talk = conversation()
    const late = defineTool({
      name: 'look',
      description: 'Looks',
      inputSchema: { type: 'object' },
      execute: async (_input, { overlay }) => void (await overlay('it rains')),
    })
    const agent = agentWith({ tools: [late], ephemeral: () => [{ role: 'user', content: 'it is noon' }] })
    await talk.play(agent, 'one', { overlays: ['above'] })
    expect(bodies.map(markedTexts)).toEqual([
      ['Be brief.', 'one'],
      ['Be brief.', 'done'],
    ])
    expect(JSON.stringify(bodies[1])).toContain('it rains')
    expect(bodies.every((body) => JSON.stringify(body).includes('it is noon'))).toBe(true)
  })

  it('A187: without a prompt the mark is on the tools, and there are never more than four marks', async () => {
    answerTurns()
    const own = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const content = ['a', 'b', 'c', 'two'].map((text, place) => ({
      type: 'text' as const,
      text,
      ...(place < 3 && { providerOptions: own }),
    }))
    const agent = agentWith({ instructions: '' })
    await agent.run('two').result()
    await agent.run({ role: 'user', content }).result()
    expect(marksIn(bodies[0] ?? {})).toEqual(expect.arrayContaining(['tools.0', 'messages.0.content.0']))
    expect(marksIn(bodies[1] ?? {})).toHaveLength(4)
  })

  it('A187: cache is auto or off', () => {
    expect(() => agentWith({ cache: 'always' as never })).toThrow('cache must be one of auto, off')
  })
})
