import { defineAgent } from '../../src/index.ts'
import type { AgentResult } from '../../src/index.ts'
import { fakeIds } from '@bowline/testing'
import { plannedModel } from './answers.ts'
import { hostStandsStill } from './child-host.ts'
import { checkRun } from './checks.ts'
import { nextOrder } from './orders.ts'
import { mayStandStill, plannedAgent } from './planned-agent.ts'
import { play } from './process.ts'
import type { Process } from './process.ts'
import { calmRound } from './scenarios.ts'
import type { AgentPlan, Scenario } from './scenarios.ts'
import { SharedBudget } from './shared-budget.ts'
import { tokensToldIn } from './spending.ts'
import { Store } from './tested-journal.ts'
import { plannedTools } from './tools.ts'
import { World } from './world.ts'

/** Plays a conversation, which must accept one more input at its end. Returns the faults. */
export async function converse(scenario: Scenario): Promise<readonly string[]> {
  const world = new World()
  const store = new Store(world, scenario.journal)
  const ids = fakeIds()
  const budget = scenario.maxTotalTokens === undefined ? undefined : new SharedBudget(world, scenario.maxTotalTokens)
  Object.assign(world, { ids, budget, toolConcurrency: scenario.agent.toolConcurrency })
  const options = { ids, ...(budget && { budget }) }
  const process = { world, store, agent: plannedAgent(world, scenario.agent), agentPlan: scenario.agent, options }
  planInputs(world, store, scenario)
  let latest: AgentResult | undefined
  for (const plan of scenario.rounds) {
    latest = await playRound({ ...process, plan }, latest)
    if (world.faults.length > 0) return world.faults
  }
  const quiet = { ...scenario.agent, abortGraceMs: 200 }
  const agent = defineAgent({ model: plannedModel(world, []), tools: plannedTools(world), subagents: [], abortGraceMs: 200 })
  Object.assign(world, { budget: undefined, toolConcurrency: Infinity })
  const last = await playRound({ ...process, agent, agentPlan: quiet, plan: calmRound, options: { ids } }, undefined)
  world.claim(last.status === 'completed', `A110: the last input ends as ${last.status} for ${last.reason} ${JSON.stringify(last.error)}`)
  return world.faults
}

type Planned = Process & { readonly agentPlan: AgentPlan }

async function playRound(process: Planned, latest: AgentResult | undefined): Promise<AgentResult> {
  const { world, store, plan } = process
  if (plan.compacts) await compactByHand(process)
  if (plan.answer === 'wait') {
    const waited = world.sleep(300)
    await world.settle(waited)
  }
  const before = await store.root.load()
  const order = nextOrder(world, store, plan, before, latest)
  const played = await play(process, order)
  const { host } = store.plan
  const mayWait = mayStandStill(process.agentPlan) || plan.onApproval === 'hang' || (host !== undefined && hostStandsStill(host))
  world.claim(!played.stoodStill || mayWait, 'the run stood still')
  await checkRun(process, order, before, played)
  return played.result
}

async function compactByHand({ world, store, agent, options }: Process): Promise<void> {
  const { budget } = world
  // This compaction belongs to no run, and to no budget of a run.
  world.budget = undefined
  const told = tokensToldIn(store.root)
  const writer = store.open(undefined, new AbortController().signal)
  const { ids } = options
  const result = agent.compact({ journal: writer.journal, clock: world.clock.tested, ...(ids && { ids }) })
  if (!(await world.settle(result))) throw new Error('the compaction never ends')
  writer.over = true
  world.budget = budget
  world.toldAside -= tokensToldIn(store.root) - told
  const { open } = await store.root.load()
  const { outcome } = await result
  world.claim(!open || outcome === 'skipped', `A30: a compaction inside of a turn is ${outcome}`)
}

function planInputs(world: World, store: Store, { journal }: Scenario): void {
  for (const [place, { source, after }] of journal.inputs.entries()) {
    world.plan(after, () => void store.waiting.push({ inputId: `elsewhere-${place}`, source, input: world.name(source) }))
  }
}
