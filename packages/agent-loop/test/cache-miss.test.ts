import { createOpenAI } from '@ai-sdk/openai'
import type { JSONValue } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defineAgent, defineExtension, defineTool } from '../src/index.ts'
import type { AgentEvent, AgentOptions } from '../src/index.ts'
import { agentOf, conversation } from './support/conversation.ts'
import { echo } from './support/tools.ts'

const call = (name: string, id: string, input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const missesOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'usage' && event.cacheMiss ? [{ ...event.cacheMiss, turn: event.turn, step: event.step }] : []))
const overloaded = Object.assign(new Error('overloaded'), { name: 'AI_APICallError', statusCode: 503, isRetryable: true })

/** Returns what the second turn of a conversation reports about its request. */
async function missesBetween(first: Partial<AgentOptions>, second: Partial<AgentOptions>) {
  const talk = conversation()
  await talk.play(agentOf([{ text: 'one' }], { instructions: 'Be brief.', ...first }), 'one')
  await talk.play(agentOf([{ text: 'two' }], { instructions: 'Be brief.', ...second }), 'two')
  return missesOf(talk.journal.events)
}

describe('the beginning of requests', () => {
  it('A188: reports nothing while it stays the same: steps, turns, attempts, ephemeral messages', async () => {
    const talk = conversation()
    let count = 0
    const options = {
      tools: [echo('look').tool],
      instructions: { system: 'Be brief.', footer: { date: true } },
      ephemeral: () => [{ role: 'user' as const, content: `${count++}` }],
    }
    const agent = agentOf([call('look', 'a'), { error: overloaded }, call('look', 'b'), { text: 'one' }, { text: 'two' }], {
      ...options,
      retry: { baseDelayMs: 0, jitter: 0 },
    })
    await talk.play(agent, 'one')
    await talk.play(agent, 'two')
    expect(missesOf(talk.journal.events)).toEqual([])
    expect(talk.types().filter((type) => type === 'usage')).toHaveLength(1)
  })

  it('A188: names the first section of the prompt that changed, was added or was removed', async () => {
    const sections = { system: 'Be brief.', append: 'Be kind.', memory: 'Ada.' }
    const at = { turn: 2, step: 1 }
    expect(await missesBetween({ instructions: sections }, { instructions: { ...sections, memory: 'Ada, Bob.' } })).toEqual([
      { part: 'section', name: 'memory', ...at },
    ])
    expect(await missesBetween({ instructions: sections }, { instructions: { ...sections, append: '' } })).toEqual([
      { part: 'section', name: 'append', ...at },
    ])
    expect(await missesBetween({ instructions: { system: 'Be brief.', memory: 'Ada.' } }, { instructions: sections })).toEqual([
      { part: 'section', name: 'append', ...at },
    ])
    expect(await missesBetween({ instructions: sections }, { instructions: { ...sections, user: 'A sailor.' } })).toEqual([
      { part: 'section', name: 'user', ...at },
    ])
    const adds = (text: string) => [
      defineExtension({ name: 'adds', hooks: { beforeAgentStart: ({ instructions }) => ({ instructions: `${instructions}${text}` }) } }),
    ]
    expect(await missesBetween({ extensions: adds(' Now.') }, { extensions: adds(' Later.') })).toEqual([
      { part: 'section', name: 'added', ...at },
    ])
    expect(await missesBetween({ extensions: adds(' Now.') }, { extensions: adds(' Now.') })).toEqual([])
    expect(await missesBetween({}, { runtimeParams: { systemPrompt: 'Else.' } })).toEqual([{ part: 'section', name: 'identity', ...at }])
  })

  it('A188: names the first tool by name that changed, was added or was removed', async () => {
    const tool = (name: string, description = name) =>
      defineTool({ name, description, inputSchema: { type: 'object' }, execute: () => 'x' })
    const at = { turn: 2, step: 1 }
    const [a, b, c] = ['a', 'b', 'c'].map((name) => tool(name))
    if (!a || !b || !c) throw new Error('tools are missing')
    expect(await missesBetween({ tools: [a, b] }, { tools: [b, a] })).toEqual([])
    // Made again with the same definition.
    expect(await missesBetween({ tools: [a, b] }, { tools: [tool('a'), tool('b')] })).toEqual([])
    expect(await missesBetween({ tools: [a, b] }, { tools: [a, tool('b', 'other')] })).toEqual([{ part: 'tool', name: 'b', ...at }])
    expect(await missesBetween({ tools: [a, c] }, { tools: [a, b, c] })).toEqual([{ part: 'tool', name: 'b', ...at }])
    expect(await missesBetween({ tools: [a, b, c] }, { tools: [b, c] })).toEqual([{ part: 'tool', name: 'a', ...at }])
    expect(await missesBetween({ tools: [a] }, { tools: [a], prepareStep: () => ({ activeTools: [] }) })).toEqual([
      { part: 'tool', name: 'a', ...at },
    ])
    // Sections come before tools, tools before messages.
    expect(await missesBetween({ tools: [a] }, { tools: [b], instructions: 'Else.' })).toEqual([
      { part: 'section', name: 'identity', ...at },
    ])
  })

  it('A188: reports the first changed message by its index and role', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'two' }])
    await talk.play(agent, 'one', { overlays: ['above'] })
    // The overlay was above the input, and has expired.
    await talk.play(agent, 'two')
    const changing = defineExtension({
      name: 'changing',
      hooks: {
        transformContext: ({ messages }) => ({
          messages: messages.map((message, place) => (message.role === 'user' && place === 2 ? { ...message, content: 'other' } : message)),
        }),
      },
    })
    await talk.play(agentOf([{ text: 'four' }], { extensions: [changing] }), 'four')
    await talk.play(agentOf([{ text: 'five' }], { extensions: [changing] }), 'five')
    expect(missesOf(talk.journal.events)).toEqual([
      { part: 'message', index: 0, role: 'user', turn: 2, step: 1 },
      { part: 'message', index: 2, role: 'user', turn: 3, step: 1 },
    ])
    expect(JSON.stringify(talk.journal.events.filter(({ type }) => type === 'usage'))).not.toMatch(/one|two|other|brief/)
  })

  it('A188: reports messages that are gone by the index they had', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { error: new Error('gone') }, { text: 'three' }], { onFailedTurn: 'rewind' })
    await talk.play(agent, 'one')
    await talk.play(agent, 'withdrawn')
    await talk.play(agent, 'three')
    const dropping = defineExtension({
      name: 'dropping',
      hooks: { transformContext: ({ messages }) => ({ messages: messages.slice(0, 1) }) },
    })
    await talk.play(agentOf([{ text: 'x' }], { extensions: [dropping] }), 'short')
    expect(missesOf(talk.journal.events)).toEqual([
      { part: 'message', index: 2, role: 'user', turn: 3, step: 1 },
      { part: 'message', index: 1, turn: 4, step: 1 },
    ])
  })

  it('A188: the usage event of a discarded attempt reports it', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'one' }], { instructions: 'a' }), 'one')
    await talk.play(agentOf([{ error: overloaded }, { text: 'two' }], { instructions: 'b', retry: { baseDelayMs: 0, jitter: 0 } }), 'two')
    expect(talk.journal.events.filter(({ type }) => type === 'usage')).toMatchObject([
      { purpose: 'discarded-attempt', cacheMiss: { part: 'section', name: 'identity' } },
    ])
  })

  it('A188: a summary changes it', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'more' }, { text: 'Summary.' }, { text: 'two' }], {
      compaction: { keepRecentTokens: 1 },
    })
    await talk.play(agent, 'one')
    await talk.play(agent, 'more')
    expect((await agent.compact({ journal: talk.journal })).outcome).toBe('done')
    await talk.play(agent, 'two')
    expect(missesOf(talk.journal.events)).toEqual([{ part: 'message', index: 0, role: 'user', turn: 3, step: 1 }])
  })

  it('A188: the span of the call has it as an attribute, without text', async () => {
    const registry = globalThis as Record<symbol, unknown>
    const key = Symbol.for('opentelemetry.js.api.1')
    const spans: object[] = []
    const tracer = {
      startActiveSpan: (_name: string, { attributes }: { attributes: object }, work: (span: object) => void) => (
        spans.push(attributes),
        work({ isRecording: () => false, end: () => undefined })
      ),
    }
    registry[key] = { trace: { getTracer: () => tracer } }
    onTestFinished(() => void delete registry[key])
    const talk = conversation()
    for (const text of ['a', 'b']) await talk.play(agentOf([{ text }], { instructions: `say ${text}` }), text)
    await talk.play(agentOf([{ text: 'c' }], { instructions: 'say b', tools: [echo('look').tool] }), 'c')
    await talk.play(agentOf([{ text: 'd' }], { instructions: 'say b', tools: [echo('look').tool] }), 'd', { overlays: ['hm'] })
    await talk.play(agentOf([{ text: 'e' }], { instructions: 'say b', tools: [echo('look').tool] }), 'e')
    const name = 'bowline.metadata.cache_miss'
    expect(spans.map((attributes) => (attributes as Record<string, unknown>)[name])).toEqual([
      undefined,
      'section identity',
      'tool look',
      undefined,
      'message 6',
    ])
  })

  it('A188: reports nothing with off, in a new process or in another conversation', async () => {
    expect(await missesBetween({ cache: 'off' }, { cache: 'off', instructions: 'Else.' })).toEqual([])
    const talk = conversation()
    await talk.play(agentOf([{ text: 'one' }], { instructions: 'a' }), 'one')
    const elsewhere = conversation({ snapshot: JSON.parse(JSON.stringify(talk.memory.snapshot())) as JSONValue })
    await elsewhere.play(agentOf([{ text: 'two' }], { instructions: 'b' }), 'two', { ids: talk.ids })
    expect(missesOf(elsewhere.journal.events)).toEqual([])
    // From now on this process knows that conversation.
    await elsewhere.play(agentOf([{ text: 'three' }], { instructions: 'c' }), 'three', { ids: talk.ids })
    expect(missesOf(elsewhere.journal.events)).toMatchObject([{ part: 'section', name: 'identity', turn: 3 }])
  })

  it('A188: a schema that cannot be read ends the turn as before, and reports nothing', async () => {
    const broken = defineTool({
      name: 'broken',
      description: 'x',
      inputSchema: (() => {
        throw new Error('no schema')
      }) as never,
      execute: () => 'x',
    })
    const agent = defineAgent({ model: createOpenAI({ apiKey: 'x' })('gpt-5'), tools: [broken], retry: false })
    expect(await agent.run('go').result()).toMatchObject({ status: 'error', error: { message: expect.stringContaining('no schema') } })
  })

  it('A170, A188: reads each message once, however long the conversation is', async () => {
    const steps = 40
    const scripted = scriptedModel((_, place) => (place < steps ? call('look', `${place}`) : { text: 'done' }))
    const agent = defineAgent({ model: scripted, tools: [echo('look').tool], limits: { maxSteps: 100, maxToolCalls: 100 }, guardrails: [] })
    const stringify = JSON.stringify
    let characters = 0
    const perStep: number[] = []
    JSON.stringify = ((...given: Parameters<typeof stringify>) => {
      const text = stringify(...given)
      characters += text?.length ?? 0
      return text
    }) as typeof stringify
    onTestFinished(() => void (JSON.stringify = stringify))
    for await (const event of agent.run('go')) {
      if (event.type !== 'step-end') continue
      perStep.push(characters)
      characters = 0
    }
    // The first steps are the first to read the tools, and their numbers have one digit.
    const late = perStep.slice(12, 40)
    expect(Math.max(...late) - Math.min(...late)).toBeLessThan(40)
  })
})
