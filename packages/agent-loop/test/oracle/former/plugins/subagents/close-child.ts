import { messageOf } from '../../base/agent-error.ts'
import type { ChildReport } from '../../contract/tool.ts'
import type { Call } from '../../kernel/call.ts'
import type { Reporter } from '../../kernel/execute.ts'
import { recordChild } from '../../kernel/record-child.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome, valueOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { delegate } from './delegate.ts'
import { hasEnded, isEmpty, placeOf, standingOf } from './standing.ts'
import { tellDecision } from './tell-approvals.ts'

interface ClosedChild {
  /** What the subagent had come to before; absent when it was stopped. */
  readonly outcome?: Outcome
  readonly end?: ChildReport
}

/** Ends the open turn of a subagent whose parent is stopped. */
export async function closeChild(turn: Turn, call: Call): Promise<ClosedChild> {
  const { tool, row, input } = call
  if (!tool?.subagent || row.childKey === undefined || row.state !== 'started') return {}
  try {
    if (!turn.run.journal.children) call.child ??= await standingOf(turn, placeOf(call))
    if (call.child && isEmpty(call.child)) return {}
    const wires = { abortSignal: AbortSignal.abort(), reporter: directReporter(turn, call) }
    const ending = await delegate(turn, call, tool.subagent, wires)
    if (ending.kind !== 'returned') return {}
    const end = ending.end && { end: ending.end }
    if (!call.child || !hasEnded(call.child)) return { ...end }
    return { ...end, outcome: await valueOutcome(tool, { toolCallId: row.toolCallId, input }, ending.value, 'here') }
  } catch (error) {
    return { outcome: errorOutcome(messageOf(error), 'here') }
  }
}

/** Nothing else happens in the turn meanwhile: what is said is drafted at once. */
function directReporter(turn: Turn, call: Call): Reporter {
  return {
    isOpen: () => true,
    report: (report) => recordChild(turn, call, report),
    resolve: (event) => tellDecision(turn, call, event),
  }
}
