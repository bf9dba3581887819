import { optional } from '../../base/fields.ts'
import type { ContextUsage, ExtensionContext, StepFields } from '../../contract/extension.ts'
import { phaseOf } from '../../kernel/phases.ts'
import type { Turn } from '../../kernel/turn.ts'

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

/** The fields of an `orchestration-step` and no others. Throws for what does not fit. */
export function stepFields({ name, previous, because, sequenceIndex }: StepFields): StepFields {
  if (name !== null && typeof name !== 'string') return refuse('a name, or null')
  if (previous !== undefined && typeof previous !== 'string') return refuse('a text as previous')
  if (typeof because !== 'string') return refuse('a text as because')
  if (!Number.isSafeInteger(sequenceIndex)) return refuse('a whole number as sequenceIndex')
  return { name, because, sequenceIndex, ...optional('previous', previous) }
}

function refuse(what: string): never {
  throw new TypeError(`logStep must be given ${what}`)
}
