import {
  defineAgent,
  defineExtension,
  defineGuardrail,
  defineTool,
  type Agent,
  type AgentInput,
  type Extension,
  type Guardrail,
  type Hooks,
  type Limits,
  type Reconciled,
  type RunOptions,
  type Tool,
  type ToolContext,
} from '@bowline/agent-loop'
import { createModels, type Clock } from '@bowline/llm'
import { createOrchestration } from '../../../src/orchestration/manager.ts'
import type { ConditionContext } from '../../../src/orchestration/types.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import type { RequestRecorder } from '../../../src/requests/types.ts'
import type { World } from '../../../../testing/src/crash-kit/types.ts'
import { planModel, type ModelWorld } from './plan-model.ts'
import type { HookPlan, Setup } from './program.ts'

/** Name of the step that is active while the user message of the turn is unknown. */
export const unheardStep = 'unheard'

export interface CastOptions {
  readonly setup: Setup
  /** Version of the agents: 0 to 2. */
  readonly definition: number
  readonly world: World
  readonly models: ModelWorld
  readonly clock: Clock
  readonly store: SessionStore
  readonly random: () => number
  /** Request recorder of this process. Absent: the program does not record. */
  readonly requests?: RequestRecorder | undefined
  /** Number of calls of each hook, in all processes. */
  readonly hookCalls: Map<HookPlan, number>
}

const inputSchema = { type: 'object', properties: { ms: { type: 'number' }, throws: { type: 'boolean' } } } as const
const price = { input: '1', output: '2' } as const
const soonMs = 5_000
const answerMs = 7_000

/** Creates the agents of one process of a program: a root agent, its subagent, and a subagent of that. All have the same tools. */
export function castOf(options: CastOptions): readonly Agent[] {
  const helper = castAgent(options, 'helper', undefined)
  const worker = castAgent(options, 'worker', helper)
  const lead = castAgent(options, 'lead', worker)
  const { random } = options
  return [{ ...lead, run: (input: AgentInput | undefined, given?: RunOptions) => lead.run(input, { ...given, random }) }]
}

function castAgent(options: CastOptions, name: string, subagent: Agent | undefined): Agent {
  const { setup, definition, models, clock } = options
  const { modelMs = 0, maxCost, compaction, guardrail, onUnknownOutcome, onFailedTurn } = setup
  const model = planModel({ world: models, clock, delayMs: modelMs, overflows: compaction === 'in-turn', subagent: subagent?.name })
  return defineAgent({
    name,
    description: `The agent ${name}.`,
    instructions: `You are ${name}, version ${definition === 0 ? 1 : 2}.`,
    model: 'plan:model',
    models: createModels({
      providers: { plan: { languageModel: () => model } },
      models: { 'plan:model': { maxOutputTokens: 20, ...(maxCost !== undefined && { price }) } },
    }),
    tools: toolsOf(options.world, definition),
    subagents: subagent ? [subagent] : [],
    extensions: extensionsOf(options),
    guardrails: guardrail ? [guardrailOf(guardrail, options.world)] : [],
    retry: { maxRetries: 2, baseDelayMs: 1_000, jitter: 0 },
    abortGraceMs: 500,
    ...(onUnknownOutcome && { onUnknownOutcome }),
    ...(onFailedTurn && { onFailedTurn }),
    limits: limitsOf(setup),
    compaction: compaction ? { keepRecentTokens: 1, minShrink: 0 } : false,
  })
}

function limitsOf({ maxSteps, maxTokens, maxCost, maxMs, asksForMore }: Setup): Partial<Limits> {
  return {
    ...(asksForMore && { onBudget: 'ask' }),
    ...(maxSteps !== undefined && { maxSteps }),
    ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
    ...(maxCost !== undefined && { maxCost }),
    ...(maxMs !== undefined && { maxDurationMs: maxMs }),
  }
}

/** Returns the tools. The second version lacks a tool. The third lacks it too, and has another schema for a tool that may be waiting. */
function toolsOf(world: World, definition: number): readonly Tool[] {
  const run = (name: string, effect: 'once' | 'idempotent' | 'pure', more: object = {}): Tool =>
    defineTool({ name, description: `The tool ${name}.`, inputSchema, effect, execute: (input, call) => act(world, input, call), ...more })
  const remote = (name: string, timeoutMs: number | null): Tool =>
    defineTool({ name, description: `The tool ${name}.`, inputSchema, timeoutMs })
  const all = [
    run('pay', 'once'),
    run('bill', 'once', {
      reconcile: async (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => reconciled(world, idempotencyKey),
    }),
    run('index', 'idempotent'),
    run('look', 'pure', { execute: (input: object) => wait(world, input, 'look') }),
    run('ask', 'once', { needsApproval: true }),
    run('askSoon', 'once', { needsApproval: true, approvalTimeoutMs: soonMs }),
    remote('place', null),
    remote('placeSoon', answerMs),
  ]
  return definition === 2 ? all.filter(({ name }) => name !== 'index' && name !== 'ask') : all
}

function reconciled(world: World, key: string): Reconciled {
  return world.happened(key) ? { happened: true, result: 'is done' } : { happened: false }
}

async function act(world: World, input: object, call: ToolContext): Promise<string> {
  await world.effect(call)
  return wait(world, input, call.toolName)
}

async function wait(world: World, input: object, name: string): Promise<string> {
  const { ms, throws } = input as { readonly ms?: number; readonly throws?: boolean }
  if (ms !== undefined) await world.sleep(ms)
  if (throws) throw new Error(`${name} fails`)
  return 'is done'
}

function extensionsOf({ setup, requests, store, clock, random, world, hookCalls }: CastOptions): readonly Extension[] {
  const { hooks = [], orchestration, compaction } = setup
  const steps = [
    { name: unheardStep, conditions: [{ type: 'predicate' as const, name: 'unheard' }], tools: { deny: ['*'] } },
    { name: 'open', isDefault: true },
    { name: 'paid', conditions: [{ type: 'tool_used' as const, value: 'pay' }], tools: { deny: ['pay'] } },
  ]
  const predicates = { unheard: ({ message }: ConditionContext) => message === undefined }
  return [
    ...hooks.map((plan, index) => hookExtension(plan, index, world, hookCalls)),
    ...(requests ? [requests.extension] : []),
    ...(orchestration
      ? [createOrchestration({ store, clock, random, config: { steps }, predicates, onDiagnostic: () => undefined }).extension()]
      : []),
    ...(compaction === 'after-turn'
      ? [defineExtension({ name: 'compacts', hooks: { onStepEnd: (_event, context) => context.compactAfterTurn() } })]
      : []),
  ]
}

function hookExtension(plan: HookPlan, index: number, world: World, calls: Map<HookPlan, number>): Extension {
  const { hook, does, onError, times = Infinity } = plan
  const disturb = async (): Promise<undefined> => {
    const count = (calls.get(plan) ?? 0) + 1
    calls.set(plan, count)
    if (count > times) return undefined
    if (does === 'throw') throw new Error(`${hook} fails`)
    await world.sleep(does)
    return undefined
  }
  const hooks: Hooks = { [hook]: disturb }
  return defineExtension({ name: `hook-${index}`, hooks, timeoutMs: 60_000, ...(onError && { onError }) })
}

function guardrailOf(kind: NonNullable<Setup['guardrail']>, world: World): Guardrail {
  return defineGuardrail({
    name: 'watch',
    async beforeCall({ toolName }) {
      if (toolName !== 'look') return undefined
      if (kind === 'throw') throw new Error('the guardrail fails')
      if (kind === 'wait') await world.sleep(2_000)
      return kind === 'block' || kind === 'halt' ? { action: kind, reason: 'not this one' } : undefined
    },
  })
}
