import { addUsage } from '@bowline/llm'
import type { RunOptions, Subagent } from '../../contract/agent.ts'
import type { AgentInput, Answers } from '../../contract/input.ts'
import type { Journal, JournalState } from '../../contract/journal.ts'
import type { AgentRun, Spending } from '../../contract/run.ts'
import { sumCost } from '../../events/spending.ts'
import { isOverdue, isSettled, pendingApprovals, pendingToolCalls } from '../../kernel/call.ts'
import type { Call, GivenAnswers, PendingBelow } from '../../kernel/call.ts'
import { openCalls } from '../../kernel/enter.ts'
import type { Ancestry } from '../../kernel/run-context.ts'
import { startable } from '../../kernel/settle.ts'
import type { Turn } from '../../kernel/turn.ts'

/** The place of a subagent in the tree: the call of its parent, and the key of its journal. */
interface ChildPlace {
  readonly toolCallId: string
  readonly childKey: string
  readonly subagent: Subagent
}

/** Setup of a subagent's run by its parent. */
export interface ChildSetup {
  readonly subagent: Subagent
  /** A run that is stopped ends within this grace, with its subagents. */
  readonly abortGraceMs: number
  readonly journal: Journal
  readonly options: RunOptions
  readonly ancestry: Ancestry
}

/** Starts runs of subagents, and inspects their turns. */
export interface ChildRuns {
  start(setup: ChildSetup, input: AgentInput | undefined, abortSignal: AbortSignal): AgentRun
  /** Returns the open turn of the journal, or its next one. Runs nothing. */
  open(setup: ChildSetup, state: JournalState, runId: string): Turn
}

/** Returns the journal key of the subagent that a call of this turn starts. It is also the id of the subagent's run. */
export function childKeyOf({ runId }: Turn, toolCallId: string): string {
  return `${runId}/${toolCallId}`
}

/** Returns undefined if the journal does not support subagents. */
export function childSetup(turn: Turn, { toolCallId, childKey, subagent }: ChildPlace): ChildSetup | undefined {
  const { run } = turn
  const { name } = subagent
  const journal = run.journal.child?.(childKey, { agent: name, toolCallId, runId: turn.runId })
  if (!journal) return undefined
  const { clock, ids, random, onUnknownOutcome, sessionKey, context, onApproval } = run
  return {
    subagent,
    journal,
    abortGraceMs: turn.agent.abortGraceMs,
    options: {
      journal,
      runId: childKey,
      source: 'agent',
      clock,
      ids,
      random,
      onUnknownOutcome,
      ...(sessionKey !== undefined && { sessionKey }),
      ...(context !== undefined && { context }),
      ...(onApproval && { onApproval: (request) => onApproval(placedBelow(request, toolCallId, name)) }),
    },
    ancestry: {
      path: [...run.path, name],
      budgets: turn.budgets,
      maxDepth: run.limits.maxDepth,
      onBudget: run.limits.onBudget,
      stop: turn.stop,
    },
  }
}

interface Placed {
  readonly path: readonly string[]
  readonly agent: readonly string[]
}

/** Returns the calls and approvals that a subagent waits for, as its parent sees them. */
export function pendingBelow(waiting: PendingBelow, toolCallId: string, name: string): PendingBelow {
  return {
    pendingToolCalls: waiting.pendingToolCalls.map((pending) => placedBelow(pending, toolCallId, name)),
    pendingApprovals: waiting.pendingApprovals.map((request) => placedBelow(request, toolCallId, name)),
  }
}

function placedBelow<Entry extends Placed>(entry: Entry, toolCallId: string, name: string): Entry {
  return { ...entry, path: [toolCallId, ...entry.path], agent: [name, ...entry.agent] }
}

/** The conversation of a subagent as its journal has it. It is inspected, not run. */
export interface ChildSnapshot {
  readonly state: JournalState
  readonly turn: Turn
  /** Calls of the open step, with the snapshots of their own subagents. */
  readonly calls: readonly Call[]
  /** Usage so far, including that of its own subagents that have not ended. */
  readonly spent: Spending
}

const snapshots = new WeakMap<Call, ChildSnapshot>()
const answers = new WeakMap<Call, Answers>()

/** Returns the snapshot of a subagent that an earlier segment has started, taken when this segment began. */
export function snapshotOf(call: Call): ChildSnapshot | undefined {
  return snapshots.get(call)
}

/** Returns the answers with which the subagent of the call must be entered. */
export function answersOf(call: Call): Answers | undefined {
  return answers.get(call)
}

/** Marks the subagent of the call to be entered with these answers. */
export function giveAnswers(call: Call, { results, approvals }: GivenAnswers): void {
  answers.set(call, { toolResults: results, approvals })
  call.below = undefined
  call.entering = true
}

/**
 * Reads the journals of the subagents that an earlier segment has started. A subagent that only waits for answers from outside is
 * left alone until they come; any other is entered again.
 */
export async function inspectChildren(runs: ChildRuns, turn: Turn, calls: readonly Call[]): Promise<void> {
  for (const call of calls) {
    if (call.row.state !== 'started' || call.row.childKey === undefined) continue
    call.entering = true
    if (turn.run.journal.children) continue
    const snapshot = await inspectCall(runs, turn, call)
    if (!snapshot) continue
    turn.ownBudget?.charge(snapshot.spent)
    const { row, tool } = call
    const waiting = { pendingToolCalls: pendingToolCalls(snapshot.calls), pendingApprovals: pendingApprovals(snapshot.calls) }
    call.below = pendingBelow(waiting, row.toolCallId, tool?.subagent?.name ?? '')
    call.entering = !onlyWaits(snapshot)
  }
}

/** Takes the snapshot of the call's subagent. */
export async function inspectCall(runs: ChildRuns, turn: Turn, call: Call): Promise<ChildSnapshot | undefined> {
  const snapshot = await inspectChild(runs, turn, placeOf(call))
  if (snapshot) snapshots.set(call, snapshot)
  return snapshot
}

/** Returns undefined if the call's tool does not belong to a subagent any more. */
export function placeOf({ row, tool }: Call): ChildPlace | undefined {
  const { toolCallId, childKey } = row
  return tool?.subagent && childKey !== undefined ? { toolCallId, childKey, subagent: tool.subagent } : undefined
}

export async function inspectChild(runs: ChildRuns, turn: Turn, place: ChildPlace | undefined): Promise<ChildSnapshot | undefined> {
  const setup = place && childSetup(turn, place)
  if (!setup) return undefined
  const state = await setup.journal.load()
  const child = runs.open(setup, state, place.childKey)
  const calls = openCalls(child, state.open)
  await inspectChildren(runs, child, calls)
  const spent = totalSpending([state.ended, state.open, ...calls.map((call) => snapshots.get(call)?.spent)])
  return { state, turn: child, calls, spent }
}

/** Returns whether nothing of the subagent is stored: its run has not begun. */
export function isEmpty({ state }: ChildSnapshot): boolean {
  return !state.open && !state.input && state.turns === 0
}

export function hasEnded(child: ChildSnapshot): boolean {
  return !child.state.open && !child.state.input && !isEmpty(child)
}

export function totalSpending(parts: readonly (Spending | undefined)[]): Spending {
  return parts.reduce<Spending>(
    (sum, part) => {
      if (!part) return sum
      const cost = sumCost({ usage: sum.usage, cost: sum.cost }, { usage: part.usage, cost: part.cost })
      return { usage: addUsage(sum.usage, part.usage), ...(cost && { cost }) }
    },
    { usage: {} },
  )
}

/**
 * Returns whether running the subagent would change nothing: each of its open calls waits for an answer, or for a subagent that
 * only waits.
 */
function onlyWaits({ turn, calls }: ChildSnapshot): boolean {
  const open = calls.filter((call) => !isSettled(call))
  // The budgets may have been raised meanwhile.
  if (open.some(({ row }) => row.about === 'budget')) return false
  if (open.length === 0 || startable(calls, turn.agent.toolConcurrency).length > 0) return false
  return open.every((call) => (call.row.state === 'started' ? call.below !== undefined : !isOverdue(call, turn.clock.now())))
}
