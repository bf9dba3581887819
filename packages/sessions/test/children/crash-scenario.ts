import { defineAgent, defineTool, type Agent } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { manualClock, scriptedModel, type ManualClock, type Step } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent, type RunRecord, type Runtime, type Session, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'
import { dyingStore, type FaultPoint, type Write } from './dying-store.ts'
import { logOf } from '../support.ts'
import { childrenOf, found, handOver, launch, remindersIn, root } from './support.ts'

const leaseMs = 10_000

export interface Outcome {
  readonly writes: readonly Write[]
  readonly log: readonly LoggedEvent[]
  readonly runs: readonly RunRecord[]
  readonly children: readonly RunRecord[]
  readonly reminders: readonly string[]
  readonly usage: Awaited<ReturnType<Session['usage']>>
  /** Idempotency keys with which the tool of the subagent was started. */
  readonly effects: readonly string[]
  readonly left: number
  readonly processes: number
  readonly faults: readonly unknown[]
}

const spends = { usage: { input: 1, output: 1 } }

/** Creates a model that any process can continue with, since it answers by its prompt: with `calls` first, then with `text`. */
function modelOf(calls: Step['toolCalls'], text: string) {
  return scriptedModel(({ prompt }) => {
    const hasResults = calls === undefined || prompt.some((message) => message.role === 'tool')
    return hasResults ? { text, ...spends } : { toolCalls: calls, ...spends }
  })
}

/** Creates an agent that delegates to one agent it waits for and to two background agents at once. */
function agentOf(effects: string[], hangs: boolean): Agent {
  const index = defineTool({
    name: 'index',
    description: 'Indexes.',
    inputSchema: z.object({}),
    effect: 'idempotent',
    execute(_input, { idempotencyKey, abortSignal }) {
      effects.push(idempotencyKey)
      if (!hangs) return 'indexed'
      return new Promise<string>((_resolve, reject) => abortSignal.addEventListener('abort', () => reject(new Error('told to stop'))))
    },
  })
  const helper = (name: string, calls?: Step['toolCalls']): Agent =>
    defineAgent({ name, description: `${name} helps`, model: modelOf(calls, `${name} is done`), tools: [index] })
  return defineAgent({
    name: 'assistant',
    model: modelOf([handOver('d', 'scout'), launch('a', 'one'), launch('b', 'two')], 'all is done'),
    subagents: [helper('scout', [{ id: 'x', name: 'index', input: {} }]), helper('one'), helper('two')],
  })
}

/** Resolves when all runs have ended and all notifications were taken. */
function over(store: SessionStore, least: number): Promise<true> {
  return found(store, async () => {
    const runs = [...(await store.listRuns(root, {})).items, ...(await childrenOf(store))]
    const waiting = await store.readInbox(root, ['child-settled'])
    return runs.length >= least && runs.every((run) => run.endedAt !== undefined) && waiting.length === 0 ? true : undefined
  })
}

/** Lets time pass until the work is done, since a store that fails is asked again after a while. */
async function withTime<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const end = (): void => void (isDone = true)
  void work.then(end, end)
  while (!isDone) await clock.advance(25)
  return work
}

/** With `stops`, the awaited subagent works until the run is stopped. */
export async function runScenario(point?: FaultPoint, stops = false): Promise<Outcome> {
  const [effects, faults]: [string[], unknown[]] = [[], []]
  const clock = manualClock()
  const ids = fakeIds()
  const memory = memoryStore()
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  const start = async (store: SessionStore): Promise<Runtime> => {
    const runtime = createRuntime({
      agents: [agentOf(effects, stops)],
      store,
      clock,
      ids,
      lease: { ttlMs: leaseMs },
      onError: (error) => faults.push(error),
    })
    await runtime.start()
    return runtime
  }
  const dying = dyingStore(memory, point)
  let processes = 1
  let runtime = await start(dying.store)
  const live = async (): Promise<true> => {
    const session = runtime.session(root)
    const run = await session.send('go', { id: 'first' })
    if (!stops) return over(memory, 4)
    await found(memory, async () => {
      const children = await childrenOf(memory)
      const isUnderWay = children.length === 3 && (await Promise.all(children.map((child) => memory.readCalls(child.id)))).flat().length > 0
      return isUnderWay || children.some((child) => child.stop) ? true : undefined
    })
    await run.stop({ waitMs: 0 })
    return over(memory, 1)
  }
  const lived = point?.fault.startsWith('fails') ? withTime(clock, live()) : live()
  if ((await Promise.race([lived, dying.died]).catch(() => 'died')) === 'died') {
    const leaving = runtime.stop({ graceMs: 0 })
    await clock.advance(leaseMs + 1)
    await leaving
    processes++
    runtime = await start(memory)
    await live()
  }
  const session = runtime.session(root)
  const outcome = {
    writes: [...dying.writes],
    log: await logOf(session),
    runs: (await memory.listRuns(root, {})).items,
    children: await childrenOf(memory),
    reminders: await remindersIn(session),
    usage: await session.usage(),
    left: (await memory.readInbox(root, ['child-changed', 'child-settled', 'steer'])).length,
  }
  await withTime(clock, runtime.stop())
  await memory.close()
  return { ...outcome, effects, processes, faults }
}
