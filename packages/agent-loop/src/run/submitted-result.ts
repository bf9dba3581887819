import type { JSONValue } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import type { Tool } from '../contract/agent.ts'
import type { SubmittedResult } from '../contract/input.ts'
import type { CallRow } from '../contract/journal.ts'
import type { ToolResult } from '../events/tool-events.ts'
import type { Call } from '../kernel/call.ts'
import { unknownOutcome, valueOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'

/** The outcome of a call whose result came from outside. */
export function submittedOutcome(call: Call, result: SubmittedResult): Promise<Outcome> | Outcome {
  return outcomeOf(result, call.tool, call.part.input)
}

/** Equal hashes are the same answer: output, details and whether it is an error. */
export function answerHashOf(result: SubmittedResult): string {
  if (isUnknown(result)) return hashJson({ unknown: true })
  const { output, isError = false, details } = returnedFrom(result)
  return hashJson({ output: output as JSONValue, isError, ...(details !== undefined && { details }) })
}

/** Whether the answer is the one that was stored, however hooks have changed it. Without its hash what is stored counts. */
export async function isRepeat(result: SubmittedResult, stored: ToolResult, row: CallRow | undefined): Promise<boolean> {
  if (row?.answerHash !== undefined) return row.answerHash === answerHashOf(result)
  return hashJson(factsOf(stored)) === hashJson(factsOf(await outcomeOf(result, undefined, {})))
}

function outcomeOf(result: SubmittedResult, tool: Tool | undefined, input: JSONValue): Promise<Outcome> | Outcome {
  if (isUnknown(result)) return unknownOutcome('nobody can say what became of the call', 'here')
  const { output, details, isError } = returnedFrom(result)
  const value = { output, ...(details !== undefined && { details }), ...(isError !== undefined && { isError }) }
  return valueOutcome(tool, { toolCallId: result.toolCallId, input }, value, 'elsewhere')
}

type Returned = Extract<SubmittedResult, { readonly output: unknown }>

function returnedFrom(result: Exclude<SubmittedResult, UnknownResult>): Omit<Returned, 'toolCallId'> {
  return 'error' in result ? { output: result.error, isError: true } : result
}

type UnknownResult = Exclude<SubmittedResult, { readonly output: unknown } | { readonly error: string }>

/** The answer itself, and not what a pending call says beside its answer. */
export function isUnknown(result: SubmittedResult): result is UnknownResult {
  return !('output' in result) && !('error' in result)
}

function factsOf({ output, details, status }: Pick<Outcome, 'status' | 'output' | 'details'>): JSONValue {
  return { output, status, ...(details !== undefined && { details }) } as unknown as JSONValue
}
