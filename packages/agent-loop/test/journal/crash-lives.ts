import type { AgentEvent, AgentInput, AgentResult, AgentRun, JournalState, OnUnknownOutcome, StoredMessage } from '../../src/index.ts'
import type { CrashPoint } from '@bowline/testing'
import { crashFamily, inputs } from './crash-family.ts'
import { CrashWorld } from './crash-world.ts'

export interface Life {
  readonly world: CrashWorld
  readonly state: JournalState
  readonly messages: readonly StoredMessage[]
  readonly log: readonly AgentEvent[]
  /** The logs of all conversations, by the calls that lead to them. */
  readonly logs: ReadonlyMap<string, readonly AgentEvent[]>
  /** Deaths that were due and did not happen. */
  readonly deathsLeft: number
}

/** Plays the whole conversation, through processes that die as planned and processes that answer what is pending. */
export async function liveThrough(deaths: readonly CrashPoint[], onUnknownOutcome: OnUnknownOutcome = 'stop'): Promise<Life> {
  const world = new CrashWorld(deaths)
  giveInputs(world)
  let latest: AgentResult | undefined
  for (let lives = 0; lives < 40; lives++) {
    const process = world.boot()
    const state = await process.memory.load()
    const next = nextInput(world, state, latest)
    if (next === 'over') {
      const logs = new Map([...world.logs].map(([keys, log]) => [keys.replaceAll(/run_\d+\//g, ''), log]))
      return { world, state, messages: state.messages, log: world.logs.get('') ?? [], logs, deathsLeft: world.deaths.length }
    }
    const agent = crashFamily(world, onUnknownOutcome)
    const isFirst = next === inputs.first
    const run = agent.run(next, {
      journal: process.journal,
      clock: world.clock.tested,
      ids: world.ids,
      random: () => 0.5,
      ...(isFirst && { overlays: [inputs.overlayOfRun] }),
    })
    giveAgain(world, state, run, isFirst)
    const result = run.result()
    await world.settle(result)
    latest = await result
    world.bury(process)
  }
  throw new Error('the conversation never ends')
}

/** Puts inputs into the inbox when the answer before them is stored, so that a crash does not change their place. */
function giveInputs(world: CrashWorld): void {
  world.inbox.push({ inputId: 'told', source: 'notify', input: 'told at the start' })
  const later = new Map<number, (typeof world.inbox)[number]>([
    [2, { inputId: 'steered', source: 'steer', input: 'steered from outside' }],
    [3, { inputId: 'laid over', source: 'overlay', input: 'overlay from outside' }],
  ])
  const atEnd = new Map<number, (typeof world.inbox)[number]>([[4, { inputId: 'late', source: 'steer', input: 'steered at the end' }]])
  world.onCommit = (isFinal) => {
    const due = isFinal ? atEnd : later
    const input = due.get(world.answers)
    if (input) world.inbox.push(input)
    due.delete(world.answers)
  }
}

/** Repeats inputs that the log does not hold, as a caller does whose process has died. */
function giveAgain(world: CrashWorld, { open }: JournalState, run: AgentRun, isFirst: boolean): void {
  const { told } = world
  if (!isFirst && open?.turn !== 1) return
  if (!told.includes(inputs.steeredByHand)) void run.steer(inputs.steeredByHand)
  const nudged = told.includes('"n2 ran"')
  if (nudged && !told.includes(inputs.steeredByTool)) void run.steer(inputs.steeredByTool)
  if (!told.includes(inputs.second)) void run.followUp(inputs.second)
}

/** Returns `over` at the end of the conversation. */
function nextInput(world: CrashWorld, { open }: JournalState, latest: AgentResult | undefined): AgentInput | undefined {
  if (open) return latest && answersTo(latest)
  const { told } = world
  if (!told.includes(inputs.first)) return inputs.first
  if (!told.includes(inputs.second)) return inputs.second
  return world.inbox.length > 0 ? undefined : 'over'
}

/** Returns one answer at a time, and the same one if it is asked for again. */
function answersTo({ pendingToolCalls: [call], pendingApprovals: [approval] }: AgentResult): AgentInput | undefined {
  if (call) return { toolResults: [{ toolCallId: call.toolCallId, path: call.path, output: `${call.toolCallId} ran` }] }
  return (
    approval && {
      approvals: [{ approvalId: approval.approvalId, decision: approval.path.length > 0 ? 'approve' : 'deny', reason: 'so be it' }],
    }
  )
}
