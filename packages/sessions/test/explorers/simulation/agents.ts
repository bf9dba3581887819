import { defineAgent, defineTool, type Agent, type AgentInput, type RunOptions, type Tool, type ToolContext } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { World } from '../../../../testing/src/crash-kit/types.ts'
import { planModel, type ModelWorld } from '../programs/plan-model.ts'

export interface AgentParts {
  readonly world: World
  readonly models: ModelWorld
  readonly modelMs: number
  readonly deltaMs: number | undefined
  readonly clock: Clock
  readonly random: () => number
}

const inputSchema = { type: 'object', properties: { ms: { type: 'number' } } } as const

/** Creates the agents of one process: a root agent and its subagent. They follow the plans in their inputs, in any process. */
export function agentsOf(parts: AgentParts): readonly Agent[] {
  const worker = agentOf(parts, 'worker', undefined)
  const lead = agentOf(parts, 'lead', worker)
  const { random } = parts
  return [{ ...lead, run: (input: AgentInput | undefined, given?: RunOptions) => lead.run(input, { ...given, random }) }]
}

function agentOf({ world, models, modelMs, deltaMs, clock }: AgentParts, name: string, subagent: Agent | undefined): Agent {
  return defineAgent({
    name,
    description: `The agent ${name}.`,
    model: planModel({
      world: models,
      clock,
      delayMs: modelMs,
      ...(deltaMs !== undefined && { deltaMs }),
      overflows: false,
      subagent: subagent?.name,
    }),
    tools: [toolOf(world, 'pay', 'once'), toolOf(world, 'index', 'idempotent'), toolOf(world, 'look', 'pure')],
    subagents: subagent ? [subagent] : [],
    retry: { maxRetries: 2, baseDelayMs: 1_000, jitter: 0 },
    abortGraceMs: 500,
    onUnknownOutcome: 'tell-model',
    compaction: false,
  })
}

function toolOf(world: World, name: string, effect: 'once' | 'idempotent' | 'pure'): Tool {
  return defineTool({
    name,
    description: `The tool ${name}.`,
    inputSchema,
    effect,
    async execute({ ms }: { readonly ms?: number }, call: ToolContext) {
      if (effect !== 'pure') await world.effect(call)
      if (ms !== undefined) await world.sleep(ms)
      return 'is done'
    },
  })
}
