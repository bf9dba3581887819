import type { Extension, ExtensionContext } from '../contract/extension.ts'
import { hookRunner, noHooks } from '../plugins/extensions/run-hooks.ts'
import type { HookRunner } from '../plugins/extensions/run-hooks.ts'
import { guardrailRunner } from '../plugins/guardrails/run-guardrails.ts'
import type { GuardrailRunner } from '../plugins/guardrails/run-guardrails.ts'
import { extensionContext } from './extension-context.ts'
import type { Turn } from './turn.ts'

/** The hooks of the agent's extensions, for one turn. A failure that must not be ignored ends it. */
export function hooksOf(turn: Turn): HookRunner {
  if (turn.agent.extensions.length === 0) return noHooks
  const contexts = new Map<Extension, ExtensionContext>()
  return hookRunner({
    ...{ extensions: turn.agent.extensions, clock: turn.clock, abortSignal: turn.stop.signal },
    stopDeadline: () => turn.stopDeadline,
    hasEnded: () => turn.log.hasEnded,
    contextOf(extension) {
      const context = contexts.get(extension) ?? extensionContext(turn, extension.name)
      contexts.set(extension, context)
      return context
    },
    onError({ extension, hook, message, fatal }) {
      turn.log.note({ type: 'error', source: 'extension', name: extension, hook, message, fatal })
      if (!fatal) return
      const error = { code: 'extension-error' as const, message: `${extension}.${hook}: ${message}` }
      turn.stop.stop({ kind: 'stop', status: 'error', reason: 'extension-error', error, message })
    },
  })
}

/** The agent's guardrails, for one turn. */
export function guardrailsOf(turn: Turn): GuardrailRunner {
  const { run, runId, number, stop } = turn
  return guardrailRunner({
    ...{ guardrails: turn.agent.guardrails(), clock: turn.clock, abortSignal: stop.signal },
    stopDeadline: () => turn.stopDeadline,
    contextOf: () => ({
      ...{ runId, turn: number, step: turn.step, agent: run.path, abortSignal: stop.signal },
      ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
      ...(run.context !== undefined && { context: run.context }),
    }),
    onError({ guardrail, hook, message }) {
      turn.log.note({ type: 'error', source: 'guardrail', name: guardrail, hook, message, fatal: false })
    },
  })
}
