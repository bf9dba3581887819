import { messageOf } from '../../base/agent-error.ts'
import type { GuardrailVerdict } from './decisions.ts'
import type { LoopWatch } from './loop-guard.ts'
import type { GuardrailRunner, GuardrailRunnerOptions } from './runner.ts'

const allowed: GuardrailVerdict<'allow'> = Object.freeze({ action: 'allow', warnings: Object.freeze([]) })

/**
 * For an agent whose only guardrail is the loop guard, as most have it: what only counts needs no copies of what it is
 * shown, no time limit, and no promise.
 */
export function loopGuardRunner(guardrail: string, watch: LoopWatch, onError: GuardrailRunnerOptions['onError']): GuardrailRunner {
  const state = {}
  const blocked = new Set<string>()
  const failed = (hook: 'beforeCall' | 'afterCall', error: unknown): string => {
    const message = messageOf(error)
    onError(Object.freeze({ guardrail, hook, message }))
    return `the guardrail ${guardrail} failed: ${message}`
  }
  return {
    has: () => false,
    onTurnStart: () => Promise.resolve(),
    onTurnEnd: () => Promise.resolve(),
    beforeCall(call) {
      try {
        const decision = watch.beforeCall(state, call)
        if (!decision) return allowed
        blocked.add(call.toolCallId)
        return { ...decision, guardrail, warnings: [] }
      } catch (error) {
        blocked.add(call.toolCallId)
        return { action: 'block', guardrail, reason: failed('beforeCall', error), code: 'guardrail-failed', warnings: [] }
      }
    },
    afterCall(call, outcome) {
      const isBlocked = blocked.delete(call.toolCallId)
      try {
        const decision = watch.afterCall(state, call, isBlocked ? { ...outcome, refusedBy: guardrail } : outcome)
        if (decision?.action === 'halt') return { ...decision, action: 'halt', guardrail, warnings: [] }
        return decision ? { action: 'warn', warnings: [decision.reason ?? ''] } : allowed
      } catch (error) {
        failed('afterCall', error)
        return allowed
      }
    },
  }
}
