import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type { GuardedCall, GuardedResult, Guardrail } from '../../../src/contract/guardrail.ts'
import { defineGuardrail } from '../../../src/plugins/guardrails/define-guardrail.ts'
import { guardrailRunner } from '../../../src/plugins/guardrails/run-guardrails.ts'
import type { GuardrailFailure, GuardrailRunner } from '../../../src/plugins/guardrails/run-guardrails.ts'

export interface Bench {
  readonly runner: GuardrailRunner
  readonly failures: readonly GuardrailFailure[]
  readonly clock: ManualClock
  readonly stop: AbortController
}

/** Creates the guardrails of one turn, and lists of what the runner reports. */
export function bench(guardrails: readonly Guardrail[]): Bench {
  const clock = manualClock(1_000)
  const stop = new AbortController()
  const failures: GuardrailFailure[] = []
  const runner = guardrailRunner({
    guardrails,
    clock,
    abortSignal: stop.signal,
    contextOf: () => ({ runId: 'run', turn: 1, step: 2, agent: [], abortSignal: stop.signal }),
    onError: (failure) => failures.push(failure),
  })
  return { runner, failures, clock, stop }
}

export function guardrail(name: string, options: Omit<Guardrail, 'name'> = {}): Guardrail {
  return defineGuardrail({ name, ...options })
}

export function callOf(options: Partial<GuardedCall> = {}): GuardedCall {
  return { toolCallId: 'c1', toolName: 'read', input: { path: 'a' }, effect: 'once', ...options }
}

export function outcome(status: GuardedResult['status'], value = status as string): Omit<GuardedResult, 'refusedBy'> {
  return { status, output: { type: 'text', value }, executed: status === 'result' || status === 'error' }
}
