import type { ContextUsage, ExtensionContext } from '../../contract/extension.ts'
import { phaseOf } from '../../kernel/phases.ts'
import type { Turn } from '../../kernel/turn.ts'
import { stepFields } from './step-fields.ts'

/** What an extension knows of its turn, and may do to it: one object for the whole turn, which is always up to date. */
export function extensionContext(turn: Turn, stateOf: () => ExtensionContext['state']): ExtensionContext {
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
      return stateOf()
    },
    contextUsage: () => contextUsage(turn),
    instructions: () => turn.instructions,
    isIdle: () => phaseOf(journal) === 'idle',
    hasPendingInputs: () => inbox.hasInputs || inbox.hasFollowUps,
    steer: (input) => inbox.offer('steer', input),
    followUp: (input) => run.followUp(input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void turn.wishes.add('compaction'),
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
    waitForIdle: () => run.ended,
    spawnChild: (options) => run.spawnChild(turn.instructions, options),
    logStep: (fields) => turn.log.note({ type: 'orchestration-step', ...stepFields(fields) }),
  } satisfies ExtensionContext)
}

function contextUsage(turn: Turn): ContextUsage {
  const { contextWindow } = turn.model.info
  return { tokens: turn.contextTokens(), ...(contextWindow !== undefined && { contextWindow }) }
}
