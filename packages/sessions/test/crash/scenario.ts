import { defineAgent, defineTool, type Agent, type StoredMessage } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/agent-loop/testing'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent, type Runtime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'
import { collect } from '../support.ts'
import { dyingStore, type FaultPoint, type Write } from './dying-store.ts'

const key = 'room:1'
const leaseMs = 10_000
const place = 'Oslo'

export interface Outcome {
  /** The writes of the process that the fault befell. */
  readonly writes: readonly Write[]
  readonly log: readonly LoggedEvent[]
  /** What a reader saw who went on after each death where it had stopped. */
  readonly read: readonly LoggedEvent[]
  readonly transcript: readonly StoredMessage[]
  readonly runs: readonly string[]
  readonly sessionStatus: string | undefined
  /** Starts of each tool, with the key that it got. */
  readonly effects: Readonly<Record<string, readonly string[]>>
  /** Calls that waited once more after their answer had been accepted. */
  readonly askedAgain: readonly string[]
  readonly faults: readonly unknown[]
  readonly processes: number
}

interface World {
  readonly effects: Record<string, string[]>
  readonly accepted: Set<string>
  readonly askedAgain: string[]
  readonly read: LoggedEvent[]
  readonly faults: unknown[]
}

/** A tool with an effect and a repeatable one side by side, then one that is answered from outside, then the answer. */
function agentOf({ effects }: World): Agent {
  const tool = (name: string, effect: 'once' | 'idempotent', value: string) =>
    defineTool({
      name,
      description: `The tool ${name}.`,
      inputSchema: z.object({}),
      effect,
      execute: (_input, { idempotencyKey }) => {
        ;(effects[name] ??= []).push(idempotencyKey)
        return value
      },
    })
  const where = defineTool({ name: 'where', description: 'Where the user is.', inputSchema: z.object({}) })
  const model = scriptedModel(({ prompt }) => {
    const steps = prompt.filter((message) => message.role === 'tool').length
    if (steps === 0) return { toolCalls: ['pay', 'index'].map((name) => ({ id: `call-${name}`, name, input: {} })) }
    return steps === 1 ? { toolCalls: [{ id: 'call-where', name: 'where', input: {} }] } : { text: 'all is done' }
  })
  return defineAgent({
    name: 'assistant',
    model,
    tools: [tool('pay', 'once', 'paid'), tool('index', 'idempotent', 'indexed'), where],
  })
}

/** What a client does that comes back after each death: it sends again under its id, answers, and says what became of calls. */
async function drive(runtime: Runtime, { accepted, askedAgain }: World): Promise<void> {
  const session = runtime.session(key)
  const run = await session.send('go', { id: 'first' })
  for (;;) {
    const { status, pendingToolCalls } = await run.result()
    if (status !== 'awaiting-tools' && status !== 'needs-recovery') return
    for (const { toolCallId, unknown } of pendingToolCalls) {
      if (accepted.has(toolCallId)) askedAgain.push(toolCallId)
      if (unknown) await session.resolveTool(toolCallId, { result: 'paid' })
      else await session.submitToolResults([{ toolCallId, output: place }])
      accepted.add(toolCallId)
    }
  }
}

/** Reads on where it stopped, until its process dies or the scenario is over. */
async function follow(runtime: Runtime, read: LoggedEvent[], abortSignal: AbortSignal): Promise<void> {
  const session = runtime.session(key)
  await session.open()
  const cursor = read.at(-1)?.cursor
  for await (const event of session.events({ abortSignal, ...(cursor === undefined ? {} : { cursor }) })) read.push(event)
}

/** Runs the scenario to its end, in as many processes as that takes. */
export async function runScenario(point?: FaultPoint): Promise<Outcome> {
  const world: World = { effects: {}, accepted: new Set(), askedAgain: [], read: [], faults: [] }
  const clock = manualClock()
  const ids = fakeIds()
  const memory = memoryStore()
  // Leases are compared by the clock of whoever opens the store first.
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  const start = async (store: SessionStore): Promise<Runtime> => {
    const onError = (error: unknown): void => void world.faults.push(error)
    const runtime = createRuntime({ agents: [agentOf(world)], store, clock, ids, lease: { ttlMs: leaseMs }, onError })
    await runtime.start()
    return runtime
  }

  const dying = dyingStore(memory, point)
  let processes = 1
  let runtime = await start(dying.store)
  if ((await live(runtime, world, dying.died)) === 'died') {
    await runtime.stop({ graceMs: 0 })
    await clock.advance(leaseMs + 1)
    processes++
    runtime = await start(memory)
    await live(runtime, world)
  }
  const session = runtime.session(key)
  const { writes } = dying
  const cursor = world.read.at(-1)?.cursor
  world.read.push(...(await collect(session.events({ live: false, ...(cursor === undefined ? {} : { cursor }) }))))
  const outcome = {
    log: await collect(session.events({ live: false })),
    transcript: (await session.messages()).items,
    runs: (await session.runs()).items.map((run) => run.status),
    sessionStatus: (await session.info())?.status,
  }
  await runtime.stop()
  await memory.close()
  return { ...world, ...outcome, writes: [...writes], processes }
}

async function live(runtime: Runtime, world: World, died?: Promise<'died'>): Promise<'died' | void> {
  const leaving = new AbortController()
  const reading = follow(runtime, world.read, leaving.signal)
  // A reader of a process that died fails with it.
  reading.catch(() => undefined)
  const end = await Promise.race([drive(runtime, world), ...(died ? [died] : [])]).catch((error: unknown) => {
    if (!died) throw error
    return died
  })
  leaving.abort()
  await reading.catch((error: unknown) => {
    if (end !== 'died') throw error
  })
  return end
}
