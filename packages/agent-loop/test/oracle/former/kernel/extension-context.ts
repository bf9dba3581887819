import { spawnChildIn } from '../agent/spawn-child.ts'
import type { ContextUsage, ExtensionContext } from '../contract/extension.ts'
import { stepFields } from '../plugins/extensions/step-fields.ts'
import { phaseOf } from './phases.ts'
import type { Turn } from './turn.ts'

/** What an extension knows of its turn, and may do to it: one object for the whole turn, which is always up to date. */
export function extensionContext(turn: Turn, extension: string): ExtensionContext {
  const { run, runId, number, stop } = turn
  const { inbox, journal } = run
  return Object.freeze({
    ...{ runId, turn: number, abortSignal: stop.signal, agent: run.path },
    ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
    ...(run.context !== undefined && { context: run.context }),
    ...(turn.agent.models && { models: turn.agent.models }),
    get step() {
      return turn.step
    },
    get journal() {
      return phaseOf(journal)
    },
    get model() {
      return turn.model.name
    },
    get usage() {
      return turn.usage
    },
    get cost() {
      return turn.cost
    },
    get state() {
      return turn.extensionStates.of(extension)
    },
    contextUsage: () => contextUsage(turn),
    instructions: () => turn.instructions,
    isIdle: () => phaseOf(journal) === 'idle',
    hasPendingInputs: () => inbox.hasInputs || inbox.hasFollowUps,
    steer: (input) => inbox.offer('steer', input),
    followUp: (input) => run.followUp(input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void (turn.compactionRequested = true),
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
    waitForIdle: () => run.ended,
    spawnChild: (options) => spawnChildIn(turn, options),
    logStep: (fields) => turn.log.note({ type: 'orchestration-step', ...stepFields(fields) }),
  } satisfies ExtensionContext)
}

function contextUsage(turn: Turn): ContextUsage {
  const { contextWindow } = turn.model.info
  return { tokens: turn.contextTokens(), ...(contextWindow !== undefined && { contextWindow }) }
}
