import { defineTool, type AgentOptions, type Reconciled, type Tool, type ToolEffect } from '@bowline/agent-loop'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import type { RunHandle, RunInfo, Runtime, Session } from '@bowline/sessions'
import type { World } from './types.ts'

/** Session key of every scenario. */
export const key = 'room:1'
export const done: Step = { text: 'all is done' }
export const inputSchema = { type: 'object', properties: {}, additionalProperties: false } as const

/** Returns an agent whose model answers with the n-th step after n tool results, in any process. */
export function assistant(tools: readonly Tool[], steps: readonly Step[]): AgentOptions {
  const model = scriptedModel(({ prompt }) => steps[prompt.filter((message) => message.role === 'tool').length] ?? {})
  return { name: 'assistant', model, tools }
}

export function calling(...names: readonly string[]): Step {
  return { toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) }
}

export interface EffectOptions {
  readonly needsApproval?: true
  readonly approvalTimeoutMs?: number
  /** Duration of the call in ms. */
  readonly takesMs?: number
}

export function effectTool(world: World, name: string, effect: ToolEffect, { takesMs = 0, ...options }: EffectOptions = {}): Tool {
  return defineTool({
    name,
    effect,
    inputSchema,
    description: `Does ${name}.`,
    ...options,
    async execute(_input, call) {
      if (takesMs > 0) await world.sleep(takesMs)
      await world.effect(call)
      return `${name} is done`
    },
  })
}

export function reconcilable(world: World): Tool {
  return defineTool({
    name: 'pay',
    effect: 'once',
    inputSchema,
    description: 'Pays.',
    async execute(_input, call) {
      await world.effect(call)
      return 'paid'
    },
    reconcile: async (_input, { idempotencyKey }): Promise<Reconciled> =>
      world.happened(idempotencyKey) ? { happened: true, result: 'paid' } : { happened: false },
  })
}

export function asking(world: World, name: string): Tool {
  return effectTool(world, name, 'once', { needsApproval: true })
}

export function endless(world: World): Tool {
  return defineTool({
    name: 'watch',
    effect: 'once',
    inputSchema,
    description: 'Watches until it is stopped.',
    async execute(_input, call) {
      await world.effect(call)
      await new Promise((resolve) => call.abortSignal.addEventListener('abort', resolve))
      return 'was stopped'
    },
  })
}

/** Sends an input, and answers all questions of the run until it has ended. */
export async function driveToEnd(runtime: Runtime): Promise<void> {
  const run = await runtime.session(key).send('go', { id: 'first' })
  while (await answer(run));
}

/** Answers all questions of a run. Returns false if there are none. */
async function answer(run: RunHandle): Promise<boolean> {
  const questions = await run.result()
  await answerQuestions(run.session, questions)
  return questions.pendingToolCalls.length + questions.pendingApprovals.length > 0
}

export async function answerQuestions(
  session: Session,
  { pendingToolCalls, pendingApprovals }: Pick<RunInfo, 'pendingToolCalls' | 'pendingApprovals'>,
): Promise<void> {
  for (const { approvalId, toolName } of pendingApprovals) {
    if (toolName === 'drop') await session.deny(approvalId, { reason: 'not today' })
    else await session.approve(approvalId, { by: 'ann' })
  }
  for (const { toolCallId, path, unknown } of pendingToolCalls) {
    if (unknown) await session.resolveTool(toolCallId, { unknown: true }, { path })
    else await session.submitToolResults([{ toolCallId, path, output: 'Oslo' }])
  }
}

/** Sends an input, and stops the run as soon as the call has begun. */
export async function driveToStop(runtime: Runtime): Promise<void> {
  const session = runtime.session(key)
  const run = await session.send('go', { id: 'first' })
  for await (const event of run) if (event.type === 'tool-execution-start') break
  while ((await session.stop()).state === 'pending');
}
