import type { JSONValue } from '@bowline/llm'
import { canonicalJson, hashText } from '../../base/hash-json.ts'

/** What a turn has seen, kept in the state of the guardrail. */
export interface LoopCounters {
  readonly tools: Map<string, ToolRecord>
  refusedInARow: number
}

/** Only what counts against a call is kept, so that clearing costs no more than counting did. */
export interface ToolRecord {
  failures: number
  /** How often each input has failed. */
  readonly failedInputs: Map<string, number>
  /** By input, the latest output of a `pure` tool, and how often it came without another between. */
  readonly outputs: Map<string, { readonly output: string; readonly times: number }>
}

const counters = 'counters'
const longestKey = 200

export function countersOf(state: Record<string, unknown>): LoopCounters {
  state[counters] ??= { tools: new Map(), refusedInARow: 0 } satisfies LoopCounters
  return state[counters] as LoopCounters
}

export function recordOf({ tools }: LoopCounters, toolName: string): ToolRecord {
  const known = tools.get(toolName)
  if (known) return known
  const tool: ToolRecord = { failures: 0, failedInputs: new Map(), outputs: new Map() }
  tools.set(toolName, tool)
  return tool
}

/** How often this input has failed, this time included. */
export function countFailure(tool: ToolRecord, input: string): number {
  const times = (tool.failedInputs.get(input) ?? 0) + 1
  tool.failedInputs.set(input, times)
  tool.failures += 1
  return times
}

/** How often this output has come for this input in a row, this time included. */
export function countOutput({ outputs }: ToolRecord, input: string, output: string): number {
  const before = outputs.get(input)
  const times = before?.output === output ? before.times + 1 : 1
  outputs.set(input, { output, times })
  return times
}

export function clearFailures(tool: ToolRecord): void {
  tool.failures = 0
  tool.failedInputs.clear()
}

/** What was read before may read differently now. */
export function clearResults({ tools }: LoopCounters): void {
  for (const { outputs } of tools.values()) outputs.clear()
}

/** Equal values have equal keys. Long ones are hashed, so that a turn does not keep all it has read twice. */
export function keyOf(value: unknown): string {
  const text = canonicalJson(value as JSONValue)
  return text.length <= longestKey ? text : hashText(text)
}
