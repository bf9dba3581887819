import type { JSONValue } from '@bowline/llm'
import { canonicalJson, hashJson } from '../hash-json.ts'

/** What a turn has seen, kept in the state of the guardrail. */
export interface LoopCounters {
  readonly tools: Map<string, ToolRecord>
  refusedInARow: number
}

export interface ToolRecord {
  failures: number
  readonly inputs: Map<string, InputRecord>
}

export interface InputRecord {
  failures: number
  /** The latest output of a `pure` tool, and how often it came without another between. */
  output: string | undefined
  sameOutputs: number
}

const counters = 'counters'
const longestKey = 200

export function countersOf(state: Record<string, unknown>): LoopCounters {
  state[counters] ??= { tools: new Map(), refusedInARow: 0 } satisfies LoopCounters
  return state[counters] as LoopCounters
}

export function recordOf(
  { tools }: LoopCounters,
  toolName: string,
  key: string,
): { readonly tool: ToolRecord; readonly input: InputRecord } {
  const tool = tools.get(toolName) ?? { failures: 0, inputs: new Map<string, InputRecord>() }
  const input = tool.inputs.get(key) ?? { failures: 0, output: undefined, sameOutputs: 0 }
  tools.set(toolName, tool)
  tool.inputs.set(key, input)
  return { tool, input }
}

export function clearFailures(tool: ToolRecord): void {
  tool.failures = 0
  for (const input of tool.inputs.values()) input.failures = 0
}

/** What was read before may read differently now. */
export function clearResults({ tools }: LoopCounters): void {
  for (const { inputs } of tools.values()) {
    for (const input of inputs.values()) Object.assign(input, { output: undefined, sameOutputs: 0 })
  }
}

/** Equal values have equal keys. Long ones are hashed, so that a turn does not keep all it has read twice. */
export async function keyOf(value: unknown): Promise<string> {
  const text = canonicalJson(value as JSONValue)
  return text.length <= longestKey ? text : hashJson(value as JSONValue)
}
