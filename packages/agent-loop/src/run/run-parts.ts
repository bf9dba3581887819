import { holdingClock, mergeRuntimeParams, systemClock } from '@bowline/llm'
import type { Clock, JSONValue, RuntimeParams } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { refuseConfig } from '../base/checks.ts'
import { systemIds } from '../base/ids.ts'
import type { IdSource } from '../base/ids.ts'
import { frozenJson } from '../base/json.ts'
import type { Agent, OnFailedTurn, RunOptions, SpawnChildOptions } from '../contract/agent.ts'
import type { Accepted, AgentInput } from '../contract/input.ts'
import type { Journal, JournalState } from '../contract/journal.ts'
import type { AgentRun, Budget, Limits, LocalBudget } from '../contract/run.ts'
import type { OnUnknownOutcome } from '../contract/tool.ts'
import { modelTargets } from '../kernel/model-target.ts'
import type { ModelTarget } from '../kernel/model-target.ts'
import type { Ancestry, RunContext, SystemPrompt } from '../kernel/run-context.ts'
import { checkPrices } from '../kernel/spending.ts'
import { wholePrompt } from '../kernel/system-prompt.ts'
import { StopSwitch } from '../kernel/stop-switch.ts'
import { Turn } from '../kernel/turn.ts'
import type { Plugins } from '../kernel/turn.ts'
import { createBudget } from '../plugins/budget/budget.ts'
import { summaryModels } from '../plugins/compaction/compaction.ts'
import { orderOf, userMessageFor } from '../transcript/input.ts'
import { Transcript } from '../transcript/transcript.ts'
import { invalidatePrompt, limitsOf, runDefinition } from './definition.ts'
import type { AgentDefinition } from './definition.ts'
import { EventLog } from './event-log.ts'
import { Gate } from './gate.ts'
import { Inbox } from './inbox.ts'

/** Keeps the process alive: it must not end while a run waits for a timer. */
const runClock = holdingClock(systemClock)

/** Facts of one run, the same for all its turns. It is a class because the loop reads it all the time. */
export class RunParts implements RunContext {
  /** The agent with the additions of the run's options. */
  readonly agent: AgentDefinition
  readonly plugins: Plugins
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  readonly params: RuntimeParams
  readonly journal: Journal
  readonly events: EventLog
  readonly gate: Gate
  readonly stop: StopSwitch
  readonly inbox: Inbox
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly source: string
  readonly sessionKey: string | undefined
  readonly session: RunOptions['session']
  readonly channel: string | undefined
  readonly context: JSONValue | undefined
  readonly limits: Limits
  readonly budgets: readonly Budget[]
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  readonly onInputWhilePending: 'refuse' | 'cancel'
  readonly pinnedPrompt: SystemPrompt | undefined
  readonly pinnedHash: string | undefined
  readonly onApproval: RunOptions['onApproval']
  readonly path: readonly string[]
  readonly depth: number
  readonly children = new Map<string, AgentRun>()
  readonly ended: Promise<void>
  /** Must be called when the run has ended. */
  readonly end: () => void
  #overlays: readonly AgentInput[]

  /** Checks the options. Throws `invalid-config`. */
  constructor(given: AgentDefinition, options: RunOptions, journal: Journal, ancestry: Ancestry) {
    const { ids = systemIds, runtimeParams = {}, budget, mode = 'live', driverTimeoutMs } = options
    const clock = options.clock ? holdingClock(options.clock) : runClock
    const agent = runDefinition(given, options, journal)
    const own = limitsOf(options.limits, given.limits)
    this.agent = agent
    this.plugins = agent.plugins()
    this.models = options.runtimeParams || options.pinned ? modelTargets(agent, runtimeParams, options.pinned) : ownTargets(given)
    this.params = options.runtimeParams ? mergeRuntimeParams(agent.runtimeParams, runtimeParams) : agent.runtimeParams
    const { depth = 0, maxDepth = Infinity, onBudget } = journal.children ?? {}
    const asks = own.onBudget === 'ask' || ancestry.onBudget === 'ask' || onBudget === 'ask'
    this.limits = { ...own, maxDepth: Math.min(own.maxDepth, ancestry.maxDepth, maxDepth), onBudget: asks ? 'ask' : 'end' }
    this.depth = ancestry.path.length + depth
    this.budgets = budget ? [budget, ...ancestry.budgets] : ancestry.budgets
    checkPrices(this.budgets, [...this.models, ...summaryModels(agent.compaction, agent.models)], this.limits)
    this.journal = journal
    this.clock = clock
    this.ids = ids
    this.stop = new StopSwitch(() => clock.now())
    this.events = new EventLog()
    const { events, stop } = this
    this.gate = new Gate({
      isOpen: mode === 'live',
      events,
      clock,
      signal: stop.signal,
      ...(driverTimeoutMs !== undefined && { driverTimeoutMs }),
    })
    this.inbox = new Inbox(ids, this.limits)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.ended = ended
    this.end = end
    this.#overlays = (options.overlays ?? []).map((overlay, index) => frozenCopy(`overlays[${index}]`, overlay))
    this.random = options.random ?? Math.random
    this.source = options.source ?? 'user'
    this.onApproval = options.onApproval
    this.sessionKey = options.sessionKey
    this.session = options.session
    this.channel = options.channel
    this.path = Object.freeze([...ancestry.path])
    this.context = options.context === undefined ? undefined : contextOf(options.context)
    this.onUnknownOutcome = options.onUnknownOutcome ?? agent.onUnknownOutcome
    this.onFailedTurn = options.onFailedTurn ?? agent.onFailedTurn
    this.onInputWhilePending = options.onInputWhilePending ?? 'refuse'
    this.pinnedPrompt = options.pinned ? wholePrompt(options.pinned.instructions) : agent.pinnedPrompt
    this.pinnedHash = options.pinned?.hash
  }

  get hasOverlays(): boolean {
    return this.#overlays.length > 0
  }

  get isDriven(): boolean {
    return !this.gate.isOpen
  }

  passBoundary(): Promise<void> {
    return this.gate.passed()
  }

  takeOverlays(): readonly AgentInput[] {
    const taken = this.#overlays
    this.#overlays = []
    return taken
  }

  followUp(input: AgentInput): Promise<Accepted> {
    const { journal, inbox } = this
    return journal.enqueue ? journal.enqueue(userMessageFor(input)) : inbox.offer('follow-up', input)
  }

  spawnChild(prompt: SystemPrompt, options: SpawnChildOptions | undefined): Agent {
    return this.agent.spawnChild(this, prompt, options)
  }

  invalidatePrompt(channel?: string): void {
    invalidatePrompt(this.agent, channel)
  }

  reload(): Promise<void> {
    return this.agent.reload()
  }

  openBudget({ open, ...spent }: Parameters<RunContext['openBudget']>[0]): LocalBudget | undefined {
    const { maxTotalTokens, maxCost } = this.limits
    if (maxTotalTokens === undefined && maxCost === undefined) return undefined
    const own = createBudget({
      ...(maxTotalTokens !== undefined && { maxTotalTokens }),
      ...(maxCost !== undefined && { maxCost }),
    })
    own.charge(spent)
    if (open?.granted) own.grant('earlier', open.granted)
    return own
  }
}

const targets = new WeakMap<AgentDefinition, RunParts['models']>()

/** Returns the models of the agent itself, which are resolved once instead of by each run. */
function ownTargets(agent: AgentDefinition): RunParts['models'] {
  const known = targets.get(agent) ?? modelTargets(agent, {}, undefined)
  targets.set(agent, known)
  return known
}

function frozenCopy(path: string, input: AgentInput): AgentInput {
  const order = orderOf(input ?? null, path)
  return order.kind === 'message' ? order.message : refuseConfig(`${path} must be an input; received answers`)
}

function contextOf(given: JSONValue): JSONValue {
  try {
    return frozenJson(given)
  } catch (error) {
    return refuseConfig(`context: ${messageOf(error)}`)
  }
}

/**
 * Transcripts that runs have left, by the list that they were read from. A list that a journal returns again has only grown, so the
 * work of a run does not grow with the conversation.
 */
export const transcripts = new WeakMap<JournalState['messages'], Transcript>()

/** Returns the open turn of a conversation, or its next one. Throws `invalid-transcript`. */
export function openTurn(run: RunParts, state: JournalState, runId: string): Turn {
  const { open, turns, messages } = state
  const [{ name }] = run.models
  const known = transcripts.get(messages)
  // Runs may follow each other before the first one has noticed that it lost the conversation.
  transcripts.delete(messages)
  const transcript = known?.follow(state, name) ? known : new Transcript(state, name)
  return new Turn(run, run.plugins, {
    runId: open?.runId ?? (runId || run.ids.next('run')),
    number: open?.turn ?? turns + 1,
    transcript,
    open,
  })
}

export function newTurn(run: RunParts, transcript: Transcript, number: number, runId: string): Turn {
  return new Turn(run, run.plugins, { runId, number, transcript })
}
