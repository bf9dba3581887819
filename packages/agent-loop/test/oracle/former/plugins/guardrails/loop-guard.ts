import type { Decision, GuardedCall, GuardedResult, Guardrail } from '../../contract/guardrail.ts'
import { defineGuardrail } from './define-guardrail.ts'
import { clearFailures, clearResults, countersOf, countFailure, countOutput, keyOf, recordOf } from './loop-counters.ts'
import type { LoopCounters, ToolRecord } from './loop-counters.ts'
import { loopSettings } from './loop-settings.ts'
import type { LoopGuardOptions, LoopSettings } from './loop-settings.ts'

export type { LoopGuardOptions } from './loop-settings.ts'

/** The same as a guardrail, for the runner: it looks at nothing but its counters, and answers at once. */
export interface LoopWatch {
  beforeCall(state: Record<string, unknown>, call: GuardedCall): Decision<'block'>
  afterCall(state: Record<string, unknown>, call: GuardedCall, result: GuardedResult): Decision<'warn' | 'halt'>
}

const watches = new WeakMap<Guardrail, LoopWatch>()

/** Notices a model that goes round in circles. Every agent has it, with its defaults. Throws `invalid-config`. */
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

/** Undefined: the guardrail is none of ours. */
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

function after(
  settings: LoopSettings,
  counters: LoopCounters,
  call: GuardedCall,
  result: GuardedResult,
): Decision<'warn' | 'halt'> {
  if (result.refusedBy !== undefined) return refused(settings, counters)
  counters.refusedInARow = 0
  const tool = recordOf(counters, call.toolName)
  switch (result.status) {
    case 'error':
      return failed(settings, call, tool)
    case 'result':
      clearFailures(tool)
      if (call.effect === 'pure') return repeated(settings, call, tool, result)
      if (result.executed) clearResults(counters)
      return undefined
    case 'denied':
    case 'cancelled':
    case 'unknown':
      return undefined
    default: {
      const unknown: never = result.status
      return unknown
    }
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
