import { holdingClock, systemClock } from '@bowline/llm'
import type { Clock, JSONValue, RuntimeParams } from '@bowline/llm'
import type { AgentDefinition } from '../agent/definition.ts'
import { limitsOf } from '../agent/limits-of.ts'
import { runDefinition } from '../agent/run-definition.ts'
import { messageOf } from '../base/agent-error.ts'
import { refuseConfig } from '../base/check-options.ts'
import { systemIds } from '../base/ids.ts'
import type { IdSource } from '../base/ids.ts'
import { copyJson, deepFreeze } from '../base/json.ts'
import type { OnFailedTurn, RunOptions } from '../contract/agent.ts'
import type { Budget } from '../contract/budget.ts'
import type { Accepted, AgentInput } from '../contract/input.ts'
import type { Journal } from '../contract/journal.ts'
import type { AgentRun, Limits } from '../contract/run.ts'
import type { OnUnknownOutcome } from '../contract/tool.ts'
import { summaryModels } from '../kernel/compaction-phase.ts'
import { modelTargets } from '../kernel/model-target.ts'
import type { ModelTarget } from '../kernel/model-target.ts'
import { StopSwitch } from '../kernel/stop-switch.ts'
import { checkPrices } from '../plugins/budget/limits.ts'
import { Inbox } from '../plugins/steering/inbox.ts'
import { orderOf, userMessageFor } from '../transcript/input.ts'
import { EventBuffer } from './event-buffer.ts'
import { Gate } from './gate.ts'

/** What a run knows of those above it. */
export interface Ancestry {
  /** Names of the agents from the root; empty at the root, and where a host runs subagents. */
  readonly path: readonly string[]
  readonly budgets: readonly Budget[]
  /** How many levels deep they let work be handed on. */
  readonly maxDepth: number
  /** Of the run right above. */
  readonly stop?: StopSwitch
}

/** What one run brings along: the same for all its turns. A class, because the loop looks at it all the time. */
export class RunParts {
  /** With what the options of the run add to it. */
  readonly agent: AgentDefinition
  /** The model of each step, and those that take over from it. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  readonly journal: Journal
  readonly buffer: EventBuffer
  readonly gate: Gate
  readonly stop: StopSwitch
  readonly inbox: Inbox
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly source: string
  readonly sessionKey: string | undefined
  readonly channel: string | undefined
  readonly context: JSONValue | undefined
  readonly runtimeParams: RuntimeParams
  readonly limits: Limits
  /** Budgets that are shared with others; a turn has one more for its own limits. */
  readonly budgets: readonly Budget[]
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  readonly onInputWhilePending: 'refuse' | 'cancel'
  readonly pinnedInstructions: string | undefined
  readonly pinnedHash: string | undefined
  readonly onApproval: RunOptions['onApproval']
  /** Names of the agents from the root; empty at the root, and where a host runs subagents. */
  readonly path: readonly string[]
  /** How many agents stand above this run, wherever they run. */
  readonly depth: number
  /** Runs of subagents that are under way, by tool call id. */
  readonly children = new Map<string, AgentRun>()
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>
  /** To be called when it has. */
  readonly end: () => void
  #overlays: readonly AgentInput[]

  /** Throws `invalid-config`. */
  constructor(given: AgentDefinition, options: RunOptions, journal: Journal, ancestry: Ancestry) {
    const { ids = systemIds, runtimeParams = {}, budget, mode = 'live', driverTimeoutMs } = options
    // A run is awaited: a process must not end in the middle of one that waits for a time.
    const clock = holdingClock(options.clock ?? systemClock)
    const agent = runDefinition(given, options, journal)
    const own = limitsOf(options.limits, given.limits)
    this.agent = agent
    this.models = modelTargets(agent, runtimeParams, options.pinned)
    const { depth = 0, maxDepth = Infinity } = journal.children ?? {}
    this.limits = { ...own, maxDepth: Math.min(own.maxDepth, ancestry.maxDepth, maxDepth) }
    this.depth = ancestry.path.length + depth
    this.budgets = budget ? [budget, ...ancestry.budgets] : ancestry.budgets
    checkPrices(this.limits, this.budgets, [...this.models, ...summaryModels(agent)])
    this.journal = journal
    this.clock = clock
    this.ids = ids
    this.runtimeParams = runtimeParams
    this.stop = new StopSwitch(() => clock.now())
    this.buffer = new EventBuffer()
    const { buffer, stop } = this
    this.gate = new Gate({ isOpen: mode === 'live', buffer, clock, signal: stop.signal, ...(driverTimeoutMs !== undefined && { driverTimeoutMs }) })
    this.inbox = new Inbox(ids, this.limits)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.ended = ended
    this.end = end
    this.#overlays = (options.overlays ?? []).map((overlay, index) => frozenCopy(`overlays[${index}]`, overlay))
    this.random = options.random ?? Math.random
    this.source = options.source ?? 'user'
    this.onApproval = options.onApproval
    this.sessionKey = options.sessionKey
    this.channel = options.channel
    this.path = Object.freeze([...ancestry.path])
    this.context = options.context === undefined ? undefined : contextOf(options.context)
    this.onUnknownOutcome = options.onUnknownOutcome ?? agent.onUnknownOutcome
    this.onFailedTurn = options.onFailedTurn ?? agent.onFailedTurn
    this.onInputWhilePending = options.onInputWhilePending ?? 'refuse'
    this.pinnedInstructions = options.pinned?.instructions ?? agent.pinnedInstructions
    this.pinnedHash = options.pinned?.hash
  }

  /** Those that the run was given are not taken yet. */
  get hasOverlays(): boolean {
    return this.#overlays.length > 0
  }

  /** Those that the run was given, once. */
  takeOverlays(): readonly AgentInput[] {
    const taken = this.#overlays
    this.#overlays = []
    return taken
  }

  followUp(input: AgentInput): Promise<Accepted> {
    const { journal, inbox } = this
    return journal.enqueue ? journal.enqueue(userMessageFor(input)) : inbox.offer('follow-up', input)
  }
}

function frozenCopy(path: string, input: AgentInput): AgentInput {
  const order = orderOf(input ?? null, path)
  return order.kind === 'message' ? order.message : refuseConfig(`${path} must be an input; received answers`)
}

function contextOf(given: JSONValue): JSONValue {
  try {
    return deepFreeze(copyJson(given))
  } catch (error) {
    return refuseConfig(`context: ${messageOf(error)}`)
  }
}
