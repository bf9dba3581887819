import { defineAgent, defineTool, type Agent } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import {
  createOrchestration,
  createRuntime,
  type Orchestration,
  type OrchestrationConfig,
  type OrchestrationState,
  type Runtime,
  type ToolCallRecord,
} from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'
import { dyingWorld, ProcessDied, type DeathPoint, type DyingWorld } from './dying-world.ts'

const key = 'room:1'
const leaseMs = 10_000

/** A plan of two steps. */
const plan: OrchestrationConfig = {
  steps: [
    { name: 'gather', isDefault: true, tools: { deny: ['wipe'] }, sequence: ['pay', 'index'] },
    { name: 'ask', conditions: [{ type: 'sequence_match', value: ['pay', 'index'] }], tools: { allow: ['fail', 'where'] } },
  ],
}

const look: OrchestrationConfig = { steps: [{ name: 'look', isDefault: true, sequence: ['look', 'read'] }] }

/** Its steps depend on the message of the turn, which is 'go', and on the calls before. */
const byMessage: OrchestrationConfig = {
  steps: [
    { name: 'free', isDefault: true, tools: { deny: ['pay'] } },
    {
      name: 'left',
      conditions: [{ type: 'tool_used', value: 'look' }, { not: { type: 'message_contains', value: 'go' } }],
      tools: { deny: ['pay', 'read'] },
    },
    {
      name: 'opened',
      conditions: [
        { type: 'tool_used', value: 'look' },
        { type: 'message_contains', value: 'go' },
      ],
    },
  ],
}

const anything: OrchestrationConfig = { steps: [{ name: 'anything', isDefault: true }] }

interface Scenario {
  readonly config: OrchestrationConfig
  /** Calls of each answer. After the last, the model is done. */
  readonly calls: readonly (readonly string[])[]
  /** Action of the client when a call waits for it. */
  readonly whenAsked: 'answer' | 'stop'
  readonly durability?: 'turn'
}

export const scenarios = {
  /** Two calls side by side; then one for the client, one denied and one that fails; then that one again. */
  whole: { config: plan, calls: [['pay', 'index'], ['where', 'wipe', 'fail'], ['fail']], whenAsked: 'answer' },
  /** No model is called after the last calls. */
  'ends-with-calls': { config: anything, calls: [['pay', 'done']], whenAsked: 'answer' },
  /** In each answer the first call decides whether the second one is allowed. */
  'by-message': {
    config: byMessage,
    calls: [
      ['look', 'pay'],
      ['read', 'pay'],
    ],
    whenAsked: 'answer',
  },
  /** One call settles after another that never does. */
  stopped: { config: anything, calls: [['where', 'pay', 'fail']], whenAsked: 'stop' },
  /** Calls without effects, whose commits may wait. */
  pure: { config: look, calls: [['look'], ['read']], whenAsked: 'answer', durability: 'turn' },
} as const satisfies Readonly<Record<string, Scenario>>

export interface Outcome {
  readonly writes: readonly string[]
  readonly state: OrchestrationState | null
  readonly ledger: readonly ToolCallRecord[]
  readonly runs: readonly string[]
  readonly steps: readonly string[]
  readonly processes: number
}

function agentOf(orchestration: Orchestration, { calls }: Scenario): Agent {
  const tool = (name: string, effect: 'once' | 'idempotent' | 'pure', execute: () => string | { output: string; terminate: true }) =>
    defineTool({ name, description: `The tool ${name}.`, inputSchema: z.object({}), effect, execute })
  const broken = (): never => {
    throw new Error('broken')
  }
  const tools = [
    ...[
      tool('pay', 'once', () => 'paid'),
      tool('index', 'idempotent', () => 'indexed'),
      tool('wipe', 'once', broken),
      tool('fail', 'idempotent', broken),
    ],
    ...[tool('look', 'pure', () => 'seen'), tool('read', 'pure', () => 'read')],
    tool('done', 'once', () => ({ output: 'done', terminate: true })),
    defineTool({ name: 'where', description: 'Where the user is.', inputSchema: z.object({}) }),
  ]
  const model = scriptedModel(({ prompt }) => {
    const step = prompt.filter((message) => message.role === 'tool').length
    const names = calls[step]
    return names ? { toolCalls: names.map((name) => ({ id: `call-${step}-${name}`, name, input: {} })) } : { text: 'all is done' }
  })
  return defineAgent({ name: 'assistant', model, tools, extensions: [orchestration.extension()] })
}

/** Acts as a client that returns after each death: it sends again with the same id, and answers or stops what waits. */
async function drive(runtime: Runtime, { whenAsked }: Scenario): Promise<void> {
  const session = runtime.session(key)
  const run = await session.send('go', { id: 'first' })
  for (;;) {
    const { status, pendingToolCalls } = await run.result()
    if (status !== 'awaiting-tools' && status !== 'needs-recovery') return
    const unknown = pendingToolCalls.filter((call) => call.unknown)
    for (const { toolCallId } of unknown) await session.resolveTool(toolCallId, { result: 'paid' })
    if (unknown.length > 0) continue
    if (whenAsked === 'stop') await session.stop()
    for (const { toolCallId } of pendingToolCalls) {
      if (whenAsked === 'answer') await session.submitToolResults([{ toolCallId, output: 'Oslo' }])
    }
  }
}

/** Runs the scenario to its end. The first processes die at these points, one each. */
export async function runCrash(scenario: Scenario, ...points: readonly DeathPoint[]): Promise<Outcome> {
  const clock = manualClock()
  const ids = fakeIds()
  const memory = memoryStore()
  // Leases are compared by the clock of the first opener of the store.
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  const start = async ({ store, died }: DyingWorld): Promise<Runtime> => {
    const orchestration = createOrchestration({ store, config: scenario.config, clock, ids, environment: {}, random: () => 0 })
    const runtime = createRuntime({
      agents: [agentOf(orchestration, scenario)],
      store,
      clock,
      ids,
      lease: { ttlMs: leaseMs },
      durability: scenario.durability ?? 'boundary',
      onError: () => undefined,
    })
    // A runtime that dies while it takes over a run waits for the clock.
    await Promise.race([runtime.start(), died])
    return runtime
  }
  /** Resolves with true if the process has died. */
  const live = async (world: DyingWorld): Promise<boolean> => {
    const { died } = world
    const runtime = await start(world).catch((error: unknown) => {
      if (!(error instanceof ProcessDied)) throw error
    })
    // Errors that a dying process returns to its client do not count.
    const end = runtime ? await Promise.race([drive(runtime, scenario).catch(async () => died), died]) : 'died'
    await runtime?.stop({ graceMs: 0 }).catch((error: unknown) => {
      if (end !== 'died') throw error
    })
    await clock.advance(leaseMs + 1)
    return end === 'died'
  }
  const worlds = points.map((point) => dyingWorld(memory, point))
  let processes = 1
  for (const world of worlds) if (await live(world)) processes++
  const last = dyingWorld(memory)
  await live(last)
  const runs = (await memory.listRuns(key)).items
  const ledger = (await Promise.all(runs.map((run) => memory.readCalls(run.id)))).flat()
  const log = (await memory.readEvents(key, 0, 1_000)).events
  const outcome = {
    writes: [...last.writes],
    ledger,
    processes,
    runs: runs.map((run) => run.status),
    steps: log.flatMap((event) => (event.type === 'orchestration-step' ? [`${event.name} ${event.sequenceIndex}`] : [])),
    state: await createOrchestration({ store: memory, environment: {} }).getState(key),
  }
  await memory.close()
  return outcome
}
