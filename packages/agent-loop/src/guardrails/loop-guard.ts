import { defineGuardrail } from './define-guardrail.ts'
import type { Decision, GuardedCall, GuardedResult, Guardrail } from './guardrail.ts'
import { clearFailures, clearResults, countersOf, keyOf, recordOf } from './loop-counters.ts'
import type { InputRecord, LoopCounters, ToolRecord } from './loop-counters.ts'
import { loopSettings } from './loop-settings.ts'
import type { LoopGuardOptions, LoopSettings } from './loop-settings.ts'

export type { LoopGuardOptions } from './loop-settings.ts'

const guards = new WeakSet<Guardrail>()

/** Notices a model that goes round in circles. Every agent has it, with its defaults. Throws `invalid-config`. */
export function loopGuard(options: LoopGuardOptions = {}): Guardrail {
  const settings = loopSettings(options)
  const guard = defineGuardrail({
    name: 'loop-guard',
    description: 'Warns, refuses and halts when calls fail or give the same result again and again.',
    beforeCall: (call, { state }) => before(settings, countersOf(state), call),
    afterCall: (call, result, { state }) => after(settings, countersOf(state), call, result),
  })
  guards.add(guard)
  return guard
}

export function isLoopGuard(guardrail: Guardrail): boolean {
  return guards.has(guardrail)
}

async function before(settings: LoopSettings, counters: LoopCounters, call: GuardedCall): Promise<Decision<'block'>> {
  const { sameFailure, sameResult } = settings
  const { input } = recordOf(counters, call.toolName, await keyOf(call.input))
  if (sameFailure && input.failures >= sameFailure.block) {
    return { action: 'block', code: 'same-failure', reason: failedAlike(call, input) }
  }
  if (sameResult && input.sameOutputs >= sameResult.block) {
    return { action: 'block', code: 'same-result', reason: gaveTheSame(call, input) }
  }
  return undefined
}

async function after(
  settings: LoopSettings,
  counters: LoopCounters,
  call: GuardedCall,
  result: GuardedResult,
): Promise<Decision<'warn' | 'halt'>> {
  const key = await keyOf(call.input)
  const output = result.status === 'result' && call.effect === 'pure' ? await keyOf(result.output) : undefined
  if (result.refusedBy !== undefined) return refused(settings, counters)
  counters.refusedInARow = 0
  const { tool, input } = recordOf(counters, call.toolName, key)
  switch (result.status) {
    case 'error':
      return failed(settings, call, tool, input)
    case 'result':
      clearFailures(tool)
      if (output !== undefined) return repeated(settings, call, input, output)
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

function failed(settings: LoopSettings, call: GuardedCall, tool: ToolRecord, input: InputRecord): Decision<'warn' | 'halt'> {
  const { sameFailure, sameTool } = settings
  tool.failures += 1
  input.failures += 1
  const failures = `${call.toolName} has failed ${tool.failures} times`
  if (sameTool && tool.failures >= sameTool.halt) return { action: 'halt', code: 'same-tool', reason: failures }
  if (sameFailure && input.failures >= sameFailure.warn) {
    return { action: 'warn', code: 'same-failure', reason: `${failedAlike(call, input)}; change the input or the plan` }
  }
  if (!sameTool || tool.failures < sameTool.warn) return undefined
  return { action: 'warn', code: 'same-tool', reason: `${failures}; change the plan` }
}

function repeated({ sameResult }: LoopSettings, call: GuardedCall, input: InputRecord, output: string): Decision<'warn'> {
  input.sameOutputs = input.output === output ? input.sameOutputs + 1 : 1
  input.output = output
  if (!sameResult || input.sameOutputs < sameResult.warn) return undefined
  return { action: 'warn', code: 'same-result', reason: `${gaveTheSame(call, input)}; use what it gave` }
}

function failedAlike({ toolName }: GuardedCall, { failures }: InputRecord): string {
  return `${toolName} has failed ${failures} times with this very input`
}

function gaveTheSame({ toolName }: GuardedCall, { sameOutputs }: InputRecord): string {
  return `${toolName} has given the same output ${sameOutputs} times for this very input`
}
