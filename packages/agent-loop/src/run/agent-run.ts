import { systemClock } from '@bowline/llm'
import type { JSONValue } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import { refuseConfig } from '../agent/check-options.ts'
import type { AgentDefinition } from '../agent/definition.ts'
import { orderOf } from '../agent/input.ts'
import { limitsOf } from '../agent/limits-of.ts'
import type { AgentInput, AgentRun, RunOptions } from '../agent/options.ts'
import { runDefinition } from '../agent/run-definition.ts'
import { systemIds } from '../ids.ts'
import { copyJson, deepFreeze } from '../json.ts'
import { createMemoryJournal } from '../journal/memory-journal.ts'
import type { Journal } from '../journal/journal.ts'
import { checkPrices } from '../loop/limits.ts'
import { modelTargets } from '../loop/model-target.ts'
import { checkRunOptions } from './check-run-options.ts'
import { iterate } from './driver.ts'
import { EventBuffer } from './event-buffer.ts'
import { Gate } from './gate.ts'
import { Inbox } from './inbox.ts'
import { perform } from './perform.ts'
import { phaseOf, releaseJournal, takeJournal } from './phases.ts'
import type { RunParts } from './run-parts.ts'
import { StopSwitch } from './stop-switch.ts'

/** What a run knows of those above it. */
export interface Ancestry {
  /** Names of the agents from the root; empty at the root. */
  readonly path: readonly string[]
  readonly budgets: RunParts['budgets']
  /** How many levels deep they let work be handed on. */
  readonly maxDepth: number
}

const root: Ancestry = { path: [], budgets: [], maxDepth: Infinity }

/** Starts a run. Misuse throws here, before anything is stored. */
export function startRun(agent: AgentDefinition, input: AgentInput | undefined, given: RunOptions, ancestry = root): AgentRun {
  checkRunOptions(given)
  const order = orderOf(input)
  const options = { ...agent.runDefaults, ...given }
  const { ids = systemIds, messages = [] } = options
  const journal = options.journal ?? createMemoryJournal({ messages })
  const parts = partsOf(agent, options, journal, ancestry)
  const { buffer, gate, stop, inbox } = parts
  let runId = options.runId ?? (order.kind === 'message' ? ids.next('run') : '')
  takeJournal(journal, 'turn')
  stop.follow(options.abortSignal)
  stop.follow(journal.abortSignal)
  const result = perform(parts, { order, input, runId, onRunId: (id) => (runId = id) }).finally(() => {
    stop.release()
    gate.open()
    inbox.end()
    releaseJournal(journal)
    buffer.close()
  })
  void result.then(parts.end)
  const { onBreak = 'continue' } = options
  const abort = (reason?: string): void => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) })
  return {
    get runId() {
      return runId
    },
    get phase() {
      return phaseOf(journal)
    },
    events: (readerOptions) => buffer.read(readerOptions),
    [Symbol.asyncIterator]: () => iterate({ buffer, gate, onBreak: () => (onBreak === 'abort' ? abort('the driver left') : undefined) }),
    result() {
      gate.openUnlessDriven()
      return result
    },
    steer: (steered) => inbox.offer('steer', steered),
    followUp: (next) => parts.followUp(next),
    overlay: (overlaid) => inbox.offer('overlay', overlaid),
    abort,
    child: (toolCallId) => parts.children.get(toolCallId),
  }
}

type Parts = RunParts & { readonly end: () => void }

/** Throws `invalid-config`. */
export function partsOf(given: AgentDefinition, options: RunOptions, journal: Journal, ancestry: Ancestry): Parts {
  const { clock = systemClock, ids = systemIds, runtimeParams = {}, budget, mode = 'live', driverTimeoutMs } = options
  const agent = runDefinition(given, options, journal)
  const models = modelTargets(agent, runtimeParams, options.pinned)
  const own = limitsOf(options.limits, given.limits)
  const limits = { ...own, maxDepth: Math.min(own.maxDepth, ancestry.maxDepth) }
  const budgets = budget ? [budget, ...ancestry.budgets] : ancestry.budgets
  checkPrices(limits, budgets, models)
  const stop = new StopSwitch(() => clock.now())
  const buffer = new EventBuffer()
  const gate = new Gate({ isOpen: mode === 'live', buffer, clock, signal: stop.signal, ...(driverTimeoutMs !== undefined && { driverTimeoutMs }) })
  const inbox = new Inbox(ids, limits)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  let overlays = (options.overlays ?? []).map(frozenCopy)
  return {
    ...{ agent, models, journal, buffer, gate, stop, inbox, clock, ids, limits, budgets, runtimeParams, ended, end },
    ...{ random: options.random ?? Math.random, source: options.source ?? 'user', onApproval: options.onApproval },
    ...{ sessionKey: options.sessionKey, channel: options.channel, path: Object.freeze([...ancestry.path]), children: new Map() },
    context: options.context === undefined ? undefined : contextOf(options.context),
    onUnknownOutcome: options.onUnknownOutcome ?? agent.onUnknownOutcome,
    onFailedTurn: options.onFailedTurn ?? agent.onFailedTurn,
    onInputWhilePending: options.onInputWhilePending ?? 'refuse',
    ...{ pinnedInstructions: options.pinned?.instructions ?? agent.pinnedInstructions, pinnedHash: options.pinned?.hash },
    get hasOverlays() {
      return overlays.length > 0
    },
    takeOverlays() {
      const taken = overlays
      overlays = []
      return taken
    },
    followUp: (input) => (journal.enqueue ? journal.enqueue(frozenCopy(input)) : inbox.offer('follow-up', input)),
  }
}

function frozenCopy(input: AgentInput): AgentInput {
  const order = orderOf(input)
  return order.kind === 'message' ? order.message : refuseConfig('answers are no input of a turn')
}

function contextOf(given: JSONValue): JSONValue {
  try {
    return deepFreeze(copyJson(given))
  } catch (error) {
    return refuseConfig(`context: ${messageOf(error)}`)
  }
}
