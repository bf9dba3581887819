import { isDeepStrictEqual } from 'node:util'
import { defineTool, type AgentEvent, type Tool, type ToolEffect } from '@bowline/agent-loop'
import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { scriptedModel } from '@bowline/llm/testing'
import type { LoggedEvent, Runtime } from '@bowline/sessions'
import { type CrashEnd, type CrashScenario, type Invariant, standardInvariants, type World } from '@bowline/testing/crashes'

const key = 'room:1'
const inputSchema = { type: 'object', properties: {} } as const
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

function tool(world: World, name: string, effect: ToolEffect): Tool {
  return defineTool({
    name,
    effect,
    inputSchema,
    description: `The tool ${name}.`,
    async execute(_input, call) {
      await world.effect(call)
      return `${name} is done`
    },
  })
}

/** Returns the events of a reader that continues after each death where it had stopped. */
function readBy(world: Pick<World, 'notes'>): LoggedEvent[] {
  const read = world.notes.get('read') ?? []
  world.notes.set('read', read)
  return read as LoggedEvent[]
}

/** Reads on until the log has `settled`. The reader of a process that dies never returns. */
async function follow(runtime: Runtime, world: World): Promise<void> {
  const read = readBy(world)
  const session = runtime.session(key)
  await session.open()
  const cursor = read.at(-1)?.cursor
  if (read.at(-1)?.type === 'settled') return
  for await (const event of session.events(cursor === undefined ? {} : { cursor })) {
    read.push(event)
    if (event.type === 'settled') return
  }
}

async function answer(runtime: Runtime): Promise<void> {
  const session = runtime.session(key)
  const run = await session.send('go', { id: 'first' })
  for (;;) {
    const { status, pendingToolCalls } = await run.result()
    if (status !== 'awaiting-tools' && status !== 'needs-recovery') return
    for (const { toolCallId, unknown } of pendingToolCalls) {
      if (unknown) await session.resolveTool(toolCallId, { result: 'pay is done' })
      else await session.submitToolResults([{ toolCallId, output: 'Oslo' }])
    }
  }
}

/** A tool with an effect next to a repeatable one, then one that the client answers, then the final answer. */
export const answered: CrashScenario = {
  agents: (world) => {
    const steps = [calls('pay', 'index'), calls('where'), { text: 'all is done' }]
    const where = defineTool({ name: 'where', description: 'Where the user is.', inputSchema })
    const model = scriptedModel(({ prompt }) => steps[prompt.filter((message) => message.role === 'tool').length] ?? {})
    return [{ name: 'assistant', model, tools: [tool(world, 'pay', 'once'), tool(world, 'index', 'idempotent'), where] }]
  },
  drive: async (runtime, world) => void (await Promise.all([answer(runtime), follow(runtime, world)])),
  invariants: [
    ...standardInvariants,
    comparing('the transcript is that of the run without a crash', ({ sessions }) =>
      sessions.map(({ messages }) => messages.map(withoutNames)),
    ),
    comparing(
      'a reader who came back has seen the log',
      ({ sessions }) => sessions.map(({ log }) => fold(log)),
      ({ world }) => [fold(readBy(world))],
    ),
  ],
}

function fold(events: readonly AgentEvent[]): unknown {
  return events.reduce(reduceEvents, emptyView)
}

/** Removes what may differ: ids, times, and how the scripted model numbers its answers. */
function withoutNames(message: CrashEnd['sessions'][number]['messages'][number]): unknown {
  const { id: _id, at: _at, ...rest } = message
  return message.role === 'assistant' ? { ...rest, response: undefined, timing: undefined } : rest
}

/** Requires a value to be equal with and without a crash, or equal to another value of the same run. */
function comparing(name: string, of: (end: CrashEnd) => unknown, other?: (end: CrashEnd) => unknown): Invariant {
  return {
    name,
    check(end) {
      // As JSON, which has no undefined fields, and in which the order of fields means nothing.
      const [is, should] = [of(end), other ? other(end) : of(end.undisturbed ?? end)].map((value) => JSON.stringify(value))
      return isDeepStrictEqual(JSON.parse(is ?? ''), JSON.parse(should ?? '')) ? [] : [`${is} is not ${should}`]
    },
  }
}
