import type { ApprovalDecision } from '../contract/input.ts'
import { childKeyOf } from '../plugins/subagents/child-setup.ts'
import { tellDecision } from '../plugins/subagents/tell-approvals.ts'
import type { ModelAnswer } from './answer.ts'
import { approveInPlace, askApproval, takeDecision } from './approve.ts'
import { Arrivals } from './arrivals.ts'
import { timesOf, writeRows } from './call.ts'
import type { Call } from './call.ts'
import { execute } from './execute.ts'
import type { ChildNews, Execution } from './execute.ts'
import { cancelOpenCalls, conclude } from './finalize.ts'
import { prepareCall, prepareCalls } from './prepare-calls.ts'
import { recordChild } from './record-child.ts'
import { startable } from './schedule.ts'
import type { Turn } from './turn.ts'

/** What calls that run say to the loop. */
type Arrival = { readonly call: Call } & (
  | { readonly kind: 'ended'; readonly execution: Execution }
  | ChildNews
  | { readonly kind: 'decided'; readonly decision: ApprovalDecision | undefined }
)

/**
 * Brings the calls of an answer to their outcomes: those that run here to the end, others only as far as this process
 * can. A tool starts when the commit that holds its intent has resolved. The last outcomes are left in the draft, to be
 * stored with what follows them.
 */
export async function settleCalls(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<void> {
  if (calls.length === 0) return
  await prepareCalls(turn, answer, calls)
  const arrivals = new Arrivals<Arrival>()
  for (;;) {
    if (turn.stop.stopped) await cancelOpenCalls(turn, calls)
    const aborted = turn.stop.requested
    const starting = aborted ? [] : startable(calls, turn.agent.toolConcurrency)
    const asking = aborted ? [] : approveInPlace(turn, calls)
    for (const call of starting) start(turn, call)
    writeRows(turn, calls)
    if (!calls.some((call) => call.running)) break
    await turn.log.commit()
    for (const call of starting) launch(turn, call, arrivals)
    for (const call of asking) void askApproval(turn, call).then((decision) => arrivals.push({ call, kind: 'decided', decision }))
    for (const arrival of await arrivals.take()) {
      const taken = take(turn, answer, arrival)
      if (taken) await taken
    }
  }
  appendResults(turn, calls)
}

function launch(turn: Turn, call: Call, arrivals: Arrivals<Arrival>): void {
  const tell = (news: ChildNews): void => arrivals.push({ call, ...news })
  void execute(turn, call, tell).then((execution) => arrivals.push({ call, kind: 'ended', execution }))
}

function take(turn: Turn, answer: ModelAnswer, arrival: Arrival): Promise<void> | void {
  switch (arrival.kind) {
    case 'ended':
      return conclude(turn, arrival.call, arrival.execution)
    case 'reported':
      return recordChild(turn, arrival.call, arrival.report)
    case 'resolved':
      return tellDecision(turn, arrival.call, arrival.event)
    case 'decided':
      return takeDecision(turn, arrival.call, arrival.decision).then(() => prepareCall(turn, answer, arrival.call))
    default: {
      const unknown: never = arrival
      return unknown
    }
  }
}

function start(turn: Turn, call: Call): void {
  call.running = true
  if (call.entering) {
    call.entering = false
    call.below = undefined
    return
  }
  const attempt = call.row.attempt + 1
  const below = call.tool?.subagent ? { childKey: childKeyOf(turn, call.row.toolCallId) } : {}
  call.row = { ...call.row, state: 'started', attempt, ...timesOf(turn, call), ...below }
  const { toolCallId, toolName, idempotencyKey, effect, input = call.part.input } = call.row
  const label = call.tool?.label
  turn.log.record({
    ...{ type: 'tool-execution-start', step: turn.step, toolCallId, toolName, input },
    ...(label !== undefined && { label }),
    ...{ attempt, idempotencyKey, effect },
  })
}

/** Results enter the transcript together, in call order, with the last of them; an earlier segment may have seen to it. */
export function appendResults(turn: Turn, calls: readonly Call[]): void {
  const results = calls.flatMap((call) => call.row.outcome ?? [])
  if (results.length < calls.length || !turn.transcript.openAnswer) return
  for (const result of results) turn.append(result)
  if (calls.some(hadEffect)) turn.firm = turn.transcript.messages.length
}

/** It may have changed the world: what led to it must not be withdrawn. */
function hadEffect({ row }: Call): boolean {
  return row.effect !== 'pure' && (row.attempt > 0 || row.startedAt !== undefined)
}
