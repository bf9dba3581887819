import { isRecord } from '../../base/json.ts'
import type { Call } from '../../kernel/call.ts'
import type { GivenAnswers } from '../../kernel/submission.ts'
import type { Turn } from '../../kernel/turn.ts'
import { standingOf } from './standing.ts'
import type { ChildStanding } from './standing.ts'

export interface RoutedAnswers {
  /** For calls of this run, or for nobody. */
  readonly own: GivenAnswers
  /** By subagent; those that wait are here without answers, too. */
  readonly below: readonly RoutedBelow[]
}

export interface RoutedBelow {
  readonly child: ChildStanding
  /** The open call whose subagent it is; undefined when that has ended. */
  readonly call: Call | undefined
  readonly answers: GivenAnswers
}

interface Bin {
  readonly child: ChildStanding
  readonly call: Call | undefined
  readonly results: GivenAnswers['results'][number][]
  readonly approvals: GivenAnswers['approvals'][number][]
}

/** Which answers are for which subagent: results go by their path, decisions to whoever asked. */
export async function routeAnswers(turn: Turn, calls: readonly Call[], { results, approvals }: GivenAnswers): Promise<RoutedAnswers> {
  const bins = new Map<string, Bin>()
  for (const call of calls) {
    if (call.child) bins.set(call.row.toolCallId, { child: call.child, call, results: [], approvals: [] })
  }
  const own: { results: typeof results[number][]; approvals: typeof approvals[number][] } = { results: [], approvals: [] }
  for (const result of results) {
    const [first, ...rest] = result.path ?? []
    const bin = first === undefined ? undefined : await binOf(bins, turn, calls, first)
    if (bin) bin.results.push({ ...result, path: rest })
    else own.results.push(result)
  }
  for (const decision of approvals) {
    const bin = [...bins.values()].find(({ child }) => asks(child.calls, decision.approvalId))
    ;(bin ?? own).approvals.push(decision)
  }
  return { own, below: [...bins.values()].map(({ child, call, ...answers }) => ({ child, call, answers })) }
}

/** That of a subagent whose call has ended is made when something is said to it: it may be a repeat. */
async function binOf(bins: Map<string, Bin>, turn: Turn, calls: readonly Call[], toolCallId: string): Promise<Bin | undefined> {
  const known = bins.get(toolCallId)
  if (known) return known
  const child = await endedChild(turn, calls, toolCallId)
  if (!child) return undefined
  const bin: Bin = { child, call: undefined, results: [], approvals: [] }
  bins.set(toolCallId, bin)
  return bin
}

async function endedChild(turn: Turn, calls: readonly Call[], toolCallId: string): Promise<ChildStanding | undefined> {
  const open = calls.find(({ row }) => row.toolCallId === toolCallId)
  const result = open?.row.outcome ?? turn.transcript.resultOf(toolCallId)
  const subagent = result && turn.agent.tools.get(result.toolName)?.subagent
  const childKey = isRecord(result?.details) ? result.details['childRunId'] : undefined
  if (!subagent || typeof childKey !== 'string' || turn.run.journal.children) return undefined
  return standingOf(turn, { toolCallId, childKey, subagent })
}

function asks(calls: readonly Call[], approvalId: string): boolean {
  return calls.some(({ row, child }) => row.approval?.approvalId === approvalId || (child && asks(child.calls, approvalId)))
}
