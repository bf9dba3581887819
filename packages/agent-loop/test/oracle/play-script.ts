import type { Agent, AgentInput, AgentResult, AgentRun, RunOptions } from '../../src/index.ts'
import { fakeIds } from '../../src/testing/index.ts'
import { decisionOn, nextOrder } from '../fuzz/orders.ts'
import type { Order } from '../fuzz/orders.ts'
import { plannedAgent } from '../fuzz/planned-agent.ts'
import { calmRound } from '../fuzz/scenarios.ts'
import type { Disturbance, RoundPlan } from '../fuzz/scenarios.ts'
import type { Loop } from '../fuzz/world.ts'
import { Keeper } from './keeper.ts'
import type { Death, Process } from './keeper.ts'
import { OracleWorld } from './oracle-world.ts'
import { readEvents } from './readers.ts'
import { runOptions } from './run-options.ts'
import { triggerOf } from './script.ts'
import type { Script } from './script.ts'
import { show } from './trace.ts'
import type { Trace } from './trace.ts'

export interface Played {
  readonly trace: Trace
  readonly commits: number
}

interface Scene {
  readonly script: Script
  readonly world: OracleWorld
  readonly keeper: Keeper
  readonly agent: Agent
  readonly options: RunOptions
}

/** Lets one copy of the loop play a script, and returns what it did. */
export async function playScript(copy: Loop, script: Script): Promise<Played> {
  const { scenario, extras } = script
  const world = new OracleWorld(copy, script)
  const keeper = new Keeper(world, scenario.journal)
  const ids = fakeIds()
  const budget = scenario.maxTotalTokens === undefined ? undefined : copy.createBudget({ maxTotalTokens: scenario.maxTotalTokens })
  Object.assign(world, { ids, budget })
  const agent = plannedAgent(world, { ...scenario.agent, ...(extras.price && { price: { input: '2', output: '8' } }) })
  const scene = { script, world, keeper, agent, options: { ids, random: world.random, clock: world.clock.tested, ...(budget && { budget }) } }
  for (const [place, { source, after }] of scenario.journal.inputs.entries()) {
    world.on(triggerOf(extras, { after }), () => void keeper.waiting.push({ inputId: `elsewhere-${place}`, source, input: world.name(source) }))
  }
  await playRounds(scene)
  for (const { kind, accepted } of world.given) world.trace.reached(`given ${kind} ${accepted?.ok === false ? accepted.reason : 'accepted'}`)
  world.trace.add('given', show(world.given))
  world.trace.add('snapshots', show(keeper.journal.snapshot()))
  return { trace: world.trace, commits: keeper.commits }
}

/** Those that go on with an open turn, and the one that closes it. */
const mostCalmRounds = 3

async function playRounds(scene: Scene): Promise<void> {
  const { script, keeper } = scene
  const left = [...script.deaths]
  const rounds = script.scenario.rounds
  let latest: AgentResult | undefined
  for (let place = 0; place < rounds.length + mostCalmRounds; place++) {
    const plan = rounds[place] ?? { ...calmRound, answer: place < rounds.length + mostCalmRounds - 1 ? ('all' as const) : ('close' as const) }
    const { open } = await keeper.journal.load()
    if (place >= rounds.length && !open) return
    const planned = plan.death && { commit: keeper.commits + plan.death.commit, when: plan.death.when, how: script.extras.silentDeath ? ('is-silent' as const) : ('rejects' as const) }
    const death = script.deaths.length > 0 ? left[0] : planned
    const { result, process } = await playRound(scene, { plan, place, death }, latest)
    if (process.dead === left[0]) left.shift()
    latest = result
  }
}

interface Round {
  readonly plan: RoundPlan
  readonly place: number
  readonly death: Death | undefined
}

interface Ended {
  readonly result: AgentResult | undefined
  readonly process: Process
}

async function playRound(scene: Scene, round: Round, latest: AgentResult | undefined): Promise<Ended> {
  const { world, keeper } = scene
  const { plan } = round
  if (plan.compacts) await compactByHand(scene)
  if (plan.answer === 'wait') await world.settle(world.sleep(300))
  const order = nextOrder(world, keeper, plan, await keeper.journal.load(), latest)
  const ended = await playRun(scene, round, order)
  if (ended.process.dead) {
    world.trace.reached(`death ${ended.process.dead.when} ${ended.process.dead.how}`)
    keeper.restart()
  }
  return ended
}

async function playRun(scene: Scene, round: Round, { input, stops, cancels }: Order): Promise<Ended> {
  const { world, keeper, agent } = scene
  const { plan, place } = round
  const signals = { own: new AbortController(), journal: new AbortController() }
  if (stops || plan.startsAborted) signals.own.abort('before it began')
  const process = keeper.open(round.death, signals.journal.signal)
  world.trace.add('calls', `run\t${show(input)}`)
  noteOrder(world, round, input)
  const run = agent.run(input, {
    ...scene.options,
    ...(await runOptions(scene, round)),
    ...{ journal: process.journal, abortSignal: signals.own.signal, mode: plan.mode, onBreak: plan.driver.onBreak, onInputWhilePending: cancels ? 'cancel' : 'refuse' },
    ...approvalsOf(world, plan),
  })
  const readers = readEvents(world, round, run)
  for (const disturbance of plan.disturbances) {
    world.on(triggerOf(scene.script.extras, disturbance), () => disturb(scene, { run, signals, place }, disturbance))
  }
  return { result: await resultOf(scene, { process, run, readers }), process }
}

/** Returns no result if the process has died in silence. */
async function resultOf({ world }: Scene, { process, run, readers }: { process: Process; run: AgentRun; readers: Promise<unknown> }): Promise<AgentResult | undefined> {
  const result = run.result()
  let ends = await world.settle(result)
  if (!ends && !process.dead) {
    world.trace.reached('it stands still')
    world.trace.add('results', 'it stands still')
    run.abort('nothing goes on')
    ends = await world.settle(result)
  }
  if (!ends) {
    if (!process.dead) throw new Error('the run never ends')
    world.sideWorks.length = 0
    world.forget()
    return undefined
  }
  await world.settle(Promise.all(world.sideWorks.splice(0).map(async (side) => world.trace.add('results', show(await side.result)))))
  world.forget()
  if (!(await world.settle(readers))) throw new Error('a reader never ends')
  const given = await result
  world.trace.add('results', show(given))
  world.trace.reached(`result ${given.status} ${given.reason}`)
  for (const name of ['error', 'cost', 'submission'] as const) if (given[name] !== undefined) world.trace.reached(`result has ${name}`)
  if (given.reason === 'refused') world.trace.reached(`refused ${given.error && 'code' in given.error ? given.error.code : ''}`)
  if (given.unusedInputs.length > 0) world.trace.reached('result has unusedInputs')
  return given
}

function noteOrder({ trace, extras, script }: OracleWorld, { plan, place }: Round, input: AgentInput | undefined): void {
  const kind = input === undefined ? 'nothing' : typeof input === 'object' && ('toolResults' in input || 'approvals' in input) ? 'answers' : 'message'
  trace.reached(`input ${kind}`)
  trace.reached(`mode ${plan.mode}`)
  if (plan.onApproval) trace.reached(`onApproval ${plan.onApproval}`)
  if (extras.timed) trace.reached('reader with every delta')
  if (place > 0) return
  if (script.scenario.maxTotalTokens !== undefined) trace.reached('shared budget')
  for (const [name, value] of Object.entries(extras)) if (value !== undefined && value !== false && value !== 'none') trace.reached(`extra ${name} ${String(value)}`)
}

interface Running {
  readonly run: AgentRun
  readonly signals: Readonly<Record<'own' | 'journal', AbortController>>
  readonly place: number
}

function disturb({ world }: Scene, { run, signals, place }: Running, { kind }: Disturbance): void {
  world.trace.reached(`disturbance ${kind}`)
  world.trace.add('calls', `disturbance ${kind}`)
  switch (kind) {
    case 'abort':
      return run.abort('enough')
    case 'signal':
      return signals.own.abort()
    case 'yield':
    case 'fenced':
      return signals.journal.abort({ kind })
    case 'steer':
      return void world.give(kind, (text) => run.steer(text))
    case 'overlay':
      return void world.give(kind, (text) => run.overlay(text))
    case 'follow-up':
      return void world.give(kind, (text) => run.followUp(text))
    case 'reader':
      return void readLate(world, place, run)
    default: {
      const unknown: never = kind
      return unknown
    }
  }
}

async function readLate(world: OracleWorld, place: number, run: AgentRun): Promise<void> {
  let seen = 0
  for await (const event of run.events({ afterSeq: 2, deltas: world.extras.timed })) {
    world.trace.add(`late reader of run ${place}`, show(event))
    if (++seen === 4) return
  }
}

async function compactByHand({ world, keeper, agent, options }: Scene): Promise<void> {
  const { journal } = keeper.open(undefined, new AbortController().signal)
  const result = agent.compact({ journal, ...(options.clock && { clock: options.clock }), ...(options.ids && { ids: options.ids }) })
  await world.settle(result)
  world.trace.reached(`compact ${(await result).outcome}`)
  world.trace.add('results', show(await result))
}

function approvalsOf(world: OracleWorld, plan: RoundPlan): Partial<RunOptions> {
  const { onApproval } = plan
  if (onApproval === undefined) return {}
  return {
    onApproval: async (request) => {
      world.noteCall('onApproval', [request])
      if (onApproval === 'hang') await new Promise(() => {})
      if (onApproval === 'later') await world.sleep(world.delayOf(request.approvalId))
      if (onApproval === 'throw') throw new Error('nobody is there')
      if (onApproval === 'wrong') return { approvalId: 'another', decision: 'maybe' } as never
      return onApproval === 'open' ? undefined : decisionOn(request, { ...plan, approve: onApproval !== 'deny' })
    },
  }
}
