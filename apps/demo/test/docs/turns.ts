import { commitsOf } from '@bowline/agent-loop/events'
import type { DurableEvent } from '@bowline/agent-loop/events'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import type { AgentOptions } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import type { Runtime, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'
import { manualTime } from '../manual-time.ts'
import { mortalRuntime } from '../mortal-runtime.ts'

const key = 'room:1'
const place = z.object({ city: z.string() })
const weatherIn = (city: string) => ({ name: 'get_weather', input: { city } })
const never = new Promise<never>(() => undefined)

interface Stage {
  readonly session: Session
  /** Resolves when the open run cannot continue without help. */
  rest(): Promise<void>
  /** Resolves when the log has an event of this type. */
  has(type: DurableEvent['type']): Promise<void>
  /** Kills the process and lets another one resume its work when the lease has expired. */
  crash(): Promise<void>
}

interface Turn {
  readonly agent: Omit<AgentOptions, 'name'>
  readonly play: (stage: Stage) => Promise<void>
}

const ask = async ({ session, rest }: Stage): Promise<void> => {
  await session.send('Hi')
  await rest()
}

/** Kinds of turns that the documentation draws. */
export const turns: Readonly<Record<string, () => Turn>> = {
  'plain answer': () => ({ agent: { model: scriptedModel([{ text: 'Hello.' }]) }, play: ask }),
  'two tools at once': () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const weather = defineTool({
      name: 'get_weather',
      description: 'Weather',
      inputSchema: place,
      effect: 'pure',
      async execute({ city }) {
        if (city === 'Lima') await promise
        return 'Sunny.'
      },
    })
    return {
      agent: {
        model: scriptedModel([{ toolCalls: [weatherIn('Oslo'), weatherIn('Lima')] }, { text: 'Sunny in both.' }]),
        tools: [weather],
      },
      async play({ session, has, rest }) {
        await session.send('Hi')
        await has('tool-execution-end')
        resolve()
        await rest()
      },
    }
  },
  'remote tool': () => ({
    agent: {
      model: scriptedModel([{ toolCalls: [{ name: 'where_am_i', input: {} }] }, { text: 'You are at sea.' }]),
      tools: [defineTool({ name: 'where_am_i', description: 'Place', inputSchema: z.object({}) })],
    },
    async play(stage) {
      await ask(stage)
      const [call] = (await stage.session.info())?.openRun?.pendingToolCalls ?? []
      if (!call) throw new Error('There is no pending call.')
      await stage.session.submitToolResults([{ ...call, output: 'at sea' }])
      await stage.rest()
    },
  }),
  approval: () => ({
    agent: {
      model: scriptedModel([{ toolCalls: [{ name: 'delete_report', input: {} }] }, { text: 'It is deleted.' }]),
      tools: [
        defineTool({
          name: 'delete_report',
          description: 'Deletes',
          inputSchema: z.object({}),
          needsApproval: true,
          execute: () => 'deleted',
        }),
      ],
    },
    async play(stage) {
      await ask(stage)
      const [question] = (await stage.session.info())?.openRun?.pendingApprovals ?? []
      await stage.session.approve(question?.approvalId ?? '')
      await stage.rest()
    },
  }),
  retry: () => ({
    agent: {
      model: scriptedModel([
        { text: 'Half an', failAfter: { parts: 1, error: new TypeError('terminated'), as: 'throw' } },
        { text: 'Hello.' },
      ]),
    },
    play: ask,
  }),
  stop: () => ({
    agent: {
      model: scriptedModel([{ toolCalls: [{ name: 'index', input: {} }] }]),
      tools: [
        defineTool({
          name: 'index',
          description: 'Indexes',
          inputSchema: z.object({}),
          effect: 'pure',
          execute: (_, { abortSignal }) =>
            new Promise<string>((_resolve, reject) => abortSignal.addEventListener('abort', () => reject(new Error('aborted')))),
        }),
      ],
    },
    async play({ session, has, rest }) {
      await session.send('Hi')
      await has('tool-execution-start')
      await Promise.all([session.stop(), rest()])
    },
  }),
  subagent: () => ({
    agent: {
      model: scriptedModel([{ toolCalls: [{ name: 'delegate_to_researcher', input: { prompt: 'Knots?' } }] }, { text: 'There are many.' }]),
      subagents: [defineAgent({ name: 'researcher', description: 'Researches', model: scriptedModel([{ text: 'Many knots.' }]) })],
    },
    play: ask,
  }),
  'crash in an answer': () => ({
    agent: { model: scriptedModel([{ text: 'Half', hang: 'middle' }, { text: 'Hello.' }]) },
    async play({ session, has, crash, rest }) {
      await session.send('Hi')
      await has('message-start')
      await crash()
      await rest()
    },
  }),
  'crash in a tool that may run again': () => crashInTool('pure'),
  'crash in a tool that may not': () => crashInTool('once'),
}

function crashInTool(effect: 'pure' | 'once'): Turn {
  let runs = 0
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    inputSchema: z.object({}),
    effect,
    execute: () => (++runs === 1 ? never : 'paid'),
  })
  return {
    agent: { model: scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'It is paid.' }]), tools: [pay] },
    async play({ session, has, crash, rest }) {
      await session.send('Hi')
      await has('tool-execution-start')
      await crash()
      await rest()
    },
  }
}

const restless = new Set(['queued', 'running', 'waiting-for-retry', 'waiting-for-subagent'])

/** Runs a turn in a runtime, and returns its durable events, one line per commit. */
export async function drawTurn({ agent, play }: Turn): Promise<string> {
  const time = manualTime()
  const store = memoryStore()
  const agents = [defineAgent({ ...agent, name: 'assistant' })]
  const open = (over: SessionStore): Runtime => createRuntime({ agents, store: over, clock: time.clock })
  const { runtime: first, die } = mortalRuntime(store, open)
  await first.start()
  let runtime = first
  const until = async (done: () => Promise<boolean>): Promise<void> => {
    for (let round = 0; !(await done()); round++) {
      if (round > 10_000) throw new Error('The turn does not come to its end.')
      await time.settle()
      if (!(await done())) time.advance(Math.max(0, (time.nextAt() ?? time.clock.now()) - time.clock.now()))
    }
  }
  const log = async (): Promise<readonly DurableEvent[]> => (await store.readEvents(key, 0, 1000)).events
  const stage: Stage = {
    session: first.session(key),
    rest: () => until(async () => !restless.has((await runtime.session(key).info())?.status ?? 'queued')),
    has: (type) => until(async () => (await log()).some((event) => event.type === type)),
    async crash() {
      die()
      runtime = open(store)
      await runtime.start()
    },
  }
  await play(stage)
  const events = await log()
  await runtime.stop()
  return draw(events)
}

function draw(events: readonly DurableEvent[]): string {
  let owner: string | undefined
  const lines = commitsOf(events).map(({ firstSeq, lastSeq, epoch, owner: writer }) => {
    const names = events.filter(({ seq = 0 }) => seq >= firstSeq && seq <= lastSeq).map(nameOf)
    const hasChanged = epoch !== undefined && owner !== undefined && owner !== writer
    if (epoch !== undefined) owner = writer
    return `${hasChanged ? '† another process\n' : ''}${counted(names).join('  ')}`
  })
  return lines.join('\n')
}

function nameOf(event: DurableEvent): string {
  if (event.type === 'turn-end') return `turn-end (${event.status})`
  if (event.type === 'turn-start' && event.resumed) return 'turn-start (resumed)'
  if (event.type === 'tool-execution-start' && event.attempt > 1) return `tool-execution-start (attempt ${event.attempt})`
  return event.type
}

function counted(names: readonly string[]): readonly string[] {
  const runs: { name: string; count: number }[] = []
  for (const name of names) {
    const last = runs.at(-1)
    if (last?.name === name) last.count++
    else runs.push({ name, count: 1 })
  }
  return runs.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`))
}
