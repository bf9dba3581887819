import { messageOf } from '../../base/agent-error.ts'
import { isRecord } from '../../base/json.ts'
import type { Subagent } from '../../contract/agent.ts'
import type { ChildReport } from '../../contract/tool.ts'
import type { Call, Delegation, ExecutionEnding, GivenAnswers, Reporter, RoutedAnswers, Wires } from '../../kernel/call.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome, valueOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { recordChild, tellApprovals } from './child-log.ts'
import { childKeyOf, giveAnswers, hasEnded, inspectCall, inspectChild, inspectChildren, isEmpty, snapshotOf } from './child.ts'
import type { ChildRuns, ChildSnapshot } from './child.ts'
import { hostChild } from './host-child.ts'
import { runChild } from './run-child.ts'

/** Answers calls by runs of other agents, and writes events about work that tools delegate. `runs` starts the runs. */
export function subagentsPlugin(runs: ChildRuns): Plugin {
  const delegation: Delegation<Turn> = {
    refuse,
    run: (turn, call, wires) => delegate(runs, turn, call, wires),
    keyOf: (turn, { row }) => childKeyOf(turn, row.toolCallId),
    suspend: tellApprovals,
    close: (turn, call) => closeChild(runs, turn, call),
    endsByItself: (turn) => turn.run.journal.children === undefined,
    inspect: (turn, calls) => inspectChildren(runs, turn, calls),
    route: (turn, calls, answers) => routeAnswers(runs, turn, calls, answers),
    give: giveAnswers,
  }
  return { name: 'subagents', delegation, hooks: { report: (turn, { call, report }) => recordChild(turn, call, report) } }
}

/** Returns why a call may not start its subagent, before there is one. */
function refuse({ run: { journal, depth, limits } }: Turn): Outcome | undefined {
  if (depth >= limits.maxDepth) return errorOutcome(`the limit of nested subagents is reached (maxDepth: ${limits.maxDepth})`, 'no')
  if (journal.child || journal.children) return undefined
  return errorOutcome('this journal does not support subagents', 'no')
}

/** Starts the subagent of a call or resumes it. Rejects if it cannot start. */
function delegate(runs: ChildRuns, turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding> {
  const subagent = call.tool?.subagent as Subagent
  const { children } = turn.run.journal
  return children ? hostChild(turn, call, { subagent, wires, host: children }) : runChild(runs, turn, call, { subagent, wires })
}

interface ClosedChild {
  /** Outcome of a subagent that had ended before; absent if it was stopped. */
  readonly outcome?: Outcome
  readonly end?: ChildReport
}

/** Ends the open turn of a subagent whose parent is stopped. */
async function closeChild(runs: ChildRuns, turn: Turn, call: Call): Promise<ClosedChild> {
  const { tool, row, input } = call
  if (!tool?.subagent || row.childKey === undefined || row.state !== 'started') return {}
  try {
    const child = turn.run.journal.children ? snapshotOf(call) : (snapshotOf(call) ?? (await inspectCall(runs, turn, call)))
    if (child && isEmpty(child)) return {}
    const ending = await delegate(runs, turn, call, { abortSignal: AbortSignal.abort(), reporter: directReporter })
    if (ending.kind !== 'returned') return {}
    const end = ending.end && { end: ending.end }
    if (!child || !hasEnded(child)) return { ...end }
    return { ...end, outcome: await valueOutcome(tool, { toolCallId: row.toolCallId, input }, ending.value, 'here') }
  } catch (error) {
    return { outcome: errorOutcome(messageOf(error), 'here') }
  }
}

/** Drafts reports at once, because nothing else happens in the turn meanwhile. */
const directReporter: Reporter = { isOpen: () => true, tell: (take) => void take() }

interface Bin {
  readonly child: ChildSnapshot
  readonly call: Call | undefined
  readonly results: GivenAnswers['results'][number][]
  readonly approvals: GivenAnswers['approvals'][number][]
}

/** Sorts answers by subagent: results by their path, decisions by the subagent that asked. */
async function routeAnswers(
  runs: ChildRuns,
  turn: Turn,
  calls: readonly Call[],
  { results, approvals }: GivenAnswers,
): Promise<RoutedAnswers<Turn>> {
  const bins = new Map<string, Bin>()
  for (const call of calls) {
    const child = snapshotOf(call)
    if (child) bins.set(call.row.toolCallId, { child, call, results: [], approvals: [] })
  }
  const own: { results: (typeof results)[number][]; approvals: (typeof approvals)[number][] } = { results: [], approvals: [] }
  for (const result of results) {
    const [first, ...rest] = result.path ?? []
    const bin = first === undefined ? undefined : await binOf(runs, bins, turn, calls, first)
    if (bin) bin.results.push({ ...result, path: rest })
    else own.results.push(result)
  }
  for (const decision of approvals) {
    const bin = [...bins.values()].find(({ child }) => asks(child.calls, decision.approvalId))
    ;(bin ?? own).approvals.push(decision)
  }
  return { own, below: [...bins.values()].map(({ child, call, ...answers }) => ({ turn: child.turn, calls: child.calls, call, answers })) }
}

/** Returns the bin for a call. The bin of an ended subagent is made only when there is an answer for it, which may be a repeat. */
async function binOf(
  runs: ChildRuns,
  bins: Map<string, Bin>,
  turn: Turn,
  calls: readonly Call[],
  toolCallId: string,
): Promise<Bin | undefined> {
  const known = bins.get(toolCallId)
  if (known) return known
  const child = await endedChild(runs, turn, calls, toolCallId)
  if (!child) return undefined
  const bin: Bin = { child, call: undefined, results: [], approvals: [] }
  bins.set(toolCallId, bin)
  return bin
}

async function endedChild(runs: ChildRuns, turn: Turn, calls: readonly Call[], toolCallId: string): Promise<ChildSnapshot | undefined> {
  const open = calls.find(({ row }) => row.toolCallId === toolCallId)
  const result = open?.row.outcome ?? turn.transcript.resultOf(toolCallId)
  const subagent = result && turn.agent.tools.get(result.toolName)?.subagent
  const childKey = isRecord(result?.details) ? result.details['childRunId'] : undefined
  if (!subagent || typeof childKey !== 'string' || turn.run.journal.children) return undefined
  return inspectChild(runs, turn, { toolCallId, childKey, subagent })
}

function asks(calls: readonly Call[], approvalId: string): boolean {
  return calls.some((call) => call.row.approval?.approvalId === approvalId || asks(snapshotOf(call)?.calls ?? [], approvalId))
}
