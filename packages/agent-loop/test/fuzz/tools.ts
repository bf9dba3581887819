import { z } from 'zod'
import type { Tool, ToolContext } from '../../src/index.ts'
import { aborted } from './function-streams.ts'
import { startExecuting } from './scheduling.ts'
import { doSideWork, peekAtSideWork } from './side-work.ts'
import type { Loop, World } from './world.ts'

export const toolActs = [
  ...['return', 'later', 'json', 'content', 'details', 'quit', 'throw', 'reject', 'fail', 'not-json', 'large', 'flood'],
  ...['nothing', 'plain', 'parts', 'live'],
  ...['hang', 'deaf', 'late', 'steer', 'overlay', 'compact', 'report', 'speak-late'],
  ...['spawn', 'spawn-two', 'spawn-briefly', 'spawn-freely', 'keep', 'launch'],
] as const
export type ToolAct = (typeof toolActs)[number]

interface ToolInput {
  readonly act: ToolAct
  readonly ms: number
}

const inputSchema = z.object({ act: z.enum(toolActs), ms: z.number() })

/** The differences between the tools. The input of a call decides what the call does. */
const kinds = {
  pure: { effect: 'pure' },
  safe: { effect: 'idempotent' },
  once: { effect: 'once' },
  alone: { effect: 'pure', sequential: true },
  single: { effect: 'idempotent', concurrency: 1 },
  timed: { effect: 'once', timeoutMs: 50 },
  'pure-timed': { effect: 'pure', timeoutMs: 50 },
  asked: { needsApproval: true },
  'asked-timed': { needsApproval: true, approvalTimeoutMs: 200 },
  short: { effect: 'pure', maxOutputCharacters: 100 },
} as const satisfies Record<string, Partial<Parameters<Loop['defineTool']>[0]>>

const others = ['wary', 'stream', 'far', 'far-timed'] as const
export const toolNames = [...(Object.keys(kinds) as (keyof typeof kinds)[]), ...others] as const
export type ToolName = (typeof toolNames)[number]

export function plannedTools(world: World): readonly Tool[] {
  const { defineTool } = world.loop
  const execute = (input: ToolInput, context: ToolContext) => act(world, input, context)
  const named = <Name extends string>(name: Name) => ({ name, description: `the tool ${name}`, inputSchema })
  const reconcile = ({ ms }: ToolInput, { idempotencyKey }: { idempotencyKey: string }) => {
    if (ms === 60) return new Promise<never>(() => {})
    const happened = world.executions.has(idempotencyKey)
    return Promise.resolve(happened ? { happened, result: 'it had happened' } : { happened })
  }
  return [
    ...Object.entries(kinds).map(([name, kind]) => defineTool({ ...named(name), ...kind, execute })),
    defineTool({ ...named('wary'), execute, reconcile, needsApproval: ({ act, ms }, { abortSignal }) => ask(world, act, ms, abortSignal) }),
    defineTool({ ...named('stream'), effect: 'idempotent', execute: (input, context) => stream(world, input, context) }),
    defineTool(named('far')),
    defineTool({ ...named('far-timed'), timeoutMs: 100 }),
  ]
}

/** Returns whether a call must be approved. */
function ask(world: World, act: ToolAct, ms: number, signal: AbortSignal): boolean | Promise<boolean> {
  world.signals.add(signal)
  world.beat()
  if (act === 'throw') throw new Error('who knows')
  if (act === 'deaf') return new Promise(() => {})
  return ms > 10
}

/** Returns a function that ends the call. */
function began(world: World, context: ToolContext): () => void {
  const { abortSignal, idempotencyKey, toolName, toolCallId, runId } = context
  const end = startExecuting(world, context)
  world.signals.add(abortSignal)
  world.claim(!world.brought.has(toolCallId), `A8: ${toolCallId} ran, though its result had been brought along`)
  const side = world.sideWorks.find((each) => each.runId === runId)
  world.claim(!side || side.tools.includes(toolName), `A166: ${toolName} ran for a child that may not use it`)
  const { count = 0 } = world.executions.get(idempotencyKey) ?? {}
  world.executions.set(idempotencyKey, { toolName, count: count + 1 })
  world.beat()
  return end
}

function act(world: World, { act, ms }: ToolInput, context: ToolContext): string | Promise<never> | Promise<string> {
  const end = began(world, context)
  let value: unknown
  try {
    value = acts[act](world, ms, context)
  } catch (error) {
    end()
    throw error
  }
  if (value instanceof Promise) value.then(end, end)
  else end()
  return value as string
}

type Act = (world: World, ms: number, context: ToolContext) => unknown

const speaks: Act = (_world, _ms, { emit }) => {
  emit('one ')
  emit('two')
  return 'spoken'
}

const acts: Readonly<Record<ToolAct, Act>> = {
  return: () => 'done',
  later: async (world, ms) => {
    await world.sleep(ms)
    return 'done later'
  },
  json: () => ({ output: { list: [1, null, 'x'] } }),
  content: () => ({ output: { type: 'content', value: [{ type: 'text', text: 'part' }] } }),
  details: () => ({ output: 'with details', details: { secret: [1] } }),
  quit: () => ({ output: 'bye', terminate: true }),
  throw() {
    throw new Error('the tool broke')
  },
  reject: async () => Promise.reject(new Error('the tool broke later')),
  fail: () => ({ output: 'it failed', isError: true }),
  nothing: () => undefined,
  plain: () => ({ output: 'x', exitCode: 0, list: [] }),
  parts: () => [{ type: 'text', text: 'part' }],
  live: () => ({ when: new Date(0) }),
  'not-json': () => ({ output: { n: 1n } }),
  large: () => 'x'.repeat(60_000),
  flood: async (world, ms, context) => {
    for (let count = 0; count < 100; count++) context.emit(`${count} `)
    await world.sleep(ms)
    for (let count = 0; count < 100; count++) context.emit(`${count} `)
    return 'flooded'
  },
  hang: async (_world, _ms, { abortSignal }) => {
    await aborted(abortSignal)
    throw new Error('stopped as asked')
  },
  deaf: () => new Promise(() => {}),
  late: async (world, ms, { abortSignal }) => {
    await aborted(abortSignal)
    await world.sleep(ms)
    return 'it was too late to stop'
  },
  steer: async (world, _ms, context) => {
    if (isOfRoot(world, context)) await world.give('steer', context.steer)
    return 'steered'
  },
  overlay: async (world, _ms, context) => {
    if (isOfRoot(world, context)) await world.give('overlay', context.overlay)
    return 'overlaid'
  },
  compact: (_world, _ms, { compactAfterTurn }) => {
    compactAfterTurn()
    return 'asked'
  },
  report: async (world, ms, { reportChild, toolCallId }) => {
    const childRunId = `outside-${toolCallId}`
    reportChild({ kind: 'start', childRunId, subagent: 'outside' })
    reportChild({ kind: 'update', childRunId, step: 1, text: 'working' })
    await world.sleep(ms)
    reportChild({ kind: 'end', childRunId, status: 'completed', usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } })
    return 'reported'
  },
  'speak-late': (world, ms, context) => {
    void world.sleep(ms).then(() => context.emit('is anybody there?'))
    return speaks(world, ms, context)
  },
  spawn: (world, _ms, context) => doSideWork(world, context),
  'spawn-two': async (world, _ms, context) => (await Promise.all([doSideWork(world, context), doSideWork(world, context)])).join(),
  'spawn-briefly': (world, ms, context) => peekAtSideWork(world, context, ms === 0 ? 1 : 9),
  // It may have its own approvals decided, and has less time than its parent.
  'spawn-freely': (world, ms, context) =>
    doSideWork(world, context, {
      limits: { maxSteps: 2, maxDurationMs: ms + 20 },
      onApproval: ({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve' }),
    }),
  keep: () => 'kept',
  launch: () => 'launched',
}

/** Unused inputs of another run do not concern this one. */
function isOfRoot(world: World, { agent, runId }: ToolContext): boolean {
  return agent.length === 0 && !world.sideWorks.some((side) => side.runId === runId)
}

async function* stream(world: World, { act, ms }: ToolInput, context: ToolContext): AsyncGenerator<string, string | void> {
  const end = began(world, context)
  try {
    yield 'first '
    await world.sleep(ms)
    if (act === 'throw') throw new Error('the stream broke')
    if (act === 'deaf') await new Promise(() => {})
    for (let count = 0; count < (act === 'flood' ? 200 : 2); count++) yield `${count} `
    return act === 'return' ? 'the whole' : undefined
  } finally {
    end()
  }
}
