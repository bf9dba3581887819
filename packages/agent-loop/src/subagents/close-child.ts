import { messageOf } from '../agent-error.ts'
import { recordChild } from '../loop/record-child.ts'
import type { Turn } from '../loop/turn.ts'
import type { Call } from '../tools/call.ts'
import type { Reporter } from '../tools/execute.ts'
import { errorOutcome, returnedOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { delegate } from './delegate.ts'
import { hasEnded, isEmpty, placeOf, standingOf } from './standing.ts'
import { tellDecision } from './tell-approvals.ts'

/**
 * Ends the open turn of a subagent whose parent is stopped. What it had come to before is the outcome of the call; else
 * undefined.
 */
export async function closeChild(turn: Turn, call: Call): Promise<Outcome | undefined> {
  const { tool, row, input } = call
  if (!tool?.subagent || row.childKey === undefined || row.state !== 'started') return undefined
  try {
    if (!turn.run.journal.children) call.child ??= await standingOf(turn, placeOf(call))
    if (call.child && isEmpty(call.child)) return undefined
    const wires = { abortSignal: AbortSignal.abort(), reporter: directReporter(turn, call) }
    const ending = await delegate(turn, call, tool.subagent, wires)
    if (ending.kind === 'returned' && ending.end) recordChild(turn, call, ending.end)
    const keeps = ending.kind === 'returned' && call.child && hasEnded(call.child)
    return keeps ? await returnedOutcome(tool, { toolCallId: row.toolCallId, input }, ending.value, 'here') : undefined
  } catch (error) {
    return errorOutcome(messageOf(error), 'here')
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
