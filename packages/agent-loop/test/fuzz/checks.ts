import { getEventListeners } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { phaseOf } from '../../src/index.ts'
import { repairTranscript } from '../../src/repair.ts'
import type { AgentResult, JournalState } from '../../src/index.ts'
import { checkEvents } from '@bowline/testing'
import type { RecordingJournal } from '@bowline/testing'
import { View } from '../../src/transcript/view.ts'
import { checkPrompt, promptProviders } from '../support/check-prompt.ts'
import type { Order } from './orders.ts'
import type { Played, Process } from './process.ts'
import { checkSideWork } from './side-work.ts'
import { tokensToldIn } from './spending.ts'
import type { Store } from './tested-journal.ts'
import type { World } from './world.ts'

/** Checks what must hold after a run has ended. */
export async function checkRun(process: Process, order: Order, before: JournalState, played: Played): Promise<void> {
  const { world, store } = process
  const after = await store.root.load()
  checkRest(world, played)
  checkStop(process, played)
  checkLogs(world, store.root)
  checkPrompts(world, after)
  checkInputs(process, played)
  checkExecutions(world)
  await checkSideWork(world, store.root)
  checkBudget(process, played)
  if (order.refused) checkRefusal(world, before, after, played)
  else if (hasOutcome(played.result)) checkResult(world, store, before, after, played.result)
}

/** Returns whether the log has the outcome: the run was neither refused nor yielded. */
function hasOutcome({ reason }: AgentResult): boolean {
  return reason !== 'refused' && reason !== 'yielded' && reason !== 'journal-error'
}

/** Checks that nothing is left over. */
function checkRest(world: World, { writer }: Played): void {
  world.claim(phaseOf(writer.journal) === 'idle', `A33: the phase is ${phaseOf(writer.journal)}`)
  world.claim(world.clock.testedTimers === 0, `A112: ${world.clock.testedTimers} timers are left`)
  const heard = [...world.signals].filter((signal) => getEventListeners(signal, 'abort').length > 0)
  world.claim(heard.length === 0, `A112: listeners are left on ${heard.length} signals`)
  world.signals.clear()
}

function checkStop({ world, store, agentPlan }: Process, { endedAt, result }: Played): void {
  const { stopped } = world
  if (!stopped) return
  world.claim(world.modelCalls === stopped.modelCalls, 'A107: a model was called behind the stop')
  const bound = stopped.at + agentPlan.abortGraceMs + commitsBehindStop * store.plan.latencyMs
  world.claim(endedAt <= bound, `A107: stopped at ${stopped.at}, ended at ${endedAt} as ${result.status}`)
}

/** The commit in progress, a commit that hooks wait for, the end, and what follows it. */
const commitsBehindStop = 8

function checkLogs(world: World, journal: RecordingJournal): void {
  for (const problem of checkEvents(journal.log, { unfinished: true })) world.claim(false, `A35: ${problem}`)
  for (const child of journal.childJournals.values()) checkLogs(world, child)
}

/** Checks that every provider accepts the view of a conversation without an open turn. */
function checkPrompts(world: World, { messages, compaction, open }: JournalState): void {
  if (open) return
  world.claim(repairTranscript(messages).repairs.length === 0, 'A113: the transcript needs a repair')
  const view = new View()
  for (const message of messages) view.append(message)
  if (compaction) view.setCompaction(compaction)
  for (const provider of promptProviders) {
    for (const problem of checkPrompt(view.messages, provider)) {
      // A step that only an overlay has caused follows an answer: a provider that needs a turn in between gets one.
      world.claim(problem.includes('added-turn'), `A113: ${provider}: ${problem}`)
    }
  }
}

/** Checks that the log has all usage, unless a process was lost in the middle of it. */
function checkBudget({ world, store }: Process, { result, writer }: Played): void {
  const { budget } = world
  const isLeft = writer.died || result.reason === 'yielded' || result.reason === 'journal-error'
  if (isLeft) world.isWhole = false
  if (!budget) return
  budget.checkRest()
  const told = tokensToldIn(store.root) + world.toldAside
  world.claim(budget.used >= told, `A162: ${told} tokens are in the logs, and ${budget.used} in the budget`)
  world.claim(!world.isWhole || budget.used === told, `A162: ${budget.used} tokens are in the budget, and ${told} in the logs`)
}

/** Checks that each accepted input, and no other, is in the log or is returned as unused. */
function checkInputs({ world, store }: Process, { result, writer }: Played): void {
  const log = JSON.stringify(eventsOf(store.root))
  const [unused, queued] = [JSON.stringify(result.unusedInputs), JSON.stringify(store.queue)]
  for (const { kind, text, accepted } of world.given.splice(0)) {
    world.claim(accepted !== undefined, `A95: nobody said whether ${text} is accepted`)
    if (kind === 'overlay') {
      world.claim(!log.includes(text), `A100: ${text} is in the log`)
      continue
    }
    const places = [log, unused, queued].filter((place) => place.includes(text)).length
    if (writer.died || (kind === 'follow-up' && world.inputsChange)) continue
    world.claim(places === (accepted?.ok ? 1 : 0), `A96: ${text} was ${accepted?.ok ? 'accepted' : 'refused'} and is in ${places} places`)
  }
}

function eventsOf({ events, childJournals }: RecordingJournal): readonly unknown[] {
  return [...events, ...[...childJournals.values()].flatMap(eventsOf)]
}

/** A172: checks that no call ran twice that must run only once. */
function checkExecutions(world: World): void {
  for (const [key, { toolName, count }] of world.executions) {
    const mayRepeat = ['pure', 'safe', 'alone', 'single', 'pure-timed', 'short', 'stream'].includes(toolName)
    world.claim(mayRepeat || count === 1, `A172: ${key} of ${toolName} ran ${count} times`)
  }
}

function checkRefusal(world: World, before: JournalState, after: JournalState, { result, writer, events }: Played): void {
  world.claim(result.reason === 'refused' || result.reason === 'journal-error', `A178: ${result.status} where it must be refused`)
  world.claim(writer.stored === 0 && events.length === 0 && before.seq === after.seq, 'A178: a refused run has stored something')
}

function checkResult(world: World, store: Store, before: JournalState, after: JournalState, result: AgentResult): void {
  const view = store.view()
  const same = (what: string, told: unknown, folded: unknown): void =>
    world.claim(
      isDeepStrictEqual(plain(told), plain(folded)),
      `A45: ${what} is ${JSON.stringify(told)} and ${JSON.stringify(folded)} in the log`,
    )
  // Repeated answers change nothing. They say nothing about a turn that a process has left in its middle.
  if (after.seq === before.seq && (result.reason === 'handled' || view.outcome === undefined)) return
  same('status', result.status, view.outcome)
  same('usage', result.usage, view.usage)
  same('cost', result.cost, view.cost)
  same('error', result.error, view.error)
  same('steps', result.steps, view.step)
  // A run with repeated answers only does not ask a host what its subagents wait for.
  const isKnown = ({ path }: { readonly path: readonly string[] }): boolean => after.seq > before.seq || !store.host || path.length === 0
  same('pending calls', result.pendingToolCalls, view.pendingToolCalls.filter(isKnown))
  same('pending approvals', byId(result.pendingApprovals), byId(view.pendingApprovals.filter(isKnown)))
  const end = result.messages.length
  same('messages', result.messages, end === 0 ? [] : after.messages.slice(-end))
}

/** Sorts requests by id: a result has them in the order of the calls, the log in the order in which they were asked. */
function byId(requests: AgentResult['pendingApprovals']): AgentResult['pendingApprovals'] {
  return requests.toSorted((a, b) => a.approvalId.localeCompare(b.approvalId))
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
