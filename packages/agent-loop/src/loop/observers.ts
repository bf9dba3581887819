import { spawnChildOf } from '../agent/spawn-child.ts'
import type { Extension, ExtensionContext } from '../extensions/extension.ts'
import { hookRunner } from '../extensions/run-hooks.ts'
import type { HookRunner } from '../extensions/run-hooks.ts'
import { guardrailRunner } from '../guardrails/run-guardrails.ts'
import type { GuardrailRunner } from '../guardrails/run-guardrails.ts'
import { phaseOf } from '../run/phases.ts'
import type { Turn } from './turn.ts'

/** The hooks of the agent's extensions, for one turn. A failure that must not be ignored ends it. */
export function hooksOf(turn: Turn): HookRunner {
  return hookRunner({
    ...{ extensions: turn.agent.extensions, clock: turn.clock, abortSignal: turn.stop.signal },
    stopDeadline: () => turn.stopDeadline,
    contextOf: (extension) => extensionContext(turn, extension),
    onError({ extension, hook, message, fatal }) {
      turn.record({ type: 'error', source: 'extension', name: extension, hook, message, fatal })
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
      turn.record({ type: 'error', source: 'guardrail', name: guardrail, hook, message, fatal: false })
    },
  })
}

function extensionContext(turn: Turn, { name }: Extension): ExtensionContext {
  const { run, agent, runId, number, stop } = turn
  const { inbox, journal } = run
  return {
    ...{ runId, turn: number, step: turn.step, agent: run.path, journal: phaseOf(journal), model: turn.model.name },
    ...{ abortSignal: stop.signal, usage: turn.usage, state: (turn.extensionState[name] ??= {}) },
    ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
    ...(run.context !== undefined && { context: run.context }),
    ...(agent.models && { models: agent.models }),
    ...(turn.cost && { cost: turn.cost }),
    contextUsage() {
      const { contextWindow } = turn.model.info
      return { tokens: turn.contextTokens(), ...(contextWindow !== undefined && { contextWindow }) }
    },
    instructions: () => turn.instructions,
    isIdle: () => phaseOf(journal) === 'idle',
    hasPendingInputs: () => inbox.hasInputs || inbox.hasFollowUps,
    steer: (input) => inbox.offer('steer', input),
    followUp: (input) => run.followUp(input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void (turn.compactionRequested = true),
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
    waitForIdle: () => run.ended,
    spawnChild: (options) => spawnChildOf(agent, options),
    logStep: (fields) => turn.record({ type: 'orchestration-step', ...fields }),
  }
}
