import { defineTool, type AgentOptions, type Reconciled, type Tool, type ToolEffect } from '@bowline/agent-loop'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import type { Runtime } from '../../runtime/types.ts'
import type { RunHandle } from '../../session/types.ts'
import type { CrashScenario, World } from './types.ts'

const key = 'room:1'
const inputSchema = { type: 'object', properties: {}, additionalProperties: false } as const
const done: Step = { text: 'all is done' }
const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema })

/** For stores and runtimes of your own: what they must come through. */
export const crashScenarios = {
  /** An input and its answer. */
  text: {
    agents: () => [assistant([], [done])],
    drive: driveToEnd,
  },
  /** A call that must not happen twice beside one that may, under its key. */
  tools: {
    agents: (world) => [assistant([effectTool(world, 'pay', 'once'), effectTool(world, 'index', 'idempotent')], [calling('pay', 'index'), done])],
    drive: driveToEnd,
  },
  /** A call that must not happen twice, of which its service can tell whether it happened. */
  reconcile: {
    agents: (world) => [assistant([reconcilable(world)], [calling('pay'), done])],
    drive: driveToEnd,
  },
  /** One call that is approved, one that is denied. */
  approval: {
    agents: (world) => [assistant([asking(world, 'pay'), asking(world, 'drop')], [calling('pay', 'drop'), done])],
    drive: driveToEnd,
  },
  /** A call that is answered from outside. */
  remote: {
    agents: () => [assistant([place], [calling('place'), done])],
    drive: driveToEnd,
  },
  /** A run that is stopped while its call is under way. */
  stop: {
    agents: (world) => [assistant([endless(world)], [calling('watch')])],
    drive: driveToStop,
  },
} as const satisfies Readonly<Record<string, CrashScenario>>

/** A model that answers with its n-th step after n steps with calls, in whatever process. */
function assistant(tools: readonly Tool[], steps: readonly Step[]): AgentOptions {
  const model = scriptedModel(({ prompt }) => steps[prompt.filter((message) => message.role === 'tool').length] ?? {})
  return { name: 'assistant', model, tools }
}

function calling(...names: readonly string[]): Step {
  return { toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) }
}

function effectTool(world: World, name: string, effect: ToolEffect, needsApproval = false): Tool {
  return defineTool({
    ...{ name, effect, needsApproval, inputSchema, description: `Does ${name}.` },
    async execute(_input, call) {
      await world.effect(call)
      return `${name} is done`
    },
  })
}

function reconcilable(world: World): Tool {
  return defineTool({
    ...{ name: 'pay', effect: 'once', inputSchema, description: 'Pays.' },
    async execute(_input, call) {
      await world.effect(call)
      return 'paid'
    },
    reconcile: async (_input, { idempotencyKey }): Promise<Reconciled> =>
      world.happened(idempotencyKey) ? { happened: true, result: 'paid' } : { happened: false },
  })
}

function asking(world: World, name: string): Tool {
  return effectTool(world, name, 'once', true)
}

function endless(world: World): Tool {
  return defineTool({
    ...{ name: 'watch', effect: 'once', inputSchema, description: 'Watches until it is stopped.' },
    async execute(_input, call) {
      await world.effect(call)
      await new Promise((resolve) => call.abortSignal.addEventListener('abort', resolve))
      return 'was stopped'
    },
  })
}

/** Sends, and answers whatever the run waits for, until it has ended. */
async function driveToEnd(runtime: Runtime): Promise<void> {
  const run = await runtime.session(key).send('go', { id: 'first' })
  while (await answer(run));
}

/** False: nothing is asked. */
async function answer(run: RunHandle): Promise<boolean> {
  const { session } = run
  const { pendingToolCalls, pendingApprovals } = await run.result()
  for (const { approvalId, toolName } of pendingApprovals) {
    if (toolName === 'drop') await session.deny(approvalId, { reason: 'not today' })
    else await session.approve(approvalId, { by: 'ann' })
  }
  for (const { toolCallId, unknown } of pendingToolCalls) {
    if (unknown) await session.resolveTool(toolCallId, { unknown: true })
    else await session.submitToolResults([{ toolCallId, output: 'Oslo' }])
  }
  return pendingToolCalls.length + pendingApprovals.length > 0
}

/** Sends, and stops as soon as the call has begun. */
async function driveToStop(runtime: Runtime): Promise<void> {
  const session = runtime.session(key)
  const run = await session.send('go', { id: 'first' })
  for await (const event of run) if (event.type === 'tool-execution-start') break
  while ((await session.stop()).state === 'pending');
}
