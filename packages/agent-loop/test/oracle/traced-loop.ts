import type { AgentOptions, Extension, Tool, ToolContext } from '../../src/index.ts'
import type { Loop } from '../fuzz/world.ts'
import type { OracleWorld } from './oracle-world.ts'
import type { Script } from './script.ts'
import { showOnce } from './trace.ts'
import { tracedJournal } from './traced-journal.ts'

type Functions = Readonly<Record<string, unknown>>
type AnyFunction = (...args: readonly unknown[]) => unknown

/** The functions of a copy that make an agent, so that each call of what the agent is made of is noted. */
export function tracedLoop(copy: Loop, inWorld: () => OracleWorld): Loop {
  const { createBudget, loopGuard } = copy
  return {
    ...{ createBudget, loopGuard },
    createMemoryJournal: (options) => tracedJournal(inWorld(), copy.createMemoryJournal(options), 'side'),
    defineTool: ((options: Functions & { readonly name: string }) =>
      copy.defineTool({ ...noted(inWorld, `tool ${options.name}`, options), ...executeOf(inWorld, options) } as never)) as never,
    defineExtension: (options) => copy.defineExtension({ ...options, hooks: notedHooks(inWorld, options) }),
    defineGuardrail: (options) => copy.defineGuardrail({ ...options, ...noted(inWorld, 'guardrail', { ...options }) }),
    defineAgent: (options) => copy.defineAgent(notedAgent(inWorld, copy, options)),
  }
}

/** Returns the functions among the values, each of them noted when it is called. */
function noted(inWorld: () => OracleWorld, name: string, values: Functions): Functions {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, typeof value === 'function' ? notes(inWorld, `${name}.${key}`, value as AnyFunction) : value]))
}

function notes(inWorld: () => OracleWorld, name: string, call: AnyFunction): AnyFunction {
  const wrapper = (...args: readonly unknown[]): unknown => {
    const world = inWorld()
    world.noteCall(name, args.map(known))
    const value = call(...args)
    if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) world.trace.reached(`${name} says ${'action' in value ? String(value.action) : Object.keys(value).join()}`)
    return value
  }
  // The name of a model function is that of its model.
  return Object.defineProperty(wrapper, 'name', { value: call.name })
}

function notedHooks(inWorld: () => OracleWorld, { name, hooks }: Extension): Extension['hooks'] {
  const { onEvent, ...others } = hooks
  return {
    ...noted(inWorld, 'hook', others),
    ...(onEvent && {
      // It only looks on: where it stands among other calls is left open, and so is what its context says by then.
      onEvent(event, context) {
        const { trace, extras } = inWorld()
        trace.reached('call hook.onEvent')
        if (extras.timed || 'seq' in event) trace.add(`onEvent of ${name}`, showOnce(event))
        return onEvent(event, context)
      },
    }),
  }
}

function notedAgent(inWorld: () => OracleWorld, copy: Loop, options: AgentOptions): AgentOptions {
  const { extras } = inWorld()
  const { stopWhen, prepareStep, ephemeral, instructions, model } = options
  const functions = { stopWhen, prepareStep, ephemeral, instructions, model }
  const given = Object.fromEntries(Object.entries(functions).filter(([, value]) => value !== undefined))
  const agent: AgentOptions = { ...options, ...toolsOf(options, inWorld().script), ...noted(inWorld, `agent ${options.name}`, given) }
  if (options.name === 'helper') return extras.bareHelper ? { ...agent, tools: [] } : agent
  if (options.name !== 'planned') return agent
  return {
    ...agent,
    ...(extras.jitter && options.retry !== false && { retry: { ...options.retry, jitter: 0.25, baseDelayMs: 40 } }),
    ...(extras.loopGuard !== 'default' && { guardrails: [...((options.guardrails ?? []) as never[]), copy.loopGuard(extras.loopGuard === 'off' ? none : low)] }),
  }
}

/** Returns those tools that the script speaks of, which saves half of the time. */
function toolsOf({ tools }: AgentOptions, { scenario }: Script): Pick<AgentOptions, 'tools'> {
  if (!Array.isArray(tools)) return {}
  const { answers, child, functions, fallback } = scenario.agent
  const text = JSON.stringify([answers, child, functions, fallback])
  return { tools: (tools as readonly Tool[]).filter(({ name }) => always.has(name) || text.includes(`"tool":"${name}"`)) }
}

const always = new Set(['pure', 'once', 'far'])

const none = { sameFailure: false, sameTool: false, sameResult: false, blocked: false } as const
const low = { sameFailure: { warn: 1, block: 2 }, sameTool: { warn: 1, halt: 3 }, sameResult: { warn: 1, block: 2 }, blocked: { halt: 2 } } as const

/** What a function may read of a context, getters included; all else as it is. */
function known(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('turn' in value) || !('abortSignal' in value || 'lastOutcomes' in value)) return value
  const context = value as Readonly<Record<string, unknown>>
  const facts = Object.fromEntries(contextKeys.filter((key) => key in context).map((key) => [key, context[key]]))
  const { messages, contextUsage, isIdle, hasPendingInputs } = context
  return {
    ...facts,
    ...(Array.isArray(messages) && { messages: messages.map(({ id }: { id?: string }) => id) }),
    ...(typeof contextUsage === 'function' && { contextUsage: contextUsage.call(value) as unknown }),
    ...(typeof isIdle === 'function' && { isIdle: isIdle.call(value) as unknown }),
    ...(typeof hasPendingInputs === 'function' && { hasPendingInputs: hasPendingInputs.call(value) as unknown }),
  }
}

const contextKeys = [
  ...['runId', 'turn', 'step', 'attempt', 'agent', 'toolCallId', 'toolName', 'idempotencyKey', 'deadlineAt', 'sessionKey', 'context', 'journal'],
  // Whether the signal is aborted already depends on how many awaits lie between an event and the hook.
  ...['model', 'usage', 'cost', 'state', 'lastAnswer', 'lastOutcomes', 'budgetLeft'],
]

type Execute = (input: unknown, context: ToolContext) => unknown

function executeOf(inWorld: () => OracleWorld, { execute, name }: Functions & { readonly name: string }): Functions {
  if (typeof execute !== 'function') return {}
  return {
    execute(input: unknown, context: ToolContext) {
      const world = inWorld()
      world.noteCall(`tool ${name}.execute`, [input, known(context)])
      world.trace.reached(`act ${(input as { readonly act?: string }).act}`)
      return settleApart(world, execute as Execute, input, context)
    },
  }
}

/**
 * Two calls of one answer begin and end their work at times of their own, as do those of subagents, so that the loop cannot see one
 * of them earlier by chance. In a timed script a call that has emitted deltas pauses before its end, so that readers have seen them by then.
 */
function settleApart(world: OracleWorld, execute: Execute, input: unknown, context: ToolContext): unknown {
  const { timed } = world.extras
  const name = `${context.runId} ${context.toolCallId} ${context.attempt}`
  const delays = isCrowded(context) || context.agent.length > 0 ? { before: world.delayOf(`${name} begins`), after: world.delayOf(`${name} ends`) } : { before: 0, after: 0 }
  let emits = false
  const listened = !timed ? context : Object.create(context, { emit: { value: (delta: string) => void ((emits = true), context.emit(delta)) } }) as ToolContext
  const pause = (): Promise<void> | undefined => (delays.after > 0 || emits ? world.sleep(delays.after || 1) : undefined)
  if (delays.before === 0) {
    const value = execute(input, listened)
    if (isGenerator(value)) return timed ? apart(world, value, { before: 0, after: 1 }) : value
    return timed && emits ? endLater(value, pause) : value
  }
  return context.toolName === 'stream'
    ? apart(world, execute(input, listened) as AsyncGenerator, delays)
    : world.sleep(delays.before).then(() => endLater(execute(input, listened), pause))
}

async function endLater(value: unknown, pause: () => Promise<void> | undefined): Promise<unknown> {
  try {
    return await value
  } finally {
    await pause()
  }
}

async function* apart(world: OracleWorld, source: AsyncGenerator, { before, after }: { readonly before: number; readonly after: number }): AsyncGenerator {
  if (before > 0) await world.sleep(before)
  try {
    const value: unknown = yield* source
    await world.sleep(after)
    return value
  } catch (error) {
    await world.sleep(after)
    throw error
  }
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isCrowded({ messages }: ToolContext): boolean {
  const answer = messages.findLast(({ role }) => role === 'assistant')
  return answer?.role === 'assistant' && answer.content.filter(({ type }) => type === 'tool-call').length > 1
}
