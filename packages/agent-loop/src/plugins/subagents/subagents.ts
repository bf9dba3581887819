import type { Subagent } from '../../contract/agent.ts'
import type { Call, Delegation, ExecutionEnding, Wires } from '../../kernel/call.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { childKeyOf } from './child-setup.ts'
import type { ChildRuns } from './child-setup.ts'
import { giveAnswers, inspectChildren } from './child-snapshot.ts'
import { closeChild } from './close-child.ts'
import { hostChild } from './host-child.ts'
import { recordChild } from './record-child.ts'
import { routeAnswers } from './route-answers.ts'
import { runChild } from './run-child.ts'
import { tellApprovals } from './tell-approvals.ts'

/** Answers calls with runs of other agents, and tells of work that tools hand on. `runs` starts them. */
export function subagentsPlugin(runs: ChildRuns): Plugin {
  const run = (turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding> => delegate(runs, turn, call, wires)
  const delegation: Delegation<Turn> = {
    refuse,
    run,
    keyOf: (turn, { row }) => childKeyOf(turn, row.toolCallId),
    suspend: tellApprovals,
    close: (turn, call) => closeChild(runs, turn, call, run),
    endsByItself: (turn) => turn.run.journal.children === undefined,
    inspect: (turn, calls) => inspectChildren(runs, turn, calls),
    route: (turn, calls, answers) => routeAnswers(runs, turn, calls, answers),
    give: giveAnswers,
  }
  return { name: 'subagents', delegation, hooks: { report: (turn, { call, report }) => recordChild(turn, call, report) } }
}

/** Why a call may not start its subagent, before there is one. */
function refuse({ run: { journal, depth, limits } }: Turn): Outcome | undefined {
  if (depth >= limits.maxDepth) return errorOutcome(`agents may hand work on ${limits.maxDepth} levels deep, and no further`, 'no')
  if (journal.child || journal.children) return undefined
  return errorOutcome('the journal of this conversation keeps no subagents', 'no')
}

/** Starts the subagent of a call or resumes it. Rejects if it cannot start. */
function delegate(runs: ChildRuns, turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding> {
  const subagent = call.tool?.subagent as Subagent
  const { children } = turn.run.journal
  return children ? hostChild(turn, call, { subagent, wires, host: children }) : runChild(runs, turn, call, { subagent, wires })
}
