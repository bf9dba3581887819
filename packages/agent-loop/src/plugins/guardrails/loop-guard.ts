import type { JSONValue } from '@bowline/llm'
import { checkKeys, checkRequired, checkWhole } from '../../base/checks.ts'
import { canonicalJson, hashText } from '../../base/hash-json.ts'
import { isRecord } from '../../base/json.ts'
import type { Decision, GuardedCall, GuardedResult, Guardrail } from '../../contract/guardrail.ts'
import { defineGuardrail } from './define-guardrail.ts'

interface WarnAndBlock {
  readonly warn: number
  /** Number of records after which calls are refused. */
  readonly block: number
}

interface WarnAndHalt {
  readonly warn: number
  readonly halt: number
}

/** Limits for repetitions of a model in a turn. `false` switches a rule off; an absent number has its default. */
export interface LoopGuardOptions {
  /** The same tool failed with the same input. Default `{ warn: 2, block: 5 }`. */
  readonly sameFailure?: Partial<WarnAndBlock> | false
  /** The same tool failed, with any input. Default `{ warn: 3, halt: 8 }`. */
  readonly sameTool?: Partial<WarnAndHalt> | false
  /** A `pure` tool gave the same output for the same input. Default `{ warn: 2, block: 5 }`. */
  readonly sameResult?: Partial<WarnAndBlock> | false
  /** Number of calls in a row that guardrails refused. Default `{ halt: 3 }`. */
  readonly blocked?: { readonly halt?: number } | false
}

interface LoopSettings {
  readonly sameFailure: WarnAndBlock | false
  readonly sameTool: WarnAndHalt | false
  readonly sameResult: WarnAndBlock | false
  readonly blocked: { readonly halt: number } | false
}

/** Reads the options. Throws `invalid-config`. */
function loopSettings(options: LoopGuardOptions): LoopSettings {
  checkKeys('loopGuard.options', options, ['sameFailure', 'sameTool', 'sameResult', 'blocked'])
  return {
    sameFailure: thresholdsOf('sameFailure', { warn: 2, block: 5 }, options.sameFailure),
    sameTool: thresholdsOf('sameTool', { warn: 3, halt: 8 }, options.sameTool),
    sameResult: thresholdsOf('sameResult', { warn: 2, block: 5 }, options.sameResult),
    blocked: thresholdsOf('blocked', { halt: 3 }, options.blocked),
  }
}

function thresholdsOf<Key extends string>(
  name: string,
  defaults: Readonly<Record<Key, number>>,
  given: { readonly [Each in Key]?: number } | false | undefined,
): Readonly<Record<Key, number>> | false {
  if (given === false) return false
  if (given === undefined) return defaults
  checkRequired(name, given, 'thresholds or false', isRecord)
  checkKeys(name, given, Object.keys(defaults))
  const set = Object.entries<number | null | undefined>(given).filter(([, value]) => value !== undefined)
  for (const [key, value] of set) checkWhole(`${name}.${key}`, value, 1)
  return { ...defaults, ...Object.fromEntries(set) }
}

/** The loop guard as the runner calls it: it reads only its counters, and answers at once. */
export interface LoopWatch {
  beforeCall(state: Record<string, unknown>, call: GuardedCall): Decision<'block'>
  afterCall(state: Record<string, unknown>, call: GuardedCall, result: GuardedResult): Decision<'warn' | 'halt'>
}

const watches = new WeakMap<Guardrail, LoopWatch>()

/**
 * Creates a guardrail that warns, refuses and halts when calls fail or repeat without progress. Every agent has one with the
 * defaults. Throws `AgentError` `invalid-config`.
 */
export function loopGuard(options: LoopGuardOptions = {}): Guardrail {
  const settings = loopSettings(options)
  const watch: LoopWatch = {
    beforeCall: (state, call) => before(settings, countersOf(state), call),
    afterCall: (state, call, result) => after(settings, countersOf(state), call, result),
  }
  const guard = defineGuardrail({
    name: 'loop-guard',
    description: 'Warns, refuses and halts when calls fail or give the same result again and again.',
    beforeCall: (call, { state }) => watch.beforeCall(state, call),
    afterCall: (call, result, { state }) => watch.afterCall(state, call, result),
  })
  watches.set(guard, watch)
  return guard
}

/** Returns undefined if the guardrail is not a loop guard. */
export function loopWatchOf(guardrail: Guardrail): LoopWatch | undefined {
  return watches.get(guardrail)
}

function before(settings: LoopSettings, counters: LoopCounters, call: GuardedCall): Decision<'block'> {
  const { sameFailure, sameResult } = settings
  const { failedInputs, outputs } = recordOf(counters, call.toolName)
  if (failedInputs.size + outputs.size === 0) return undefined
  const input = keyOf(call.input)
  const failures = failedInputs.get(input) ?? 0
  if (sameFailure && failures >= sameFailure.block) {
    return { action: 'block', code: 'same-failure', reason: failedAlike(call, failures) }
  }
  const { times = 0 } = outputs.get(input) ?? {}
  if (sameResult && times >= sameResult.block) {
    return { action: 'block', code: 'same-result', reason: gaveTheSame(call, times) }
  }
  return undefined
}

function after(settings: LoopSettings, counters: LoopCounters, call: GuardedCall, result: GuardedResult): Decision<'warn' | 'halt'> {
  if (result.refusedBy !== undefined) return refused(settings, counters)
  counters.refusedInARow = 0
  const tool = recordOf(counters, call.toolName)
  switch (result.status) {
    case 'error':
      return failed(settings, call, tool)
    case 'result':
      tool.failures = 0
      tool.failedInputs.clear()
      if (call.effect === 'pure') return repeated(settings, call, tool, result)
      // The call may have changed what was read before.
      if (result.executed) for (const { outputs } of counters.tools.values()) outputs.clear()
      return undefined
    case 'denied':
    case 'cancelled':
    case 'unknown':
      return undefined
    default:
      return result.status satisfies never
  }
}

function refused({ blocked }: LoopSettings, counters: LoopCounters): Decision<'halt'> {
  counters.refusedInARow += 1
  if (!blocked || counters.refusedInARow < blocked.halt) return undefined
  return { action: 'halt', code: 'blocked', reason: `${counters.refusedInARow} calls in a row were refused` }
}

function failed(settings: LoopSettings, call: GuardedCall, tool: ToolRecord): Decision<'warn' | 'halt'> {
  const { sameFailure, sameTool } = settings
  const ofInput = countFailure(tool, keyOf(call.input))
  const failures = `${call.toolName} has failed ${tool.failures} times`
  if (sameTool && tool.failures >= sameTool.halt) return { action: 'halt', code: 'same-tool', reason: failures }
  if (sameFailure && ofInput >= sameFailure.warn) {
    return { action: 'warn', code: 'same-failure', reason: `${failedAlike(call, ofInput)}; change the input or the plan` }
  }
  if (!sameTool || tool.failures < sameTool.warn) return undefined
  return { action: 'warn', code: 'same-tool', reason: `${failures}; change the plan` }
}

function repeated({ sameResult }: LoopSettings, call: GuardedCall, tool: ToolRecord, { output }: GuardedResult): Decision<'warn'> {
  if (!sameResult) return undefined
  const times = countOutput(tool, keyOf(call.input), keyOf(output))
  if (times < sameResult.warn) return undefined
  return { action: 'warn', code: 'same-result', reason: `${gaveTheSame(call, times)}; use what it gave` }
}

function failedAlike({ toolName }: GuardedCall, times: number): string {
  return `${toolName} has failed ${times} times with this very input`
}

function gaveTheSame({ toolName }: GuardedCall, times: number): string {
  return `${toolName} has given the same output ${times} times for this very input`
}

/** Counters of a turn, kept in the state of the guardrail. */
interface LoopCounters {
  readonly tools: Map<string, ToolRecord>
  refusedInARow: number
}

/** Keeps only what counts against a call, so that clearing costs no more than counting did. */
interface ToolRecord {
  failures: number
  /** Number of failures by input. */
  readonly failedInputs: Map<string, number>
  /** By input, the latest output of a `pure` tool, and how many times in a row it came. */
  readonly outputs: Map<string, { readonly output: string; readonly times: number }>
}

const longestKey = 200

function countersOf(state: Record<string, unknown>): LoopCounters {
  state['counters'] ??= { tools: new Map(), refusedInARow: 0 } satisfies LoopCounters
  return state['counters'] as LoopCounters
}

function recordOf({ tools }: LoopCounters, toolName: string): ToolRecord {
  const known = tools.get(toolName)
  if (known) return known
  const tool: ToolRecord = { failures: 0, failedInputs: new Map(), outputs: new Map() }
  tools.set(toolName, tool)
  return tool
}

/** Counts a failure. Returns how many times this input has failed, this time included. */
function countFailure(tool: ToolRecord, input: string): number {
  const times = (tool.failedInputs.get(input) ?? 0) + 1
  tool.failedInputs.set(input, times)
  tool.failures += 1
  return times
}

/** Counts an output. Returns how many times in a row it has come for this input, this time included. */
function countOutput({ outputs }: ToolRecord, input: string, output: string): number {
  const before = outputs.get(input)
  const times = before?.output === output ? before.times + 1 : 1
  outputs.set(input, { output, times })
  return times
}

/** Returns a key that is equal for equal values. Long ones are hashed, so that a turn does not keep everything twice. */
function keyOf(value: unknown): string {
  const text = canonicalJson(value as JSONValue)
  return text.length <= longestKey ? text : hashText(text)
}
