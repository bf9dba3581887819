import type { JSONValue, ToolCallPart } from '@bowline/llm'
import type { PendingToolCall } from '../events/types.ts'
import { hashJson } from '../hash-json.ts'
import type { CallRow, CallState } from '../journal/journal.ts'
import type { Turn } from '../loop/turn.ts'
import type { Tool } from './tool.ts'

/** One call of the present answer, and where it stands. The row's state is the truth; what follows it is of this process. */
export interface Call {
  readonly part: ToolCallPart
  readonly tool: Tool | undefined
  row: CallRow
  /** The row as it was last drafted. */
  written: CallRow | undefined
  /** Validated, once prepared. */
  input: JSONValue
  /** Its execution is under way. */
  running: boolean
}

/** A call with its row of an earlier segment, or a new row. */
export async function callOf(turn: Turn, part: ToolCallPart, index: number, row: CallRow | undefined): Promise<Call> {
  const tool = turn.agent.tools.get(part.toolName)
  return {
    ...{ part, tool, input: part.input, running: false, written: row },
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
      inputHash: await hashJson(part.input),
    },
  }
}

const unsettled: readonly CallState[] = ['pending', 'started', 'remote']

export function isSettled(call: Call): boolean {
  return !unsettled.includes(call.row.state)
}

/** Started, not under way, and without an outcome: nobody knows whether it happened. */
function isUnknown(call: Call): boolean {
  return call.row.state === 'started' && !call.running
}

/** Drafts the rows that have changed. */
export function writeRows(turn: Turn, calls: readonly Call[]): void {
  for (const call of calls) {
    if (call.row === call.written) continue
    turn.writeCall(call.row)
    call.written = call.row
  }
}

/** The calls that somebody outside must settle. */
export function pendingToolCalls(calls: readonly Call[]): readonly PendingToolCall[] {
  return calls.flatMap((call) => {
    const { state, deadlineAt, toolCallId, toolName } = call.row
    if (state !== 'remote' && !isUnknown(call)) return []
    return {
      ...{ toolCallId, toolName, input: call.part.input, path: [], agent: [] },
      ...(state === 'remote' && deadlineAt !== undefined && { deadlineAt }),
      ...(state === 'started' && { unknown: true as const }),
    }
  })
}
