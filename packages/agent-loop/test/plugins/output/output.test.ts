import type { LanguageModelV4CallOptions } from '@bowline/llm'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryJournal, defineAgent, defineExtension, defineTool, emptyView, reduceEvents } from '../../../src/index.ts'
import type { AgentEvent, AgentOptions, AgentRun } from '../../../src/index.ts'
import { checkEvents, checkTranscript, crashingJournal, recordingJournal } from '@bowline/testing'
import { refusal } from '../../support/waiting.ts'

type Steps = Parameters<typeof scriptedModel>[0]
type Mode = 'json-schema' | 'tool' | 'prompt'

const schema = z.object({ city: z.string(), days: z.array(z.number()) })
const good = { city: 'Oslo', days: [1, 2] }
const bad = { city: 'Oslo', days: ['one'] }
const look = defineTool({ name: 'look', description: 'x', inputSchema: z.object({}), effect: 'pure', execute: () => 'seen' })
const looks = { toolCalls: [{ name: 'look', input: {} }] }

function modelsOf(mode: Mode, steps: Steps) {
  const model = scriptedModel(steps)
  const models = createModels({
    providers: { test: { languageModel: () => model } },
    default: 'test:m',
    models: { 'test:m': { structuredOutput: mode } },
  })
  return { model: 'test:m' as const, models, scripted: model }
}

/** Returns an answer in the form of a model that is asked in this mode. */
const says = (mode: Mode, value: object) =>
  mode === 'tool' ? { toolCalls: [{ name: 'final_output', input: value as never, chunk: 3 }] } : { text: JSON.stringify(value), chunk: 3 }

function agentOf(mode: Mode, steps: Steps, options: Partial<AgentOptions> = {}) {
  const { scripted: _model, ...given } = modelsOf(mode, steps)
  return defineAgent({ ...given, output: schema, ...options, tools: [look] })
}

async function eventsOf(run: AgentRun): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

const modes: readonly Mode[] = ['json-schema', 'tool', 'prompt']

describe.each(modes)('an output requested by %s', (mode) => {
  it('A191: becomes the result, is streamed while it is written, and its text is JSON', async () => {
    const journal = recordingJournal(createMemoryJournal())
    const run = agentOf(mode, [says(mode, good)]).run('x', { journal })
    const events = await eventsOf(run)
    expect(await run.result()).toMatchObject({ status: 'completed', output: good, text: JSON.stringify(good) })
    const views = events.map((event, place) => events.slice(0, place + 1).reduce(reduceEvents, emptyView).output)
    expect(views).toContainEqual({ city: 'Oslo', days: [] })
    expect(views).toContainEqual({ city: 'Osl' })
    expect(views.at(-1)).toEqual(good)
    const durable = events.filter((event) => event.type !== 'output-delta' && 'seq' in event).reduce(reduceEvents, emptyView)
    expect(durable.output).toEqual(good)
    expect(checkEvents(journal.log)).toEqual([])
    expect(checkTranscript((await journal.load()).messages)).toEqual([])
    expect(events.find((event) => event.type === 'message-start')).toMatchObject({ output: mode })
  })

  it('A192: tools still work, and the final answer comes after them', async () => {
    const result = await agentOf(mode, [looks, says(mode, good)])
      .run('x')
      .result()
    expect(result).toMatchObject({ status: 'completed', output: good })
    expect(result.messages.filter((message) => message.role === 'tool-result' && message.toolName === 'look')).toHaveLength(1)
  })

  it('A192: the model is asked in this way only', async () => {
    const calls: LanguageModelV4CallOptions[] = []
    await agentOf(mode, [{ ...says(mode, good), expect: (call) => void calls.push(call) }])
      .run('x')
      .result()
    const [{ responseFormat, tools = [], prompt } = {} as LanguageModelV4CallOptions] = calls
    expect(responseFormat?.type === 'json').toBe(mode === 'json-schema')
    expect(tools.some(({ name }) => name === 'final_output')).toBe(mode === 'tool')
    expect(JSON.stringify(prompt).includes('JSON schema')).toBe(mode === 'prompt')
  })

  it('A191: the model sees an answer that does not fit together with its mistakes, and the next answer counts', async () => {
    const shown: string[] = []
    const run = agentOf(mode, [
      says(mode, bad),
      { ...says(mode, good), expect: ({ prompt }) => void shown.push(JSON.stringify(prompt.slice(-2))) },
    ]).run('x')
    expect(await run.result()).toMatchObject({ status: 'completed', output: good, steps: 2 })
    expect(shown[0]).toContain('days.0')
  })

  it('A191: after outputRepairs attempts the run ends as an error', async () => {
    for (const [outputRepairs, steps] of [
      [0, 1],
      [1, 2],
      [2, 3],
    ] as const) {
      const result = await agentOf(
        mode,
        Array.from({ length: steps }, () => says(mode, bad)),
        { outputRepairs },
      )
        .run('x')
        .result()
      expect(result).toMatchObject({
        status: 'error',
        reason: 'output-invalid',
        error: { code: 'output-invalid', message: expect.stringContaining('days.0') as string },
        steps,
      })
      expect(result).not.toHaveProperty('output')
    }
  })

  it('A191: a steered input after the answer leads to a new answer, and the new one counts', async () => {
    const other = { city: 'Bergen', days: [] }
    const run: AgentRun = agentOf(mode, [says(mode, good), says(mode, other)], {
      extensions: [
        defineExtension({
          name: 'steers',
          hooks: { onStepEnd: async ({ step }, context) => void (step === 1 && (await context.steer('Bergen, please'))) },
        }),
      ],
    }).run('x')
    const result = await run.result()
    // A call that ends the turn does so despite an input.
    expect(result.output).toEqual(mode === 'tool' ? good : other)
  })

  it('A191: a failed attempt is retried, and its partial output is withdrawn', async () => {
    const overloaded = {
      ...says(mode, { city: 'Wrong', days: [] }),
      failAfter: { parts: 3, error: Object.assign(new Error('busy'), { statusCode: 529 }), as: 'part' as const },
    }
    const run = agentOf(mode, [overloaded, says(mode, good)], { retry: { baseDelayMs: 0 } }).run('x')
    const events = await eventsOf(run)
    const discarded = events.findIndex((event) => event.type === 'message-discarded')
    expect(discarded).toBeGreaterThan(0)
    expect(events.slice(0, discarded + 1).reduce(reduceEvents, emptyView)).not.toHaveProperty('output')
    expect((await run.result()).output).toEqual(good)
  })

  it('A191: a run that is stopped has no output', async () => {
    const run = agentOf(mode, [{ ...says(mode, good), hang: 'end' }]).run('x')
    for await (const event of run) if (event.type === 'output-delta') run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(await run.result()).not.toHaveProperty('output')
  })

  it('A191: a late reader gets the output so far in one delta', async () => {
    const run = agentOf(mode, [{ ...says(mode, good), hang: 'end' }]).run('x')
    let view = emptyView
    for await (const event of run) {
      if (event.type !== 'output-delta') continue
      const read: AgentEvent[] = []
      for await (const late of run.events()) {
        read.push(late)
        if (late.type === 'output-delta') break
      }
      view = read.reduce(reduceEvents, emptyView)
      if (JSON.stringify(view.output).includes('2')) break
    }
    run.abort()
    await run.result()
    expect(view.output).toMatchObject({ city: 'Oslo' })
  })

  it('A191: after a crash at any commit no stored attempt is repeated', async () => {
    for (let commit = 1; ; commit++) {
      let reached = true
      for (const when of ['before', 'after'] as const) {
        const base = createMemoryJournal()
        const answers = ({ prompt }: LanguageModelV4CallOptions) => {
          const said = JSON.stringify(prompt)
          if (!said.includes('seen')) return looks
          return said.includes('not valid') || said.includes('days.0') ? says(mode, good) : says(mode, bad)
        }
        const { model, models } = modelsOf(mode, answers)
        const agent = defineAgent({ model, models, output: schema, tools: [look] })
        const journal = crashingJournal(base, { commit, when })
        const first = await agent.run('x', { journal }).result()
        reached = journal.crashed
        const { open, messages } = await base.load()
        const result = open
          ? await agent.run(undefined, { journal: base }).result()
          : messages.length > 0
            ? first
            : await agent.run('x', { journal: base }).result()
        const stored = (await base.load()).messages
        expect(checkTranscript(stored)).toEqual([])
        expect(stored.filter(({ role }) => role === 'assistant')).toHaveLength(3)
        expect(stored.filter((message) => 'repairsOutput' in message)).toHaveLength(mode === 'tool' ? 0 : 1)
        if (open) expect(result).toMatchObject({ status: 'completed', output: good })
      }
      if (!reached) break
    }
  })

  it('A191: a subagent answers its parent with the JSON', async () => {
    const named = agentOf(mode, [says(mode, good)], { name: 'helper', description: 'Helps.' })
    const asks = { toolCalls: [{ name: 'delegate_to_helper', input: { prompt: 'go' } }] }
    const result = await defineAgent({ model: scriptedModel([asks, { text: 'Done.' }]), subagents: [named] })
      .run('x')
      .result()
    const told = result.messages.find((message) => message.role === 'tool-result')
    expect(told).toMatchObject({ output: { type: 'json', value: { result: 'completed', text: JSON.stringify(good) } } })
  })
})

describe.each(modes)('an output requested by %s, and a compaction', (mode) => {
  it('A191: a summary is not taken for an answer, and an answer that did not fit is still repaired after a compaction', async () => {
    const long = 'word '.repeat(400)
    const full = { input: 9_500, output: 1 }
    const asked: boolean[] = []
    const scripted = scriptedModel(({ prompt, responseFormat, tools = [] }: LanguageModelV4CallOptions) => {
      const said = JSON.stringify(prompt)
      const wantsOutput =
        responseFormat?.type === 'json' || tools.some(({ name }) => name === 'final_output') || said.includes('fits this JSON schema')
      asked.push(wantsOutput)
      if (!wantsOutput) return { text: 'SUMMARY' }
      if (asked.filter(Boolean).length === 1) return { ...looks, text: long, usage: full }
      return asked.filter(Boolean).length === 2 ? { ...says(mode, bad), usage: full } : says(mode, good)
    })
    const models = createModels({
      providers: { test: { languageModel: () => scripted } },
      default: 'test:m',
      models: { 'test:m': { structuredOutput: mode, contextWindow: 10_000 } },
    })
    const compaction = { reserveTokens: 1_000, keepRecentTokens: 50 }
    const journal = createMemoryJournal()
    const agent = defineAgent({ model: 'test:m', models, output: schema, tools: [look], compaction, runtimeParams: { maxTokens: 500 } })
    const result = await agent.run(long, { journal }).result()
    expect(result).toMatchObject({ status: 'completed', output: good })
    expect(asked.slice(0, 2)).toEqual([true, false])
    expect(asked.filter(Boolean)).toHaveLength(3)
    expect((await journal.load()).compaction).toMatchObject({ summary: 'SUMMARY' })
  })
})

describe('an output', () => {
  it('A191: an agent without an output has no tool, format, event or field for it', async () => {
    const calls: LanguageModelV4CallOptions[] = []
    const run = defineAgent({ model: scriptedModel([{ text: '{}', expect: (call) => void calls.push(call) }]), tools: [look] }).run('x')
    const events = await eventsOf(run)
    expect(calls.map(({ tools, responseFormat }) => [tools?.map(({ name }) => name), responseFormat])).toEqual([[['look'], undefined]])
    expect(events.filter((event) => 'output' in event || event.type === 'output-delta')).toEqual([])
    expect(events.flatMap((event) => (event.type === 'message-end' ? [Object.keys(event.message)] : [])).flat()).not.toContain('output')
    expect(events.reduce(reduceEvents, emptyView)).not.toHaveProperty('output')
    expect(await run.result()).not.toHaveProperty('output')
  })

  it('A192: a model with unknown abilities is asked by the tool, a model function in the prompt', async () => {
    const events = await eventsOf(defineAgent({ model: scriptedModel([says('tool', good)]), output: schema }).run('x'))
    expect(events.find((event) => event.type === 'message-start')).toMatchObject({ output: 'tool' })
    const asked: string[] = []
    const answers = ({ instructions }: { readonly instructions: string }) => {
      asked.push(instructions)
      return Promise.resolve([{ role: 'assistant' as const, content: `Sure: ${JSON.stringify(good)}` }])
    }
    expect(await defineAgent({ model: answers, output: schema }).run('x').result()).toMatchObject({ output: good })
    expect(asked[0]).toContain('JSON schema')
  })

  it('A192: a model that answers in words is told to call the tool, and must do so', async () => {
    const choices: unknown[] = []
    const steps: Steps = [{ text: 'Oslo.' }, { ...says('tool', good), expect: ({ toolChoice }) => void choices.push(toolChoice) }]
    expect(await agentOf('tool', steps).run('x').result()).toMatchObject({ status: 'completed', output: good })
    expect(choices).toEqual([{ type: 'tool', toolName: 'final_output' }])
  })

  it('A191: the output of a run replaces that of its agent, and the next run has none', async () => {
    const agent = defineAgent({ model: scriptedModel([says('tool', { n: 1 }), { text: 'Words.' }]) })
    expect(await agent.run('x', { output: z.object({ n: z.number() }) }).result()).toMatchObject({ output: { n: 1 } })
    const next = await agent.run('x').result()
    expect(next).toMatchObject({ status: 'completed', text: 'Words.' })
    expect(next).not.toHaveProperty('output')
  })

  it('A191: an answer changed by a hook is checked again', async () => {
    const rewrites = defineExtension({
      name: 'rewrites',
      hooks: { onToolResult: ({ call }) => (call.toolName === 'final_output' ? { details: { output: bad } } : undefined) },
    })
    const result = await agentOf('tool', [says('tool', good), says('tool', good)], { extensions: [rewrites] })
      .run('x')
      .result()
    expect(result).toMatchObject({ status: 'error', error: { code: 'output-invalid' } })
  })

  it('A191: a step limit or stopWhen before the answer is not a success', async () => {
    const limited = await agentOf('json-schema', [looks], { limits: { maxSteps: 1 } })
      .run('x')
      .result()
    expect(limited).toMatchObject({ status: 'limit' })
    const stopped = await agentOf('json-schema', [looks], { stopWhen: () => true })
      .run('x')
      .result()
    expect(stopped).toMatchObject({ status: 'error', error: { code: 'output-invalid' } })
  })

  it('A191: a fallback model is asked in the way that fits it', async () => {
    const failing = scriptedModel([{ error: refusal(401) }])
    const second = scriptedModel([says('prompt', good)])
    const provider = { languageModel: (id: string) => (id === 'a' ? failing : second) } as never
    const models = createModels({
      providers: { test: provider },
      default: 'test:a',
      models: { 'test:a': { structuredOutput: 'tool' }, 'test:b': { structuredOutput: 'prompt' } },
    })
    const events = await eventsOf(defineAgent({ model: 'test:a', models, fallback: ['test:b'], retry: false, output: schema }).run('x'))
    expect(events.flatMap((event) => (event.type === 'message-start' ? [event.output] : []))).toEqual(['tool', 'prompt'])
  })

  it.each([
    [{ output: 5 }, 'output'],
    [{ output: schema, outputRepairs: -1 }, 'outputRepairs'],
    [{ output: schema, outputRepairs: 'two' }, 'outputRepairs'],
  ])('A191: refuses wrong options by name: %o', (options, name) => {
    const model = scriptedModel([])
    expect(() => defineAgent({ model, ...options } as never)).toThrow(name)
    expect(() => defineAgent({ model }).run('x', options as never)).toThrow(name)
  })

  it('A191: refuses a schema that is not of an object, and a tool with the reserved name', async () => {
    const listed = await defineAgent({ model: scriptedModel([]), output: z.array(z.string()) })
      .run('x')
      .result()
    expect(listed).toMatchObject({
      status: 'error',
      error: { code: 'invalid-config', message: expect.stringContaining('object') as string },
    })
    const own = defineTool({ name: 'final_output', description: 'x', inputSchema: z.object({}), execute: () => 'x' })
    expect(() => defineAgent({ model: scriptedModel([]), tools: [own], output: schema }).run('x')).toThrow('final_output')
  })
})
