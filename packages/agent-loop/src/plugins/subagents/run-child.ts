import { clientCalls, findOutput, textOf } from '../../base/messages.ts'
import type { Subagent } from '../../contract/agent.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { AbortCause } from '../../contract/journal.ts'
import type { AgentResult, AgentRun, Spending } from '../../contract/run.ts'
import type { ChildReport, ToolReturnValue } from '../../contract/tool.ts'
import { isSuspended } from '../../events/status.ts'
import type { ApprovalResolvedEvent, ChildUpdateEvent } from '../../events/tool-events.ts'
import type { AgentErrorData, TurnStatus } from '../../events/turn-events.ts'
import type { Call, ExecutionEnding, Wires } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { cutMiddle } from '../../tools/output.ts'
import { recordChild, tellDecision } from './child-log.ts'
import { answersOf, childSetup, hasEnded, isEmpty, pendingBelow, placeOf, snapshotOf, totalSpending } from './child.ts'
import type { ChildRuns, ChildSetup, ChildSnapshot } from './child.ts'
import type { DelegateInput } from './delegate-tools.ts'

type Report = (report: ChildReport) => void

interface Handing {
  readonly subagent: Subagent
  readonly wires: Wires
}

/** Runs a subagent in place: from its prompt, from the point where an earlier segment left it, or with answers. */
export async function runChild(runs: ChildRuns, turn: Turn, call: Call, { subagent, wires }: Handing): Promise<ExecutionEnding> {
  const place = placeOf(call)
  const setup = place && childSetup(turn, place)
  if (!setup) throw new TypeError('this journal does not support subagents')
  const { description } = call.input as unknown as DelegateInput
  const { childKey: childRunId } = place
  const report = (said: ChildReport): void => wires.reporter.tell(() => recordChild(turn, call, said))
  report({ kind: 'start', childRunId, subagent: subagent.name, ...(description !== undefined && { description }) })
  const child = snapshotOf(call)
  if (child && hasEnded(child)) return ended(endOf(child, childRunId))
  reportStatus(call, childRunId, report, 'running')
  const { turns, result } = await played(runs, turn, call, { setup, wires, childRunId, report })
  if (leaves(turn, result)) return { kind: 'unsettled' }
  if (isSuspended(result.status)) {
    reportStatus(call, childRunId, report, result.status)
    return { kind: 'suspended', below: pendingBelow(result, call.row.toolCallId, subagent.name) }
  }
  const { status, text, steps, error } = result
  const spent = totalSpending([child?.state.ended, ...turns.values()])
  return ended({ childRunId, status, text, steps, spent, ...(error && { error }) })
}

/** Repeats the last update with another status: the subagent begins to wait after it, or resumes. */
function reportStatus({ row }: Call, childRunId: string, report: Report, status: ChildUpdateEvent['status']): void {
  const last = row.told?.find((told) => told.childRunId === childRunId)?.update
  if (last) report({ kind: 'update', childRunId, ...last, status })
}

function ended(end: ChildEnd): ExecutionEnding {
  return { kind: 'returned', value: returnedBy(end), end: endReport(end) }
}

/** Returns the end of a run that ended without its parent seeing it. */
function endOf({ state, turn, spent }: ChildSnapshot, childRunId: string): ChildEnd {
  if (!state.ended) throw new TypeError('the journal of the subagent has no end of its run')
  const { status, steps, error } = state.ended
  const { output } = findOutput(turn.transcript.messages)
  const text = output === undefined ? textOf(turn.transcript.latestAnswer) : JSON.stringify(output)
  return { childRunId, status, steps, text, spent, ...(error && { error }) }
}

interface Play {
  readonly setup: ChildSetup
  readonly wires: Wires
  readonly childRunId: string
  readonly report: Report
}

interface Played {
  readonly result: AgentResult
  /** Usage of each of its turns, by run id: a subagent may have follow-ups. */
  readonly turns: ReadonlyMap<string, Spending>
}

async function played(runs: ChildRuns, turn: Turn, call: Call, { setup, wires, childRunId, report }: Play): Promise<Played> {
  const { toolCallId } = call.row
  const abortSignal = passOn(turn, wires.abortSignal)
  const start = (input: AgentInput | undefined): Promise<Played> => {
    const run = runs.start(setup, input, abortSignal)
    turn.run.children.set(toolCallId, run)
    return watched(run, childRunId, { report, resolve: (event) => wires.reporter.tell(() => tellDecision(turn, call, event)) })
  }
  try {
    const first = await start(inputFor(call))
    // The answers were checked a moment ago. They are refused only if their time ran out meanwhile.
    return first.result.reason === 'refused' && answersOf(call) ? await start(undefined) : first
  } finally {
    turn.run.children.delete(toolCallId)
  }
}

function inputFor(call: Call): AgentInput | undefined {
  const child = snapshotOf(call)
  if (child && !isEmpty(child)) return answersOf(call)
  return (call.input as unknown as DelegateInput).prompt
}

interface Teller {
  readonly report: Report
  /** Called for a decision on a request of the subagent. */
  readonly resolve: (event: ApprovalResolvedEvent) => void
}

/** Reads the log of a run to its end and passes on what concerns its parent. */
async function watched(run: AgentRun, childRunId: string, { report, resolve }: Teller): Promise<Played> {
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
  // A run whose journal failed has no `turn-end`.
  turns.set(result.runId, result)
  return { result, turns }
}

/** Returns a signal for the child that is aborted with the parent's cause: a run that only yields must not be ended. */
function passOn(turn: Turn, parent: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(causeOf(turn))
  if (parent.aborted) abort()
  // No removal is needed: the parent's signal belongs to this call alone, and is dropped when the call has ended.
  else parent.addEventListener('abort', abort, { once: true })
  return controller.signal
}

function causeOf({ stop }: Turn): AbortCause {
  const { cause } = stop
  if (!cause) return { kind: 'stop' }
  const reason = 'status' in cause ? cause.message : cause.reason
  return { kind: cause.kind, ...(reason !== undefined && { reason }) }
}

/** Returns whether the child was fenced or yielded to another process. In that case its parent is too. */
function leaves(turn: Turn, { reason, error }: AgentResult): boolean {
  const fenced = reason === 'journal-error' && (error as AgentErrorData | undefined)?.code === 'fenced'
  if (fenced) turn.stop.stop({ kind: 'fenced' })
  else if (reason === 'yielded') turn.stop.stop({ kind: 'yield' })
  return fenced || reason === 'yielded'
}

/** The end of a subagent's run. */
interface ChildEnd extends Pick<AgentResult, 'status' | 'text' | 'steps' | 'error'> {
  readonly childRunId: string
  readonly spent: Spending
}

const textCharacters = 20_000

const failures: ReadonlySet<TurnStatus> = new Set<TurnStatus>(['error', 'aborted', 'halted'])

/** Returns what the model gets to see: a compact result, and never the log of the subagent. */
export function returnedBy({ childRunId, status, text, steps, error }: ChildEnd): ToolReturnValue {
  return {
    output: { result: status, text: cutMiddle(text, textCharacters), steps, ...(error && { error: error.message }) },
    details: { childRunId },
    ...(failures.has(status) && { isError: true }),
  }
}

export function endReport({ childRunId, status, spent, error }: ChildEnd): ChildReport {
  const { usage, cost } = spent
  return { kind: 'end', childRunId, status, usage, ...(cost && { cost }), ...(error && { error }) }
}
