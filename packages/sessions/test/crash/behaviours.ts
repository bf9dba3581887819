import { defineExtension, defineTool, type AgentOptions, type Hooks, type Tool, type ToolEffect } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel, type ScriptedModel, type Step } from '@bowline/llm/testing'
import type { Runtime } from '@bowline/sessions'
import type { CrashScenario, World } from '@bowline/testing/crashes'

const inputSchema = { type: 'object', properties: {} } as const
const done: Step = { text: 'all is done' }

function calls(...names: readonly string[]): Step {
  return { toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) }
}

/** Creates a model that answers with its n-th step after n tool results. */
function stepwise(...steps: readonly Step[]): ScriptedModel {
  return scriptedModel(({ prompt }) => steps[prompt.filter((message) => message.role === 'tool').length] ?? done)
}

function tool(world: World, name: string, effect: ToolEffect, afterMs: number, rest: { readonly sequential?: true } = {}): Tool {
  return defineTool({
    name,
    effect,
    inputSchema,
    description: `The tool ${name}.`,
    ...rest,
    async execute(_input, call) {
      await world.sleep(afterMs)
      await world.effect(call)
      return `${name} is done`
    },
  })
}

function watched(hooks: Hooks): Pick<AgentOptions, 'extensions'> {
  return { extensions: [defineExtension({ name: 'watch', hooks })] }
}

/** Sends all texts, and answers the calls that wait. */
function sending(...texts: readonly string[]): CrashScenario['drive'] {
  return async (runtime) => {
    const session = runtime.session('room:1')
    const runs = []
    for (const [index, text] of texts.entries()) runs.push(await session.send(text, { id: `input-${index}` }))
    for (const run of runs) {
      for (let result = await run.result(); result.pendingToolCalls.length > 0; result = await run.result()) {
        for (const { toolCallId, unknown } of result.pendingToolCalls) {
          if (unknown) await session.resolveTool(toolCallId, { unknown: true })
          else await session.submitToolResults([{ toolCallId, output: 'Oslo' }])
        }
      }
    }
  }
}

async function stopAll(runtime: Runtime): Promise<void> {
  const session = runtime.session('room:1')
  const run = await session.send('one', { id: 'input-1' })
  await session.send('two', { id: 'input-2' })
  await run.result()
  while ((await session.stop({ scope: 'all' })).state === 'pending');
}

const failure = Object.assign(new Error('overloaded'), { statusCode: 503 })

/** More behaviours of runs, each with something that a crash could break. */
export const behaviours: Readonly<Record<string, CrashScenario>> = {
  'three inputs, queued': {
    agents: (world) => {
      const model = scriptedModel(({ prompt }) =>
        prompt.some((message) => message.role !== 'user' && message.role !== 'system') ? done : calls('pay'),
      )
      return [{ name: 'assistant', tools: [tool(world, 'pay', 'once', 0)], model }]
    },
    drive: sending('one', 'two', 'three'),
  },
  'calls that end one after the other, and one that waits for them': {
    agents: (world) => {
      const tools = [
        tool(world, 'pay', 'once', 1_000),
        tool(world, 'index', 'idempotent', 13_000),
        tool(world, 'last', 'once', 0, { sequential: true }),
      ]
      return [{ name: 'assistant', tools, model: stepwise(calls('pay', 'index', 'last')) }]
    },
    drive: sending('go'),
  },
  'a model that is told what nobody knows': {
    agents: (world) => [
      { name: 'assistant', tools: [tool(world, 'pay', 'once', 0)], model: stepwise(calls('pay')), onUnknownOutcome: 'tell-model' },
    ],
    drive: sending('go'),
  },
  'a model that fails twice': {
    agents: () => [{ name: 'assistant', model: scriptedModel((_call, index) => (index < 2 ? { error: failure } : done)) }],
    drive: sending('go'),
  },
  'a turn that is taken back': {
    agents: (world) => {
      const model = scriptedModel(({ prompt }) =>
        prompt.some((message) => message.role === 'tool') ? { error: new Error('bad request') } : calls('look'),
      )
      return [{ name: 'assistant', tools: [tool(world, 'look', 'pure', 0)], model, retry: false, onFailedTurn: 'rewind' }]
    },
    drive: sending('one', 'two'),
  },
  'hooks before and behind a turn that waits': {
    agents: () => {
      const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema })
      const hooks = watched({
        onInput: () => undefined,
        beforeAgentStart: () => ({ append: ['and be kind'] }),
        onAgentEnd: (_event, { logStep }) => logStep({ name: 'noted', because: 'the turn has ended', sequenceIndex: 0 }),
      })
      return [{ name: 'assistant', tools: [place], model: stepwise(calls('place')), ...hooks }]
    },
    drive: sending('one'),
  },
  'a turn that asks for another': {
    agents: ({ notes }) => {
      const onAgentEnd: Hooks['onAgentEnd'] = async (_event, { followUp }) => {
        if (notes.has('asked')) return
        notes.set('asked', true)
        await followUp('and then?')
      }
      return [{ name: 'assistant', model: scriptedModel(() => done), ...watched({ onAgentEnd }) }]
    },
    drive: sending('go'),
  },
  'a compaction between two turns': {
    agents: () => {
      const model = scriptedModel(({ prompt }) => ({
        text: JSON.stringify(prompt).includes('FIRST') ? 'a'.repeat(400) : 'SUMMARY',
        usage: { input: 9_100, output: 1 },
      }))
      const models = createModels({
        providers: { test: { languageModel: () => model } },
        models: { 'test:small': { contextWindow: 10_000 } },
      })
      const compaction = { reserveTokens: 1_000, keepRecentTokens: 50 }
      return [{ name: 'assistant', model: 'test:small', models, compaction, runtimeParams: { maxTokens: 500 } }]
    },
    drive: sending(`FIRST ${'x'.repeat(400)}`, 'second'),
  },
  'a stop of everything': {
    agents: (world) => {
      const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema })
      return [{ name: 'assistant', tools: [tool(world, 'pay', 'once', 1_000), place], model: stepwise(calls('pay', 'place')) }]
    },
    drive: stopAll,
  },
}
