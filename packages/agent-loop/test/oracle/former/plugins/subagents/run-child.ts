import type { Subagent } from '../../contract/agent.ts'
import type { Spending } from '../../contract/budget.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { AbortCause } from '../../contract/journal.ts'
import type { AgentResult, AgentRun } from '../../contract/run.ts'
import { isSuspended } from '../../events/status.ts'
import type { AgentErrorData, ChildUpdateEvent } from '../../events/types.ts'
import type { Call } from '../../kernel/call.ts'
import type { ExecutionEnding, Reporter } from '../../kernel/execute.ts'
import type { Turn } from '../../kernel/turn.ts'
import { startRun } from '../../run/agent-run.ts'
import { clientCalls, textOf } from '../../transcript/client-calls.ts'
import { endReport, returnedBy } from './child-result.ts'
import type { ChildEnd } from './child-result.ts'
import { childSetup, placedBelow } from './child-setup.ts'
import type { ChildSetup } from './child-setup.ts'
import type { DelegateInput } from './delegate-schema.ts'
import type { DelegateWires } from './delegate.ts'
import { hasEnded, isEmpty, placeOf, totalSpending } from './standing.ts'
import type { ChildStanding } from './standing.ts'

interface Delegation {
  readonly subagent: Subagent
  readonly wires: DelegateWires
}

/** Runs a subagent in place: from its prompt, from where an earlier segment has left it, or with answers. */
export async function runChild(turn: Turn, call: Call, { subagent, wires }: Delegation): Promise<ExecutionEnding> {
  const place = placeOf(call)
  const setup = place && childSetup(turn, place)
  if (!setup) throw new TypeError('the journal of this conversation keeps no subagents')
  const { description } = call.input as unknown as DelegateInput
  const { childKey: childRunId } = place
  wires.reporter.report({ kind: 'start', childRunId, subagent: subagent.name, ...(description !== undefined && { description }) })
  if (call.child && hasEnded(call.child)) return ended(endOf(call.child, childRunId))
  reportStatus(call, childRunId, wires, 'running')
  const { turns, result } = await played(turn, call, { setup, wires, childRunId })
  if (leaves(turn, result)) return { kind: 'unsettled' }
  if (isSuspended(result.status)) {
    reportStatus(call, childRunId, wires, result.status)
    return { kind: 'suspended', below: below(call, subagent, result) }
  }
  const { status, text, steps, error } = result
  const spent = totalSpending([call.child?.state.ended, ...turns.values()])
  return ended({ childRunId, status, text, steps, spent, ...(error && { error }) })
}

/** Repeats the last update with another status: the subagent starts to wait after it, or resumes. */
function reportStatus({ row }: Call, childRunId: string, { reporter }: DelegateWires, status: ChildUpdateEvent['status']): void {
  const last = row.told?.find((told) => told.childRunId === childRunId)?.update
  if (last) reporter.report({ kind: 'update', childRunId, ...last, status })
}

function ended(end: ChildEnd): ExecutionEnding {
  return { kind: 'returned', value: returnedBy(end), end: endReport(end) }
}

/** Of a run whose end its parent did not come to see. */
function endOf({ state, turn, spent }: ChildStanding, childRunId: string): ChildEnd {
  if (!state.ended) throw new TypeError('the journal of the subagent does not say how it ended')
  const { status, steps, error } = state.ended
  return { childRunId, status, steps, text: textOf(turn.transcript.latestAnswer), spent, ...(error && { error }) }
}

interface Play {
  readonly setup: ChildSetup
  readonly wires: DelegateWires
  readonly childRunId: string
}

interface Played {
  readonly result: AgentResult
  /** What each turn of it has used, by run id: a subagent may have follow-ups. */
  readonly turns: ReadonlyMap<string, Spending>
}

async function played(turn: Turn, call: Call, { setup, wires, childRunId }: Play): Promise<Played> {
  const { toolCallId } = call.row
  const abortSignal = passOn(turn, wires.abortSignal)
  const start = (input: AgentInput | undefined): Promise<Played> => {
    const run = startRun(setup.agent, input, { ...setup.options, abortSignal }, setup.ancestry)
    turn.run.children.set(toolCallId, run)
    return watched(run, childRunId, wires.reporter)
  }
  try {
    const first = await start(inputFor(call))
    // What was checked a moment ago is refused only when its time ran out meanwhile.
    return first.result.reason === 'refused' && call.answers ? await start(undefined) : first
  } finally {
    turn.run.children.delete(toolCallId)
  }
}

function inputFor({ child, answers, input }: Call): AgentInput | undefined {
  if (child && !isEmpty(child)) return answers
  return (input as unknown as DelegateInput).prompt
}

/** Reads the log of a run to its end and tells what concerns its parent. */
async function watched(run: AgentRun, childRunId: string, { report, resolve }: Reporter): Promise<Played> {
  const turns = new Map<string, Spending>()
  for await (const event of run.events({ deltas: false })) {
    if (event.type === 'approval-resolved') resolve(event)
    if (event.type === 'turn-end') turns.set(event.runId, event)
    if (event.type !== 'message-end') continue
    const { step, message } = event
    const toolNames = clientCalls(message).map(({ toolName }) => toolName)
    report({ kind: 'update', childRunId, step, text: textOf(message), toolNames })
  }
  const result = await run.result()
  // A run whose journal failed has no turn-end.
  turns.set(result.runId, result)
  return { result, turns }
}

/** The parent's abort as the child's, with its cause: what only leaves must not be ended. */
function passOn(turn: Turn, parent: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(causeOf(turn))
  if (parent.aborted) abort()
  // The parent's signal is that of this call alone: it goes when the call has ended.
  else parent.addEventListener('abort', abort, { once: true })
  return controller.signal
}

function causeOf({ stop }: Turn): AbortCause {
  const { cause } = stop
  if (!cause) return { kind: 'stop' }
  const reason = 'status' in cause ? cause.message : cause.reason
  return { kind: cause.kind, ...(reason !== undefined && { reason }) }
}

/** The child was left to another process: then so is its parent, whoever of them was told. */
function leaves(turn: Turn, { reason, error }: AgentResult): boolean {
  const fenced = reason === 'journal-error' && (error as AgentErrorData | undefined)?.code === 'fenced'
  if (fenced) turn.stop.stop({ kind: 'fenced' })
  else if (reason === 'yielded') turn.stop.stop({ kind: 'yield' })
  return fenced || reason === 'yielded'
}

function below({ row }: Call, { name }: Subagent, { pendingToolCalls, pendingApprovals }: AgentResult): NonNullable<Call['below']> {
  return {
    pendingToolCalls: pendingToolCalls.map((pending) => placedBelow(pending, row.toolCallId, name)),
    pendingApprovals: pendingApprovals.map((request) => placedBelow(request, row.toolCallId, name)),
  }
}
