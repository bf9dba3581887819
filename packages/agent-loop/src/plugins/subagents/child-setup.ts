import type { RunOptions, Subagent } from '../../contract/agent.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { Journal, JournalState } from '../../contract/journal.ts'
import type { AgentRun } from '../../contract/run.ts'
import type { Ancestry } from '../../kernel/run-context.ts'
import type { Turn } from '../../kernel/turn.ts'

/** Where a subagent stands in the tree: under which call of its parent, and the key of its journal. */
export interface ChildPlace {
  readonly toolCallId: string
  readonly childKey: string
  readonly subagent: Subagent
}

/** How a parent sets up the run of a subagent. */
export interface ChildSetup {
  readonly subagent: Subagent
  /** A run that is stopped ends within its own grace, its subagents included. */
  readonly abortGraceMs: number
  readonly journal: Journal
  readonly options: RunOptions
  readonly ancestry: Ancestry
}

/** Starts runs of subagents, and looks at their turns. */
export interface ChildRuns {
  start(setup: ChildSetup, input: AgentInput | undefined, abortSignal: AbortSignal): AgentRun
  /** The open turn of its journal, or its next one. Nothing is run. */
  open(setup: ChildSetup, state: JournalState, runId: string): Turn
}

/** Of the subagent that a call of this turn starts: the id of its run, too. */
export function childKeyOf({ runId }: Turn, toolCallId: string): string {
  return `${runId}/${toolCallId}`
}

/** Undefined: the journal of the conversation keeps no subagents. */
export function childSetup(turn: Turn, { toolCallId, childKey, subagent }: ChildPlace): ChildSetup | undefined {
  const { run } = turn
  const { name } = subagent
  const journal = run.journal.child?.(childKey, { agent: name, toolCallId, runId: turn.runId })
  if (!journal) return undefined
  const { clock, ids, random, onUnknownOutcome, sessionKey, context, onApproval } = run
  return {
    ...{ subagent, journal, abortGraceMs: turn.agent.abortGraceMs },
    options: {
      ...{ journal, runId: childKey, source: 'agent', clock, ids, random, onUnknownOutcome },
      ...(sessionKey !== undefined && { sessionKey }),
      ...(context !== undefined && { context }),
      ...(onApproval && { onApproval: (request) => onApproval(placedBelow(request, toolCallId, name)) }),
    },
    ancestry: { path: [...run.path, name], budgets: turn.budgets, maxDepth: run.limits.maxDepth, stop: turn.stop },
  }
}

interface Placed {
  readonly path: readonly string[]
  readonly agent: readonly string[]
}

/** What a subagent waits for, as its parent sees it. */
export function placedBelow<Entry extends Placed>(entry: Entry, toolCallId: string, name: string): Entry {
  return { ...entry, path: [toolCallId, ...entry.path], agent: [name, ...entry.agent] }
}
