import { messageOf } from '../../base/agent-error.ts'
import type { ChildReport } from '../../contract/tool.ts'
import type { Call, ExecutionEnding, Reporter, Wires } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome, valueOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { ChildRuns } from './child-setup.ts'
import { hasEnded, inspectCall, isEmpty, snapshotOf } from './child-snapshot.ts'

interface ClosedChild {
  /** What the subagent had come to before; absent when it was stopped. */
  readonly outcome?: Outcome
  readonly end?: ChildReport
}

type Run = (turn: Turn, call: Call, wires: Wires) => Promise<ExecutionEnding>

/** Ends the open turn of a subagent whose parent is stopped. */
export async function closeChild(runs: ChildRuns, turn: Turn, call: Call, run: Run): Promise<ClosedChild> {
  const { tool, row, input } = call
  if (!tool?.subagent || row.childKey === undefined || row.state !== 'started') return {}
  try {
    const child = turn.run.journal.children ? snapshotOf(call) : (snapshotOf(call) ?? (await inspectCall(runs, turn, call)))
    if (child && isEmpty(child)) return {}
    const ending = await run(turn, call, { abortSignal: AbortSignal.abort(), reporter: directReporter })
    if (ending.kind !== 'returned') return {}
    const end = ending.end && { end: ending.end }
    if (!child || !hasEnded(child)) return { ...end }
    return { ...end, outcome: await valueOutcome(tool, { toolCallId: row.toolCallId, input }, ending.value, 'here') }
  } catch (error) {
    return { outcome: errorOutcome(messageOf(error), 'here') }
  }
}

/** Nothing else happens in the turn meanwhile: what is said is drafted at once. */
const directReporter: Reporter = { isOpen: () => true, tell: (take) => void take() }
