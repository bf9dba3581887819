import { definitionOf } from '../../agent/definition.ts'
import type { AgentDefinition } from '../../agent/definition.ts'
import type { RunOptions, Subagent } from '../../contract/agent.ts'
import type { Journal } from '../../contract/journal.ts'
import type { Turn } from '../../kernel/turn.ts'
import type { Ancestry } from '../../run/run-parts.ts'

/** Where a subagent stands in the tree: under which call of its parent, and the key of its journal. */
export interface ChildPlace {
  readonly toolCallId: string
  readonly childKey: string
  readonly subagent: Subagent
}

/** How a parent sets up the run of a subagent. */
export interface ChildSetup {
  readonly agent: AgentDefinition
  readonly journal: Journal
  readonly options: RunOptions
  readonly ancestry: Ancestry
}

/** Of the subagent that a call of this turn starts: the id of its run, too. */
export function childKeyOf({ runId }: Turn, toolCallId: string): string {
  return `${runId}/${toolCallId}`
}

/** Undefined: the journal of the conversation keeps no subagents. */
export function childSetup(turn: Turn, { toolCallId, childKey, subagent }: ChildPlace): ChildSetup | undefined {
  const { run } = turn
  const { name, source } = subagent
  const agent = definitionOf(source)
  const journal = run.journal.child?.(childKey, { agent: name, toolCallId, runId: turn.runId })
  if (!journal || !agent) return undefined
  const { clock, ids, random, onUnknownOutcome, sessionKey, context, onApproval } = run
  return {
    journal,
    // A run that is stopped ends within its own grace, its subagents included.
    agent: { ...agent, abortGraceMs: Math.min(agent.abortGraceMs, turn.agent.abortGraceMs) },
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
