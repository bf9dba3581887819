import { isRecord } from '../../base/json.ts'
import type { Call, GivenAnswers, RoutedAnswers } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import type { ChildRuns } from './child-setup.ts'
import { inspectChild, snapshotOf } from './child-snapshot.ts'
import type { ChildSnapshot } from './child-snapshot.ts'

interface Bin {
  readonly child: ChildSnapshot
  readonly call: Call | undefined
  readonly results: GivenAnswers['results'][number][]
  readonly approvals: GivenAnswers['approvals'][number][]
}

/** Which answers are for which subagent: results go by their path, decisions to the subagent that asked. */
export async function routeAnswers(
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
  const own: { results: typeof results[number][]; approvals: typeof approvals[number][] } = { results: [], approvals: [] }
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

/** That of a subagent whose call has ended is made when something is said to it: it may be a repeat. */
async function binOf(runs: ChildRuns, bins: Map<string, Bin>, turn: Turn, calls: readonly Call[], toolCallId: string): Promise<Bin | undefined> {
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
