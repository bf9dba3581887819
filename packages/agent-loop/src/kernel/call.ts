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

/** What the calls of a subagent wait for, as its parent sees it. */
export interface PendingBelow {
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
}

/** One call of the present answer. The row's state is the truth; the rest belongs to this process. */
export interface Call {
  readonly part: ToolCallPart
  readonly tool: Tool | undefined
  row: CallRow
  /** The row as it was last drafted. */
  written: CallRow | undefined
  /** Validated, once prepared. */
  input: JSONValue
  /** Its execution is under way, or work beside it on which its outcome depends. */
  running: boolean
  /** Its subagent is to be entered again. */
  entering: boolean
  /** What its subagent waits for. */
  below: PendingBelow | undefined
}

/** `ready` to run here, `remote` to be given away, `approval` to be decided about, or `settled` without running. */
export type Prepared =
  | { readonly kind: 'ready' }
  | { readonly kind: 'remote' }
  | { readonly kind: 'approval'; readonly approval: CallApproval }
  | { readonly kind: 'settled'; readonly outcome: Outcome }

/** Work for a call that is marked as running. It must not reject; what it resolves to is done by the loop. */
export interface SideWork {
  readonly call: Call
  start(): Promise<() => MaybePromise<void>>
}

/**
 * How an execution ended; `returned`, with its `end`, is that of a subagent. `not-run`: the run was stopped before it
 * began; `unsettled`: it did not settle in its grace; `suspended`: a subagent waits for an answer from outside.
 */
export type ExecutionEnding =
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  | { readonly kind: 'returned'; readonly value: ToolReturnValue; readonly end?: ChildReport }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'not-run' }
  | { readonly kind: 'unsettled' }
  | { readonly kind: 'suspended'; readonly below: PendingBelow }

/** What a running call hands to the loop; dropped once the call has its outcome. */
export interface Reporter {
  readonly isOpen: () => boolean
  readonly tell: (take: () => MaybePromise<void>) => void
}

export interface Wires {
  /** Aborted when the run is stopped. */
  readonly abortSignal: AbortSignal
  readonly reporter: Reporter
  /** `execute` has returned: what the call waits for is `toModelOutput`. */
  hasReturned?: true
}

/** Answers to open calls: results by the path of calls to them, decisions by what was asked. */
export interface GivenAnswers {
  readonly results: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
}

/** Which answers are for which subagent. */
export interface RoutedAnswers<Turn> {
  /** For calls of this run, or for no call at all. */
  readonly own: GivenAnswers
  /** By subagent, also for subagents without an answer. `call` is undefined when its call has ended. */
  readonly below: readonly { readonly turn: Turn; readonly calls: readonly Call[]; readonly call: Call | undefined; readonly answers: GivenAnswers }[]
}

/** How calls are answered by runs of other agents. */
export interface Delegation<Turn> {
  /** Why a call may not start its subagent. */
  refuse(turn: Turn, call: Call): Outcome | undefined
  /** The key of the subagent's journal, and the id of its run. */
  keyOf(turn: Turn, call: Call): string
  /** Starts the subagent of a call, or resumes it. Rejects if it cannot. */
  run(turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding>
  /** The subagent waits: drafts what it asks for. */
  suspend(turn: Turn, call: Call): void
  /** Ends the subagent of a call whose run is stopped. Must not reject. */
  close(turn: Turn, call: Call): Promise<{ readonly outcome?: Outcome; readonly end?: ChildReport }>
  /** True: the run of a subagent is bounded by a grace of its own. */
  endsByItself(turn: Turn): boolean
  /** Looks into the journals of subagents that an earlier segment has started, and marks the ones that can go on. */
  inspect(turn: Turn, calls: readonly Call[]): Promise<void>
  /** Finds out for which subagents answers are. Must change nothing. */
  route(turn: Turn, calls: readonly Call[], answers: GivenAnswers): Promise<RoutedAnswers<Turn>>
  /** The subagent of the call is to be entered with these answers. */
  give(call: Call, answers: GivenAnswers): void
}

/** The calls of an answer, in order, with their rows of earlier segments. `base` is the place of a new row. */
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

function callOf(tool: Tool | undefined, { runId, step }: { readonly runId: string; readonly step: number }, part: ToolCallPart, index: number, row: CallRow | undefined): Call {
  const { toolCallId, toolName, input } = part
  return {
    ...{ part, tool, input: row?.input ?? input, running: false, entering: false, written: row, below: undefined },
    row: row ?? {
      ...{ runId, step, toolCallId, toolName, index, state: 'pending', effect: tool?.effect ?? 'once', attempt: 0 },
      idempotencyKey: `${runId}/${step}/${toolCallId}`,
      inputHash: hashJson(input),
    },
  }
}

const unsettled: ReadonlySet<CallState> = new Set<CallState>(['pending', 'started', 'remote'])

export function isSettled({ row }: Call): boolean {
  return !unsettled.has(row.state)
}

/** A decision is outstanding. */
export function awaitsApproval({ row }: Call): boolean {
  return row.approval?.state === 'requested'
}

/** Its deadline for an answer is over. */
export function isOverdue({ row }: Call, now: number): boolean {
  return (row.state === 'remote' || row.state === 'pending') && row.deadlineAt !== undefined && row.deadlineAt <= now
}

/** When a call is begun, or given away, and when it is out of time. */
export function timesOf({ tool }: Call, startedAt: number): Pick<CallRow, 'startedAt' | 'deadlineAt'> {
  const timeoutMs = tool?.timeoutMs
  return typeof timeoutMs === 'number' ? { startedAt, deadlineAt: startedAt + timeoutMs } : { startedAt }
}

/** Started, not under way, and without an outcome: it may or may not have happened. */
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

/** The calls that must be settled from outside, those of subagents included. */
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

/** The calls about which a decision is outstanding, those of subagents included. */
export function pendingApprovals(calls: readonly Call[]): readonly ApprovalRequest[] {
  return calls.flatMap((call) => {
    if (call.below) return call.below.pendingApprovals
    return awaitsApproval(call) ? (approvalRequest(call) ?? []) : []
  })
}

/** The question about a call, as it was asked. */
export function approvalRequest({ row }: Call): ApprovalRequest | undefined {
  const { approval, toolCallId, toolName, about, deadlineAt } = row
  if (!approval) return undefined
  const { approvalId, input, inputHash, replaces } = approval
  return {
    ...{ approvalId, toolCallId, toolName, input, inputHash, path: [], agent: [] },
    ...(replaces !== undefined && { replaces }),
    ...(about !== undefined && { about }),
    ...(deadlineAt !== undefined && { deadlineAt }),
  }
}

/** What hooks and guardrails are told of a call. */
export function describeCall({ row, part }: Call): HookedCall {
  const { toolCallId, toolName, effect, idempotencyKey } = row
  return { toolCallId, toolName, input: row.input ?? part.input, effect, idempotencyKey }
}
