import type { JSONValue, ToolCallPart } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { Tool } from '../contract/agent.ts'
import type { HookedCall } from '../contract/extension.ts'
import type { ApprovalDecision, SubmittedResult } from '../contract/input.ts'
import type { CallApproval, CallRow, CallState } from '../contract/journal.ts'
import type { ChildReport, ToolReturnValue } from '../contract/tool.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/tool-events.ts'
import type { Outcome } from '../tools/outcome.ts'

/** Calls and approvals that a subagent waits for, as its parent sees them. */
export interface PendingBelow {
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
}

/** One call of the current answer. The state of its row is authoritative; the other fields belong to this process. */
export interface Call {
  readonly part: ToolCallPart
  readonly tool: Tool | undefined
  row: CallRow
  /** The row as it was last drafted. */
  written: CallRow | undefined
  /** Validated once the call is prepared. */
  input: JSONValue
  /** True while the call executes, or while side work runs on which its outcome depends. */
  running: boolean
  /** True: its subagent must be entered again. */
  entering: boolean
  /** Calls and approvals that its subagent waits for. */
  below: PendingBelow | undefined
}

/** `ready` to run here, `remote` to be answered from outside, `approval` to be decided, or `settled` without running. */
export type Prepared =
  | { readonly kind: 'ready' }
  | { readonly kind: 'remote' }
  | { readonly kind: 'approval'; readonly approval: CallApproval }
  | { readonly kind: 'settled'; readonly outcome: Outcome }

/** Work for a call that is marked as running. It must not reject. The loop calls the function that it resolves to. */
export interface SideWork {
  readonly call: Call
  start(): Promise<() => MaybePromise<void>>
}

/**
 * The end of an execution. `returned`, with its `end`, is for a subagent. `not-run`: the run was stopped before the execution
 * began; `unsettled`: it did not settle within its grace; `suspended`: a subagent waits for an answer from outside.
 */
export type ExecutionEnding =
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  | { readonly kind: 'returned'; readonly value: ToolReturnValue; readonly end?: ChildReport }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'not-run' }
  | { readonly kind: 'unsettled' }
  | { readonly kind: 'suspended'; readonly below: PendingBelow }

/** Passes work of a running call to the loop. The work is dropped once the call has its outcome. */
export interface Reporter {
  readonly isOpen: () => boolean
  readonly tell: (take: () => MaybePromise<void>) => void
}

export interface Wires {
  /** Aborted when the run is stopped. */
  readonly abortSignal: AbortSignal
  readonly reporter: Reporter
  /** `execute` has returned: the call waits for `toModelOutput`. */
  hasReturned?: true
}

/** Answers to open calls: results, with the paths of their calls, and decisions. */
export interface GivenAnswers {
  readonly results: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
}

/** Answers, sorted by the subagent that they are for. */
export interface RoutedAnswers<Turn> {
  /** Answers for calls of this run, or for no call at all. */
  readonly own: GivenAnswers
  /** One entry per subagent, also if it has no answer. `call` is undefined if its call has ended. */
  readonly below: readonly {
    readonly turn: Turn
    readonly calls: readonly Call[]
    readonly call: Call | undefined
    readonly answers: GivenAnswers
  }[]
}

/** Answers calls by runs of other agents. */
export interface Delegation<Turn> {
  /** Returns why a call may not start its subagent. */
  refuse(turn: Turn, call: Call): Outcome | undefined
  /** Returns the key of the subagent's journal, which is also the id of its run. */
  keyOf(turn: Turn, call: Call): string
  /** Starts the subagent of a call, or resumes it. Rejects if it cannot. */
  run(turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding>
  /** Drafts what a waiting subagent asks for. */
  suspend(turn: Turn, call: Call): void
  /** Ends the subagent of a call whose run is stopped. Must not reject. */
  close(turn: Turn, call: Call): Promise<{ readonly outcome?: Outcome; readonly end?: ChildReport }>
  /** Returns true if a stopped subagent ends within a grace of its own. */
  endsByItself(turn: Turn): boolean
  /** Reads the journals of subagents that an earlier segment has started, and marks the ones that can continue. */
  inspect(turn: Turn, calls: readonly Call[]): Promise<void>
  /** Finds the subagents that the answers are for. Must change nothing. */
  route(turn: Turn, calls: readonly Call[], answers: GivenAnswers): Promise<RoutedAnswers<Turn>>
  /** Marks the subagent of the call to be entered with these answers. */
  give(call: Call, answers: GivenAnswers): void
}

/** Returns the calls of an answer, in order, with their rows of earlier segments. `base` is the run and the step of a new row. */
export function callsOf(
  tools: ReadonlyMap<string, Tool>,
  base: { readonly runId: string; readonly step: number },
  parts: readonly ToolCallPart[],
  rows?: readonly CallRow[],
): readonly Call[] {
  if (parts.length === 0) return []
  const byId = rows && rows.length > 0 ? new Map(rows.map((row) => [row.toolCallId, row])) : undefined
  return parts.map((part, index) => callOf(tools.get(part.toolName), base, part, index, byId?.get(part.toolCallId)))
}

function callOf(
  tool: Tool | undefined,
  { runId, step }: { readonly runId: string; readonly step: number },
  part: ToolCallPart,
  index: number,
  row: CallRow | undefined,
): Call {
  const { toolCallId, toolName, input } = part
  return {
    part,
    tool,
    input: row?.input ?? input,
    running: false,
    entering: false,
    written: row,
    below: undefined,
    row: row ?? {
      runId,
      step,
      toolCallId,
      toolName,
      index,
      state: 'pending',
      effect: tool?.effect ?? 'once',
      attempt: 0,
      idempotencyKey: `${runId}/${step}/${toolCallId}`,
      inputHash: hashJson(input),
    },
  }
}

const unsettled: ReadonlySet<CallState> = new Set<CallState>(['pending', 'started', 'remote'])

export function isSettled({ row }: Call): boolean {
  return !unsettled.has(row.state)
}

/** Returns whether the call waits for a decision. */
export function awaitsApproval({ row }: Call): boolean {
  return row.approval?.state === 'requested'
}

/** Returns whether the deadline for an answer to the call has passed. */
export function isOverdue({ row }: Call, now: number): boolean {
  return (row.state === 'remote' || row.state === 'pending') && row.deadlineAt !== undefined && row.deadlineAt <= now
}

/** Returns the start and the deadline of a call that starts or is given away. */
export function timesOf({ tool }: Call, startedAt: number): Pick<CallRow, 'startedAt' | 'deadlineAt'> {
  const timeoutMs = tool?.timeoutMs
  return typeof timeoutMs === 'number' ? { startedAt, deadlineAt: startedAt + timeoutMs } : { startedAt }
}

/** Returns whether a call was started, is not running and has no outcome: it may or may not have taken effect. */
function isUnknown({ row, running }: Call): boolean {
  return row.state === 'started' && !running && row.childKey === undefined
}

/** Drafts the rows that have changed. */
export function writeRows({ log }: { readonly log: { writeCall(row: CallRow): void } }, calls: readonly Call[]): void {
  for (const call of calls) {
    if (call.row === call.written) continue
    log.writeCall(call.row)
    call.written = call.row
  }
}

/** Returns the calls that must be settled from outside, including those of subagents. */
export function pendingToolCalls(calls: readonly Call[]): readonly PendingToolCall[] {
  return calls.flatMap((call) => {
    if (call.below) return call.below.pendingToolCalls
    const { state, deadlineAt, toolCallId, toolName } = call.row
    if (state !== 'remote' && !isUnknown(call)) return []
    return {
      toolCallId,
      toolName,
      input: call.row.input ?? call.part.input,
      path: [],
      agent: [],
      ...(state === 'remote' && deadlineAt !== undefined && { deadlineAt }),
      ...(state === 'started' && { unknown: true as const }),
    }
  })
}

/** Returns the approval requests that wait for a decision, including those of subagents. */
export function pendingApprovals(calls: readonly Call[]): readonly ApprovalRequest[] {
  return calls.flatMap((call) => {
    if (call.below) return call.below.pendingApprovals
    return awaitsApproval(call) ? (approvalRequest(call) ?? []) : []
  })
}

/** Returns the approval request of a call, as it was asked. */
export function approvalRequest({ row }: Call): ApprovalRequest | undefined {
  const { approval, toolCallId, toolName, about, deadlineAt } = row
  if (!approval) return undefined
  const { approvalId, input, inputHash, replaces } = approval
  return {
    approvalId,
    toolCallId,
    toolName,
    input,
    inputHash,
    path: [],
    agent: [],
    ...(replaces !== undefined && { replaces }),
    ...(about !== undefined && { about }),
    ...(deadlineAt !== undefined && { deadlineAt }),
  }
}

/** Returns the call as hooks and guardrails see it. */
export function describeCall({ row, part }: Call): HookedCall {
  const { toolCallId, toolName, effect, idempotencyKey } = row
  return { toolCallId, toolName, input: row.input ?? part.input, effect, idempotencyKey }
}
