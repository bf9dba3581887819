import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { ScriptedModel, Step } from '@bowline/llm/testing'
import { defineAgent, defineExtension, defineTool, loopGuard } from '../../src/index.ts'
import type { Agent, Extension, Hooks, Tool, ToolContext } from '../../src/index.ts'
import { refusal } from '../support/waiting.ts'
import type { CrashPlan, CrashStep, CrashTool } from './crash-plan.ts'
import type { Store } from './tested-journal.ts'
import type { World } from './world.ts'

/** By call: the number of its runs, with their keys and attempts. */
export type Executions = Map<string, { readonly toolName: string; readonly keys: Set<string>; attempts: number[] }>

/** The counters of the built-in guard do not outlive a process, so its warnings would differ. */
const countsNothing = loopGuard({ sameFailure: false, sameTool: false, sameResult: false, blocked: false })

/** Creates an agent whose model and tools act the same when they are asked again. */
export function crashAgent(world: World, store: Store, plan: CrashPlan, executions: Executions): Agent {
  const model = modelOf(world, store, plan)
  const models = createModels({
    providers: { test: { languageModel: () => model } },
    models: { 'test:main': { contextWindow: plan.compacts ? 1_500 : 100_000 } },
  })
  const { onUnknownOutcome } = plan
  const tools = crashTools(executions)
  const helper = defineAgent({
    name: 'helper',
    description: 'helps',
    model: childModel(world, plan),
    tools,
    onUnknownOutcome,
    guardrails: [countsNothing],
  })
  return defineAgent({
    name: 'planned',
    model: 'test:main',
    models,
    tools,
    subagents: [helper],
    onUnknownOutcome,
    ...(plan.fallback && {
      fallback: [modelOf(world, store, { ...plan, turns: plan.turns.map((steps) => steps.map((each) => ({ ...each, fails: 0 }))) })],
    }),
    retry: { maxRetries: plan.fallback ? 1 : 2, baseDelayMs: 10, jitter: 0 },
    compaction: plan.compacts && { reserveTokens: 300, keepRecentTokens: 5 },
    runtimeParams: { maxTokens: 200 },
    limits: { onBudget: 'ask', ...(plan.maxTotalTokens !== undefined && { maxTotalTokens: plan.maxTotalTokens }) },
    extensions: [keeper, ...extensionsOf(store, plan)],
    guardrails: [
      countsNothing,
      ...(plan.guards ? [{ name: 'looks', beforeCall: () => undefined, afterCall: () => undefined, onTurnEnd: () => undefined }] : []),
    ],
    ...functionsOf(plan),
  })
}

function functionsOf({ asks }: CrashPlan): Partial<Parameters<typeof defineAgent>[0]> {
  return {
    ...(asks.includes('prepareStep') && { prepareStep: () => Promise.resolve({ runtimeParams: { maxTokens: 300 } }) }),
    ...(asks.includes('stopWhen') && { stopWhen: ({ step }) => step >= 4 }),
    ...(asks.includes('ephemeral') && { ephemeral: () => [{ role: 'user' as const, content: 'it is late' }] }),
    ...(asks.includes('instructions') && { instructions: () => Promise.resolve('be brief') }),
  }
}

/** Answers by the number of answers in the journal, whatever a compaction or a crash has made of the request. */
function modelOf(world: World, store: Store, plan: CrashPlan): ScriptedModel {
  const failures = new Map<number, number>()
  const steps = plan.turns.flat()
  return scriptedModel(
    ({ prompt }) => {
      world.modelCalls++
      world.beat()
      if (JSON.stringify(prompt).includes('You write the summary')) return { text: 'a short summary' }
      const place = store.view().messages.filter(({ role }) => role === 'assistant').length
      const step = steps[place]
      const failed = failures.get(place) ?? 0
      failures.set(place, failed + 1)
      if (step && failed < step.fails) return { error: refusal(503) }
      return step ? answerOf(step, place) : { text: `no more ${place}` }
    },
    { modelId: 'crash', clock: world.clock.world },
  )
}

function answerOf({ text, calls, tokens }: CrashStep, place: number): Step {
  return {
    ...((text || calls.length === 0) && { text: `answer ${place}`, chunk: 4 }),
    toolCalls: calls.map((tool, index) => callOf(tool, `m${place}-${index}`)),
    usage: { input: tokens, output: 5 },
  }
}

function childModel(world: World, { child }: CrashPlan): ScriptedModel {
  return scriptedModel(
    ({ prompt }) => {
      world.beat()
      const task = JSON.stringify(prompt.find(({ role }) => role === 'user')).match(/m\d+-\d+/)?.[0] ?? ''
      const place = prompt.filter(({ role }) => role === 'assistant').length
      const calls = child[place] ?? []
      return calls.length > 0
        ? { toolCalls: calls.map((tool, index) => callOf(tool, `${task}c${place}-${index}`)) }
        : { text: 'the child is done' }
    },
    { modelId: 'child', clock: world.clock.world },
  )
}

function callOf(tool: CrashTool, id: string) {
  return { id, name: tool, input: tool === 'delegate_to_helper' ? { prompt: `do ${id}` } : { id } }
}

function crashTools(executions: Executions): readonly Tool[] {
  const ran = ({ toolCallId, toolName, idempotencyKey, attempt }: ToolContext): string => {
    const { keys = new Set<string>(), attempts = [] } = executions.get(toolCallId) ?? {}
    executions.set(toolCallId, { toolName, keys: keys.add(idempotencyKey), attempts: [...attempts, attempt] })
    return `${toolCallId} ran`
  }
  const named = <Name extends CrashTool>(name: Name) => ({ name, description: name, inputSchema: {} })
  const execute = (_input: unknown, context: ToolContext): Promise<string> => Promise.resolve(ran(context))
  return [
    defineTool({ ...named('pure'), effect: 'pure', execute }),
    defineTool({ ...named('safe'), effect: 'idempotent', execute }),
    defineTool({ ...named('once'), execute }),
    defineTool({
      ...named('sure'),
      execute,
      reconcile: (_input, { toolCallId }) =>
        Promise.resolve(executions.has(toolCallId) ? { happened: true, result: `${toolCallId} ran` } : { happened: false }),
    }),
    defineTool({ ...named('alone'), effect: 'pure', sequential: true, execute }),
    defineTool({ ...named('asked'), effect: 'idempotent', needsApproval: true, execute }),
    defineTool({ ...named('bad'), effect: 'pure', execute: (_input, context) => Promise.reject(new Error(ran(context))) }),
    defineTool({ ...named('quit'), effect: 'pure', execute: (_input, context) => ({ output: ran(context), terminate: true }) }),
    ...[defineTool({ ...named('kept'), execute }), defineTool({ ...named('made-up'), execute }), defineTool(named('far'))],
  ]
}

const keeper = defineExtension({
  name: 'keeper',
  hooks: {
    onToolCall({ call: { toolName } }) {
      if (toolName === 'kept') return { action: 'reject-and-continue', message: 'kept' }
      return toolName === 'made-up' ? { action: 'synthesize', output: 'made up' } : undefined
    },
  },
})

function extensionsOf(store: Store, { hooks, followsUp, turns }: CrashPlan): readonly Extension[] {
  const looks = Object.fromEntries(hooks.map((hook) => [hook, () => Promise.resolve()])) as Hooks
  if (!followsUp) return [defineExtension({ name: 'looks', hooks: looks })]
  // A caller that gives follow-ups repeats them to the next process, until they are in the log.
  const onTurnStart: Hooks['onTurnStart'] = async (_event, { followUp }) => {
    const next = nextInput(store, turns.length)
    if (next !== undefined) await followUp(next)
  }
  return [defineExtension({ name: 'looks', hooks: { ...looks, onTurnStart } })]
}

/** Returns the input that was not given yet. */
export function nextInput(store: Store, turns: number): string | undefined {
  const log = JSON.stringify(store.view().messages)
  const texts = Array.from({ length: turns }, (_, turn) => `turn ${turn}`)
  return texts.find((text) => !log.includes(`"${text}"`))
}
