import type { Agent, AgentEvent, AgentResult, AgentRun, RunOptions } from '../../src/index.ts'
import { decisionOn } from './orders.ts'
import type { Order } from './orders.ts'
import type { AgentPlan, Disturbance, RoundPlan } from './scenarios.ts'
import type { Store, Writer } from './tested-journal.ts'
import type { World } from './world.ts'

/** One run, from its start until nothing of it moves any more. */
export interface Played {
  readonly result: AgentResult
  /** The events of the first reader. */
  readonly events: readonly AgentEvent[]
  readonly writer: Writer
  readonly endedAt: number
  /** True: it had to be stopped, because nothing moved any more. */
  readonly stoodStill: boolean
}

export interface Process {
  readonly world: World
  readonly store: Store
  readonly agent: Agent
  readonly plan: RoundPlan
  readonly agentPlan: Pick<AgentPlan, 'abortGraceMs'>
  readonly options: Partial<RunOptions>
}

export async function play(process: Process, { input, stops, cancels }: Order): Promise<Played> {
  const { world, store, agent, plan } = process
  const signals = { own: new AbortController(), journal: new AbortController() }
  for (const { signal } of Object.values(signals)) world.signals.add(signal)
  world.stopped = undefined
  if (stops || plan.startsAborted) world.stop('stop', () => signals.own.abort('before it began'))
  const writer = store.open(plan.death, signals.journal.signal)
  const run = agent.run(input, {
    ...process.options,
    journal: writer.journal,
    clock: world.clock.tested,
    random: () => 0.5,
    abortSignal: signals.own.signal,
    mode: plan.mode,
    onBreak: plan.driver.onBreak,
    onInputWhilePending: cancels ? 'cancel' : 'refuse',
    ...approvalsOf(world, plan),
  })
  // The first reader drives a synchronized run.
  const { events, readers } = readersOf(world, plan, run)
  for (const disturbance of plan.disturbances) world.plan(disturbance.after, () => disturb(process, run, signals, disturbance))
  let endedAt = 0
  const result = run.result().finally(() => void (endedAt = world.clock.now()))
  const stoodStill = !(await world.settle(result))
  if (stoodStill) {
    world.stop('stop', () => run.abort('nothing goes on'))
    if (!(await world.settle(result))) throw new Error('A107: the run never ends')
  }
  // A run that has lost its journal waits for nothing: its side work ends by itself.
  if (!(await world.settle(Promise.all(world.sideWorks.map((side) => side.result))))) throw new Error('A107: side work never ends')
  world.forget()
  writer.over = true
  world.claim(await world.settle(Promise.all(readers)), 'A27: a reader never ends')
  world.claim((await run.result()) === (await result), 'A15: a later result is another one')
  return { result: await result, events, writer, endedAt, stoodStill }
}

interface Readers {
  readonly events: readonly AgentEvent[]
  readonly readers: readonly Promise<void>[]
}

function readersOf(world: World, { mode, driver }: RoundPlan, run: AgentRun): Readers {
  const events: AgentEvent[] = []
  const leavesBehind = mode === 'live' ? undefined : driver.leavesBehind
  const leaving = { leavesBehind, onLeave: () => void (driver.onBreak === 'abort' && world.stop('stop', () => undefined)) }
  const first = read(world, run, events, { pauseMs: driver.pauseMs, ...leaving })
  const readers = [
    first,
    read(world, run.events(), [], { pauseMs: 7 }),
    read(world, run.events({ deltas: false }), [], { leavesBehind: 3 }),
  ]
  return { events, readers }
}

async function read(
  world: World,
  source: AsyncIterable<AgentEvent>,
  events: AgentEvent[],
  { pauseMs = 0, leavesBehind = Infinity, onLeave }: { pauseMs?: number; leavesBehind?: number | undefined; onLeave?: () => void },
): Promise<void> {
  for await (const event of source) {
    events.push(event)
    world.beat()
    if (pauseMs > 0) await world.sleep(pauseMs)
    if (events.length <= leavesBehind) continue
    onLeave?.()
    return
  }
}

function disturb(
  { world, store }: Process,
  run: AgentRun,
  signals: Record<'own' | 'journal', AbortController>,
  { kind }: Disturbance,
): void {
  switch (kind) {
    case 'abort':
      return world.stop('stop', () => run.abort('enough'))
    case 'signal':
      return world.stop('stop', () => signals.own.abort())
    case 'yield':
    case 'fenced':
      return world.stop(kind, () => signals.journal.abort({ kind }))
    case 'steer':
      return void world.give(kind, (text) => run.steer(text))
    case 'overlay':
      return void world.give(kind, (text) => run.overlay(text))
    case 'follow-up':
      return void world.give(kind, (text) => run.followUp(text))
    case 'reader':
      return void read(world, run.events({ afterSeq: store.root.events.length }), [], { leavesBehind: 2 })
    default: {
      const unknown: never = kind
      return unknown
    }
  }
}

function approvalsOf(world: World, plan: RoundPlan): Partial<RunOptions> {
  const { onApproval } = plan
  if (onApproval === undefined) return {}
  return {
    onApproval: async (request) => {
      world.beat()
      if (onApproval === 'hang') await new Promise(() => {})
      if (onApproval === 'later') await world.sleep(30)
      if (onApproval === 'throw') throw new Error('nobody is there')
      if (onApproval === 'wrong') return { approvalId: 'another', decision: 'maybe' } as never
      return onApproval === 'open' ? undefined : decisionOn(request, { ...plan, approve: onApproval !== 'deny' })
    },
  }
}
