import { AgentError } from '../../base/agent-error.ts'
import type { Subagent } from '../../contract/agent.ts'
import type { ChildHost, ChildOutcome, ChildRequest } from '../../contract/journal.ts'
import type { Call, ExecutionEnding, Wires } from '../../kernel/call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { recordChild, tellDecision } from './child-log.ts'
import { childKeyOf, pendingBelow } from './child.ts'
import type { DelegateInput } from './delegate-tools.ts'
import { endReport, returnedBy } from './run-child.ts'

interface Hosting {
  readonly subagent: Subagent
  readonly wires: Wires
  readonly host: ChildHost
}

const launched = 'The agent is at work. You are told when it has ended: until then, go on with something else.'

/** Has the journal run a subagent in its own way, or asks it again for the state of a subagent. */
export async function hostChild(turn: Turn, call: Call, { subagent, wires, host }: Hosting): Promise<ExecutionEnding> {
  const outcome = await host.start(requestFor(turn, call, subagent, stopOnly(turn, wires))).catch((error: unknown) => {
    if (!AgentError.isInstance(error) || error.code !== 'fenced') throw error
    turn.stop.stop({ kind: 'fenced' })
    return undefined
  })
  if (!outcome || outcome.kind === 'not-started') return { kind: 'unsettled' }
  const { childRunId } = outcome
  const { description } = call.input as unknown as DelegateInput
  const { tell } = wires.reporter
  tell(() =>
    recordChild(turn, call, { kind: 'start', childRunId, subagent: subagent.name, ...(description !== undefined && { description }) }),
  )
  for (const decision of outcome.decided ?? []) {
    const place = { runId: turn.runId, turn: turn.number, step: turn.step, at: turn.clock.now() }
    tell(() => tellDecision(turn, call, { ...decision, ...place, type: 'approval-resolved' }))
  }
  return endingOf(call, subagent, outcome)
}

function endingOf(call: Call, { name }: Subagent, outcome: Exclude<ChildOutcome, { kind: 'not-started' }>): ExecutionEnding {
  switch (outcome.kind) {
    case 'ended': {
      const { usage, cost, decided: _decided, ...end } = outcome
      const known = { ...end, spent: { usage, ...(cost && { cost }) } }
      return { kind: 'returned', value: returnedBy(known), end: endReport(known) }
    }
    case 'launched': {
      const { childRunId, taskId } = outcome
      const output = { task_id: taskId, status: 'launched', agent: name, run_in_background: true, message: launched }
      return { kind: 'returned', value: { output, details: { childRunId } } }
    }
    case 'pending':
      return { kind: 'suspended', below: pendingBelow(outcome, call.row.toolCallId, name) }
    default:
      return outcome satisfies never
  }
}

/** Returns a signal that only a stop aborts. A run that yields continues elsewhere, and so do its subagents. */
function stopOnly({ stop }: Turn, { abortSignal }: Wires): AbortSignal {
  const controller = new AbortController()
  const pass = (): void => void (stop.leaving || controller.abort(abortSignal.reason))
  if (abortSignal.aborted) pass()
  else abortSignal.addEventListener('abort', pass, { once: true })
  return controller.signal
}

function requestFor(turn: Turn, { row, input }: Call, { name }: Subagent, abortSignal: AbortSignal): ChildRequest {
  const { prompt, description, sessionKey, run_in_background: background = false } = input as unknown as DelegateInput
  const { toolCallId, childKey = childKeyOf(turn, toolCallId), asked = [] } = row
  return {
    agent: name,
    key: childKey,
    input: prompt,
    toolCallId,
    runId: turn.runId,
    turn: turn.number,
    step: turn.step,
    background,
    abortSignal,
    asked: asked.map(({ approvalId }) => approvalId),
    maxDepth: turn.run.limits.maxDepth,
    onBudget: turn.run.limits.onBudget,
    ...(description !== undefined && { description }),
    ...(sessionKey !== undefined && { sessionKey }),
  }
}
