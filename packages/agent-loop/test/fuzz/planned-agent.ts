import { createModels } from '@bowline/llm'
import type { Agent, AgentOptions } from '../../src/index.ts'
import { plannedModel } from './answers.ts'
import { functionStandsStill, plannedFunction } from './functions.ts'
import { plannedExtension, plannedGuardrail } from './hooks.ts'
import type { AgentPlan } from './scenarios.ts'
import { plannedTools } from './tools.ts'
import type { World } from './world.ts'

const never = (): Promise<never> => new Promise(() => {})
const broken = (): never => {
  throw new Error('the function broke')
}

/** Creates the agent of a scenario, with a subagent. */
export function plannedAgent(world: World, plan: AgentPlan): Agent {
  const { defineAgent } = world.loop
  const main = plannedModel(world, plan.answers, { summaries: plan.summaries, modelId: 'main' })
  const other = plan.fallback && plannedModel(world, plan.fallback, { modelId: 'other' })
  const models = createModels({
    providers: { test: { languageModel: () => main } },
    models: { 'test:main': { contextWindow: plan.compacts ? 1_500 : 100_000, ...(plan.price && { price: plan.price }) } },
  })
  const { limits, retries, rewind, onFailedTurn, onUnknownOutcome, steering, abortGraceMs, toolConcurrency } = plan
  const tools = plannedTools(world)
  const { functions } = plan
  const child = functions ? plannedFunction(world, functions.child, 'child') : plannedModel(world, plan.child, { modelId: 'child' })
  const helper = defineAgent({
    name: 'helper',
    description: 'helps',
    model: child,
    tools,
    runtimeParams: { maxTokens: 200 },
    retry: { maxRetries: 1, baseDelayMs: 10, jitter: 0 },
    limits: { maxSteps: 3 },
    abortGraceMs: 100,
    onUnknownOutcome,
  })
  return defineAgent({
    name: 'planned',
    model: functions ? plannedFunction(world, functions.main, 'main') : 'test:main',
    models,
    tools,
    subagents: [helper],
    limits,
    onFailedTurn,
    onUnknownOutcome,
    steering,
    abortGraceMs,
    toolConcurrency,
    ...(other && { fallback: [other] }),
    retry: { maxRetries: retries, baseDelayMs: 10, jitter: 0, rewind },
    compaction: plan.compacts && { reserveTokens: 300, keepRecentTokens: 5 },
    runtimeParams: { maxTokens: 200 },
    extensions: plan.extensions.map((extension, place) => plannedExtension(world, extension, `extension-${place}`)),
    ...(plan.guardrail && { guardrails: [plannedGuardrail(world, plan.guardrail)] }),
    ...functionsOf(world, plan),
  })
}

function functionsOf(world: World, plan: AgentPlan): Partial<AgentOptions> {
  const { prepareStep, stopWhen, ephemeral, instructions } = plan
  const patches = { few: { activeTools: ['pure', 'once', 'far'] }, wrong: { dance: true } as never, look: undefined }
  return {
    instructions:
      instructions === 'text'
        ? 'be brief'
        : { throw: broken, hang: never, slow: () => world.sleep(10).then(() => 'be slow') }[instructions],
    ...(prepareStep !== 'none' && {
      prepareStep: prepareStep === 'throw' ? broken : prepareStep === 'hang' ? never : () => patches[prepareStep],
    }),
    ...(stopWhen !== 'none' && {
      stopWhen: { throw: broken, hang: never, never: () => false, second: ({ step }: { step: number }) => step >= 2 }[stopWhen],
    }),
    ...(ephemeral !== 'none' && {
      ephemeral: { throw: broken, hang: never, one: () => [{ role: 'user' as const, content: 'it is late' }] }[ephemeral],
    }),
  }
}

/** Returns whether a part of it may wait for something outside without a limit. */
export function mayStandStill({ prepareStep, stopWhen, answers, child, functions }: AgentPlan): boolean {
  const isDeaf = [...answers, ...child].some(({ calls }) => calls.some(({ tool, act }) => tool === 'wary' && act === 'deaf'))
  const asked = [...(functions?.main ?? []), ...(functions?.child ?? [])]
  const isSilent = asked.some(
    (plan) =>
      functionStandsStill(plan) || plan.answers.some(({ calls }) => calls.some(({ tool, act }) => tool === 'wary' && act === 'deaf')),
  )
  return prepareStep === 'hang' || stopWhen === 'hang' || isDeaf || isSilent
}
