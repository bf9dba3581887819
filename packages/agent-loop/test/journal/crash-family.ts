import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { ScriptedModel, Step } from '@bowline/llm/testing'
import { defineAgent, defineExtension, defineGuardrail, defineTool, loopGuard } from '../../src/index.ts'
import type { Agent, OnUnknownOutcome, Tool, ToolContext } from '../../src/index.ts'
import { refusal } from '../support/waiting.ts'
import type { CrashWorld } from './crash-world.ts'

/** Inputs that arrive during the conversation. */
export const inputs = {
  first: 'input of turn 1',
  second: 'input of turn 2',
  steeredByHand: 'steered by hand',
  steeredByTool: 'steered by a tool',
  overlayOfRun: 'overlay of the run',
} as const

const call = (id: string, name: string) => ({ id, name, input: { id } })
const handOver = (id: string, subagent: string) => ({ id, name: `delegate_to_${subagent}`, input: { prompt: `do ${id}` } })
const used = (input: number) => ({ input, output: 5 })
const longText = 'word '.repeat(300)

/** The answers of the root, by the number of answers in the journal. The last one of each turn calls nothing. */
const rootSteps: readonly Step[] = [
  { text: 'answer 0', toolCalls: [call('p0', 'pay'), call('s0', 'sure'), call('l0', 'look')], usage: used(100) },
  { text: 'answer 1', toolCalls: [handOver('d1', 'helper'), call('g1', 'guarded'), call('f1', 'far')], usage: used(200) },
  { text: 'answer 2', toolCalls: [call('n2', 'nudge'), call('w2', 'warned')], usage: used(5_790) },
  { text: `answer 3 ${longText}`, usage: used(700) },
  { text: 'answer 4', usage: used(900) },
  { text: 'answer 5', toolCalls: [call('a5', 'alone'), call('s5', 'sure'), call('b5', 'bad')], usage: used(300) },
  { text: 'answer 6', usage: used(5_750) },
]

const helperSteps: readonly Step[] = [
  { text: 'helps', toolCalls: [handOver('i', 'inner'), call('hp', 'pay')], usage: used(40) },
  { toolCalls: [call('hg', 'guarded'), call('hf', 'far')], usage: used(50) },
  { text: 'helper is done', usage: used(60) },
]

const innerSteps: readonly Step[] = [
  { toolCalls: [call('ip', 'pay'), call('is', 'sure'), call('if', 'far')], usage: used(20) },
  { text: 'inner is done', usage: used(30) },
]

/** Creates the agent of a new process, with subagents. For the same journal its models and tools act the same again. */
export function crashFamily(world: CrashWorld, onUnknownOutcome: OnUnknownOutcome): Agent {
  const tools = toolsOf(world)
  const shared = { onUnknownOutcome, tools, guardrails: [countsNothing] }
  const inner = defineAgent({ ...shared, name: 'inner', description: 'is deep', model: childModel(world, 'inner', innerSteps) })
  const helper = defineAgent({
    ...shared,
    name: 'helper',
    description: 'helps',
    subagents: [inner],
    model: childModel(world, 'helper', helperSteps),
  })
  const [main, second] = [rootModel(world, 'main'), rootModel(world, 'second')]
  const window = { contextWindow: 6_000 }
  return defineAgent({
    ...shared,
    name: 'root',
    subagents: [helper],
    model: 'test:main',
    fallback: ['test:second'],
    models: createModels({
      providers: { test: { languageModel: (id) => (id === 'main' ? main : second) } },
      models: { 'test:main': window, 'test:second': window },
    }),
    retry: { maxRetries: 1, baseDelayMs: 1_000, jitter: 0 },
    compaction: { reserveTokens: 300, keepRecentTokens: 1 },
    runtimeParams: { maxTokens: 200 },
    ephemeral: () => [{ role: 'user', content: 'it is late' }],
    // It is called between the last answer of a turn and the commit of its end.
    stopWhen: () => false,
    extensions: [counter()],
    guardrails: [countsNothing, warns],
  })
}

/** The counters of the built-in guard do not outlive a process, so its warnings would differ. */
const countsNothing = loopGuard({ sameFailure: false, sameTool: false, sameResult: false, blocked: false })

const warns = defineGuardrail({
  name: 'warns',
  beforeCall: ({ toolName }) => (toolName === 'warned' ? { action: 'warn', reason: 'mind the step' } : undefined),
})

/** Numbers the calls of a turn in its state, and writes the number into each result. */
function counter() {
  return defineExtension({
    name: 'counter',
    hooks: {
      onToolCall: ({ call: { toolCallId } }, { state }) => void (state[toolCallId] ??= Object.keys(state).length + 1),
      onToolResult: ({ call: { toolCallId, toolName }, result: { output } }, { state }) =>
        toolName === 'look' || toolName === 'alone' || toolName === 'warned'
          ? { output: `${output.type === 'text' ? output.value : output.type} as call ${JSON.stringify(state[toolCallId])}` }
          : undefined,
    },
  })
}

function toolsOf(world: CrashWorld): readonly Tool[] {
  const made = <Name extends string>(name: Name) => ({ name, description: name, inputSchema: {} })
  const execute = (_input: unknown, context: ToolContext): Promise<string> => Promise.resolve(world.ran(context))
  return [
    defineTool({ ...made('look'), effect: 'pure', execute }),
    defineTool({ ...made('pay'), execute }),
    defineTool({
      ...made('sure'),
      execute,
      reconcile: (_input, { toolCallId }) =>
        Promise.resolve(world.effects.has(toolCallId) ? { happened: true, result: `${toolCallId} ran` } : { happened: false }),
    }),
    defineTool(made('far')),
    defineTool({ ...made('guarded'), effect: 'idempotent', needsApproval: true, execute }),
    defineTool({
      ...made('nudge'),
      effect: 'idempotent',
      execute: async (_input, context) => {
        await context.steer(inputs.steeredByTool)
        return world.ran(context)
      },
    }),
    defineTool({ ...made('warned'), effect: 'pure', execute }),
    defineTool({ ...made('alone'), effect: 'idempotent', sequential: true, execute }),
    defineTool({ ...made('bad'), effect: 'pure', execute: (_input, context) => Promise.reject(new Error(world.ran(context))) }),
  ]
}

/** Fails once at the first answer, reports the first answer of turn 2 as too long, and always fails at the answer after that. */
function rootModel(world: CrashWorld, modelId: string): ScriptedModel {
  return scriptedModel(
    ({ prompt }) => {
      world.beat()
      const request = JSON.stringify(prompt)
      if (request.includes('You write the summary')) return { text: 'a short summary', usage: used(10) }
      const place = world.answers
      const failed = world.failures.get(`${modelId} ${place}`) ?? 0
      world.failures.set(`${modelId} ${place}`, failed + 1)
      if (place === 0 && failed === 0) return { error: refusal(503) }
      if (place === 5 && request.includes('answer 3'))
        return { error: refusal(400, { message: 'prompt is too long: 20000 tokens > 10000 maximum' }) }
      if (place === 6 && modelId === 'main') return { error: refusal(503) }
      world.requests.set(`root ${place}`, plainRequest(prompt))
      return rootSteps[place] ?? { text: `no more ${place}` }
    },
    { modelId, clock: world.clock.world },
  )
}

function childModel(world: CrashWorld, name: string, steps: readonly Step[]): ScriptedModel {
  return scriptedModel(
    ({ prompt }) => {
      world.beat()
      const place = prompt.filter(({ role }) => role === 'assistant').length
      world.requests.set(`${name} ${place}`, plainRequest(prompt))
      return steps[place] ?? { text: `no more ${place}` }
    },
    { modelId: name, clock: world.clock.world },
  )
}

/** Returns a request without what a crash may change: whether a `once` call is known to have taken effect. */
function plainRequest(prompt: unknown): string {
  return JSON.stringify(prompt, (_key, value: unknown) => {
    const isUnsure = typeof value === 'object' && value !== null && 'toolName' in value && value.toolName === 'pay' && 'output' in value
    return isUnsure ? { ...value, output: 'as it is known' } : value
  })
}
