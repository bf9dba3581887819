import { addUsage } from '@bowline/llm'
import type { Spending } from '../../contract/budget.ts'
import type { JournalState } from '../../contract/journal.ts'
import { sumCost } from '../../events/sum-cost.ts'
import { isOverdue, isSettled, pendingApprovals, pendingToolCalls } from '../../kernel/call.ts'
import type { Call } from '../../kernel/call.ts'
import { startable } from '../../kernel/schedule.ts'
import type { Turn } from '../../kernel/turn.ts'
import { openCalls, openTurn } from '../../run/open-turn.ts'
import { RunParts } from '../../run/run-parts.ts'
import { childSetup, placedBelow } from './child-setup.ts'
import type { ChildPlace } from './child-setup.ts'

/** The conversation of a subagent as it stands in its journal, looked at and not run. */
export interface ChildStanding {
  readonly state: JournalState
  readonly turn: Turn
  /** Of the open step, with what stands below them. */
  readonly calls: readonly Call[]
  /** What it has used so far, and its own subagents that have not ended. */
  readonly spent: Spending
}

/**
 * Looks into the journals of the subagents that an earlier segment has started. One that only waits for somebody
 * outside is left alone until that somebody answers; any other is to be entered again.
 */
export async function lookBelow(turn: Turn, calls: readonly Call[]): Promise<void> {
  for (const call of calls) {
    if (call.row.state !== 'started' || call.row.childKey === undefined) continue
    call.entering = true
    if (turn.run.journal.children) continue
    call.child = await standingOf(turn, placeOf(call))
    if (!call.child) continue
    turn.ownBudget?.charge(call.child.spent)
    call.below = waitsBelow(call, call.child)
    call.entering = !onlyWaits(call.child)
  }
}

/** Undefined for a call whose tool is none of a subagent any more. */
export function placeOf({ row, tool }: Call): ChildPlace | undefined {
  const { toolCallId, childKey } = row
  return tool?.subagent && childKey !== undefined ? { toolCallId, childKey, subagent: tool.subagent } : undefined
}

export async function standingOf(turn: Turn, place: ChildPlace | undefined): Promise<ChildStanding | undefined> {
  const setup = place && childSetup(turn, place)
  if (!setup) return undefined
  const { agent, options, journal, ancestry } = setup
  const state = await journal.load()
  const child = openTurn(new RunParts(agent, options, journal, ancestry), state, place.childKey)
  const calls = openCalls(child, state)
  await lookBelow(child, calls)
  return { state, turn: child, calls, spent: spentBy(state, calls) }
}

/** Nothing of it is stored: its run has not begun. */
export function isEmpty({ state }: ChildStanding): boolean {
  return !state.open && !state.input && state.turns === 0
}

export function hasEnded(child: ChildStanding): boolean {
  return !child.state.open && !child.state.input && !isEmpty(child)
}

function spentBy({ open, ended }: JournalState, calls: readonly Call[]): Spending {
  return totalSpending([ended, open, ...calls.map(({ child }) => child?.spent)])
}

export function totalSpending(parts: readonly (Spending | undefined)[]): Spending {
  return parts.reduce<Spending>((sum, part) => {
    if (!part) return sum
    const cost = sumCost({ usage: sum.usage, cost: sum.cost }, { usage: part.usage, cost: part.cost })
    return { usage: addUsage(sum.usage, part.usage), ...(cost && { cost }) }
  }, { usage: {} })
}

function waitsBelow({ row, tool }: Call, child: ChildStanding): NonNullable<Call['below']> {
  const place = <Entry extends Parameters<typeof placedBelow>[0]>(entry: Entry): Entry =>
    placedBelow(entry, row.toolCallId, tool?.subagent?.name ?? '')
  return {
    pendingToolCalls: pendingToolCalls(child.calls).map(place),
    pendingApprovals: pendingApprovals(child.calls).map(place),
  }
}

/** Running it would change nothing: each of its open calls waits for somebody, or for such a call. */
function onlyWaits({ turn, calls }: ChildStanding): boolean {
  const open = calls.filter((call) => !isSettled(call))
  if (open.length === 0 || startable(calls, turn.agent.toolConcurrency).length > 0) return false
  return open.every((call) => (call.row.state === 'started' ? call.below !== undefined : !isOverdue(turn, call)))
}
