import type { JSONValue, ToolCallPart } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import type { Tool } from '../contract/agent.ts'
import type { Answers } from '../contract/input.ts'
import type { CallRow, CallState } from '../contract/journal.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/types.ts'
import type { ChildStanding } from '../plugins/subagents/standing.ts'
import type { Turn } from './turn.ts'

/** One call of the present answer, and where it stands. The row's state is the truth; what follows it is of this process. */
export interface Call {
  readonly part: ToolCallPart
  readonly tool: Tool | undefined
  row: CallRow
  /** The row as it was last drafted. */
  written: CallRow | undefined
  /** Validated, once prepared. */
  input: JSONValue
  /** Its execution is under way, or somebody in this process is asked to approve it. */
  running: boolean
  /** Its subagent, which an earlier segment has started, as it stood when this one began. */
  child: ChildStanding | undefined
  /** The subagent is to be entered again, with these answers when there are any. */
  entering: boolean
  answers: Answers | undefined
  /** What the subagent waits for. */
  below: { readonly pendingToolCalls: readonly PendingToolCall[]; readonly pendingApprovals: readonly ApprovalRequest[] } | undefined
}

/** A call with its row of an earlier segment, or a new row. */
function callOf(turn: Turn, part: ToolCallPart, index: number, row: CallRow | undefined): Call {
  const tool = turn.agent.tools.get(part.toolName)
  return {
    ...{ part, tool, input: row?.input ?? part.input, running: false, written: row },
    ...{ child: undefined, entering: false, answers: undefined, below: undefined },
    row: row ?? {
      runId: turn.runId,
      step: turn.step,
      toolCallId: part.toolCallId,
      toolName: part.toolName,
      index,
      state: 'pending',
      effect: tool?.effect ?? 'once',
      attempt: 0,
      idempotencyKey: `${turn.runId}/${turn.step}/${part.toolCallId}`,
      inputHash: hashJson(part.input),
    },
  }
}

/** The calls of an answer, in order, with their rows of earlier segments. */
export function callsOf(turn: Turn, parts: readonly ToolCallPart[], rows: readonly CallRow[] = []): readonly Call[] {
  const byId = new Map(rows.map((row) => [row.toolCallId, row]))
  return parts.map((part, index) => callOf(turn, part, index, byId.get(part.toolCallId)))
}

const unsettled: ReadonlySet<CallState> = new Set<CallState>(['pending', 'started', 'remote'])

export function isSettled(call: Call): boolean {
  return !unsettled.has(call.row.state)
}

/** A decision is outstanding. */
export function awaitsApproval({ row }: Call): boolean {
  return row.approval?.state === 'requested'
}

/** Nobody need answer any more. */
export function isOverdue(turn: Turn, { row }: Call): boolean {
  return (row.state === 'remote' || row.state === 'pending') && row.deadlineAt !== undefined && row.deadlineAt <= turn.clock.now()
}

/** When a call is begun, or given away, and when it is out of time. */
export function timesOf({ clock }: Turn, { tool }: Call): Pick<CallRow, 'startedAt' | 'deadlineAt'> {
  const startedAt = clock.now()
  const timeoutMs = tool?.timeoutMs
  return typeof timeoutMs === 'number' ? { startedAt, deadlineAt: startedAt + timeoutMs } : { startedAt }
}

/** Started, not under way, and without an outcome: nobody knows whether it happened. */
function isUnknown(call: Call): boolean {
  return call.row.state === 'started' && !call.running && call.row.childKey === undefined
}

/** Drafts the rows that have changed. */
export function writeRows(turn: Turn, calls: readonly Call[]): void {
  for (const call of calls) {
    if (call.row === call.written) continue
    turn.log.writeCall(call.row)
    call.written = call.row
  }
}

/** The calls that somebody outside must settle, those of subagents included. */
export function pendingToolCalls(calls: readonly Call[]): readonly PendingToolCall[] {
  return calls.flatMap((call) => {
    if (call.below) return call.below.pendingToolCalls
    const { state, deadlineAt, toolCallId, toolName } = call.row
    if (state !== 'remote' && !isUnknown(call)) return []
    return {
      ...{ toolCallId, toolName, input: call.row.input ?? call.part.input, path: [], agent: [] },
      ...(state === 'remote' && deadlineAt !== undefined && { deadlineAt }),
      ...(state === 'started' && { unknown: true as const }),
    }
  })
}

/** The calls that somebody must decide about, those of subagents included. */
export function pendingApprovals(calls: readonly Call[]): readonly ApprovalRequest[] {
  return calls.flatMap((call) => {
    if (call.below) return call.below.pendingApprovals
    return awaitsApproval(call) ? (approvalRequest(call) ?? []) : []
  })
}

/** The question about a call, as it was asked. */
export function approvalRequest({ row }: Call): ApprovalRequest | undefined {
  const { approval, toolCallId, toolName, deadlineAt } = row
  if (!approval) return undefined
  const { approvalId, input, inputHash } = approval
  return {
    ...{ approvalId, toolCallId, toolName, input, inputHash, path: [], agent: [] },
    ...(deadlineAt !== undefined && { deadlineAt }),
  }
}

/** What hooks and guardrails are told of a call. */
export function describeCall({ row, part }: Call) {
  const { toolCallId, toolName, effect, idempotencyKey } = row
  return { toolCallId, toolName, input: row.input ?? part.input, effect, idempotencyKey }
}

