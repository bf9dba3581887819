import type { LanguageModelV4CallOptions } from '@bowline/llm'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime, type Runtime, type SendOptions } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type CrashScenario, exploreCrashes, type Invariant, standardInvariants } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'

const output = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] }
const good = { city: 'Oslo' }
const look = defineTool({ name: 'look', description: 'x', inputSchema: { type: 'object' }, effect: 'pure', execute: () => 'seen' })
const modes = ['json-schema', 'tool', 'prompt'] as const
type Mode = (typeof modes)[number]

const says = (mode: Mode, value: object) =>
  mode === 'tool' ? { toolCalls: [{ name: 'final_output', input: value as never }] } : { text: JSON.stringify(value) }

/** Creates an agent that calls `look`, then answers wrongly, then correctly. `own`: the agent itself has the schema. */
function agentOf(mode: Mode, own = true) {
  const model = scriptedModel(({ prompt }: LanguageModelV4CallOptions) => {
    const said = JSON.stringify(prompt)
    if (!said.includes('seen')) return { toolCalls: [{ name: 'look', input: {} }] }
    return says(mode, said.includes('city: ') || said.includes('not valid') ? good : {})
  })
  const models = createModels({
    providers: { test: { languageModel: () => model } },
    default: 'test:m',
    models: { 'test:m': { structuredOutput: mode } },
  })
  return { name: 'assistant', model: 'test:m' as const, models, ...(own && { output }), tools: [look] }
}

async function send(runtime: Runtime, options: SendOptions = {}) {
  return (await runtime.session('room:1').send('go', { id: 'first', ...options })).result()
}

const hasOutput: Invariant = {
  name: 'the output is there, and no attempt was stored twice',
  check({ sessions: [session], world }) {
    const answers = session?.messages.filter(({ role }) => role === 'assistant').length
    const is = JSON.stringify([answers, world.notes.get('output')])
    return is === JSON.stringify([3, good]) ? [] : [is]
  },
}

describe.each(modes)('an output that is asked for by %s', (mode) => {
  it('A191: after any crash it is the result, and no stored attempt is repeated', async () => {
    const scenario: CrashScenario = {
      agents: () => [agentOf(mode)],
      drive: async (runtime, world) => void world.notes.set('output', (await send(runtime)).output),
      invariants: [...standardInvariants, hasOutput],
    }
    const report = await exploreCrashes(scenario)
    expect(report.failures).toEqual([])
  })

  it('A191: after any crash a run resumes with the schema of its input', async () => {
    const report = await exploreCrashes({
      agents: () => [agentOf(mode, false)],
      drive: async (runtime, world) => void world.notes.set('output', (await send(runtime, { output })).output),
      invariants: [...standardInvariants, hasOutput],
    })
    expect(report.failures).toEqual([])
  })

  it('A191: it is the result in another process too', async () => {
    const store = memoryStore()
    const runtime = createRuntime({ agents: [defineAgent(agentOf(mode))], store })
    expect(await send(runtime)).toMatchObject({ status: 'completed', output: good, text: JSON.stringify(good) })
    const other = createRuntime({ agents: [defineAgent(agentOf(mode))], store })
    expect(await send(other)).toMatchObject({ status: 'completed', output: good })
    await Promise.all([runtime.stop(), other.stop()])
  })
})

describe('an output schema of one input', () => {
  const start = () => {
    const model = scriptedModel(({ tools = [] }: LanguageModelV4CallOptions) =>
      tools.some(({ name }) => name === 'final_output') ? says('tool', good) : { text: 'Words.' },
    )
    return createRuntime({ agents: [defineAgent({ name: 'assistant', model })], store: memoryStore() })
  }

  it('A191: applies to its run alone, even if its input comes while another run is open', async () => {
    const runtime = start()
    const session = runtime.session('room:1')
    const first = await session.send('words')
    const second = await session.send('object', { output, onBusy: 'steer' })
    expect(await first.result()).toMatchObject({ text: 'Words.' })
    expect(second.runId).not.toBe(first.runId)
    expect(await second.result()).toMatchObject({ status: 'completed', output: good, text: JSON.stringify(good) })
    const third = await (await session.send('words again')).result()
    expect(third).toMatchObject({ status: 'completed', text: 'Words.' })
    expect(third).not.toHaveProperty('output')
    await runtime.stop()
  })

  it('A191: is part of the content that the id of the input names', async () => {
    const runtime = start()
    const session = runtime.session('room:1')
    const first = await session.send('go', { id: 'one', output })
    expect((await session.send('go', { id: 'one', output: { ...output } })).runId).toBe(first.runId)
    await expect(session.send('go', { id: 'one' })).rejects.toMatchObject({ code: 'id-reused' })
    await first.result()
    await runtime.stop()
  })

  it.each([
    ['a text', 'schema', 'output'],
    ['a schema that is code', { '~standard': { validate: () => ({ value: 1 }) } }, 'output'],
    ['what is no JSON', { type: 'object', default: 1n }, 'output.default'],
    ['a schema of a list', { type: 'array' }, 'output.type'],
    ['a schema without a type', {}, 'output.type'],
  ])('A191: %s is refused by its path, and nothing is stored', async (_name, given, path) => {
    const runtime = start()
    await expect(runtime.session('room:1').send('go', { output: given as never })).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining(path) as string,
    })
    expect(await runtime.session('room:1').info()).toBeNull()
    await runtime.stop()
  })
})
