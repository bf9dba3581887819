import { addUsage } from '@bowline/llm'
import type { AssistantMessage, Clock, Cost, Usage } from '@bowline/llm'
import type { AgentDefinition } from '../agent/definition.ts'
import { messageOf } from '../base/agent-error.ts'
import type { IdSource } from '../base/ids.ts'
import { deepFreeze } from '../base/json.ts'
import type { Budget } from '../contract/budget.ts'
import type { Journal, OpenTurn, RetryRow, StepProgress, StoredMessage } from '../contract/journal.ts'
import { sumCost } from '../events/sum-cost.ts'
import type { DeltaEvent, UsageEvent } from '../events/types.ts'
import { budgetOf } from '../plugins/budget/limits.ts'
import { ExtensionStates } from '../plugins/extensions/extension-states.ts'
import type { HookRunner } from '../plugins/extensions/run-hooks.ts'
import type { GuardrailRunner } from '../plugins/guardrails/run-guardrails.ts'
import { Overlays } from '../plugins/steering/overlays.ts'
import type { RunParts } from '../run/run-parts.ts'
import type { Transcript } from '../transcript/transcript.ts'
import type { ModelAnswer } from './answer.ts'
import type { ModelTarget } from './model-target.ts'
import { guardrailsOf, hooksOf } from './observers.ts'
import type { StopSwitch } from './stop-switch.ts'
import { TurnLog } from './turn-log.ts'

/** Where a turn stands when a run takes it up, or begins it. */
export interface TurnStart {
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  readonly open?: OpenTurn | undefined
}

/** The state of one turn. */
export class Turn {
  readonly run: RunParts
  readonly agent: AgentDefinition
  readonly stop: StopSwitch
  readonly clock: Clock
  readonly ids: IdSource
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  readonly overlays: Overlays
  readonly hooks: HookRunner
  readonly guardrails: GuardrailRunner
  /** Of its own limits, when it has such. */
  readonly ownBudget: Budget | undefined
  /** The only way to its journal. */
  readonly log: TurnLog
  /** With those that it shares. */
  readonly budgets: readonly Budget[]
  /** The records of the extensions, by name. */
  readonly extensionStates: ExtensionStates
  /** The system prompt. */
  instructions = ''
  /** The model of the present step. */
  model: ModelTarget
  step: number
  usage: Usage
  cost: Cost | undefined
  stepState: StepProgress
  /** The message that the model is to write, or writes. */
  messageId = ''
  /** The message that the turn began with. */
  inputId: string | undefined
  /** Inputs that the journal has as waiting until the draft is stored. */
  readonly unstored = new Set<string>()
  /** An input that steers is in the next request. */
  steered = false
  /** The model has answered in this turn. */
  answered: boolean
  /** Of the model call: 1, 2 … */
  attempt: number
  /** Where the retries of the present step stand. */
  retry: RetryRow | undefined
  /** Names that the present step offers; undefined is all. */
  activeTools: ReadonlySet<string> | undefined
  /** Until when a retry waits. */
  notBefore: number | undefined
  /** What the retries of the turn have waited in all. */
  waitedMs: number
  overflowUsed: boolean
  /** Calls of the turn before those of the present answer. */
  earlierCalls = 0
  /** Where in the transcript the turn begins, as far as this segment knows. */
  readonly beginsAt: number
  /** How many messages nothing may withdraw any more: a tool that is not `pure` has run behind them. */
  firm: number
  /** Tool call ids whose approval somebody in this process was asked for. */
  readonly askedInPlace = new Set<string>()
  /** Somebody asked for a compaction behind the turn. */
  compactionRequested = false
  /** What a model function has answered for the steps to come. */
  answersAhead: readonly ModelAnswer[] = []
  /** What an extension answered in the place of a model. */
  reply = ''
  readonly #startedAt: number
  readonly #showsDeltas: boolean
  #isUnpublished = false

  constructor(run: RunParts, start: TurnStart) {
    const { open, transcript } = start
    this.run = run
    this.agent = run.agent
    this.stop = run.stop
    this.clock = run.clock
    this.ids = run.ids
    this.runId = start.runId
    this.number = start.number
    this.transcript = transcript
    this.model = run.models[open?.retry?.model ?? 0] ?? run.models[0]
    this.step = open?.step ?? 0
    this.usage = deepFreeze(open?.usage ?? {})
    this.cost = open?.cost
    this.stepState = open ? stepStateOf(open, transcript) : 'ended'
    this.inputId = open?.inputMessageId
    this.answered = this.step > (this.stepState === 'begun' ? 1 : 0)
    this.attempt = open?.attempt ?? 1
    this.retry = open?.retry
    this.activeTools = open?.activeTools && new Set(open.activeTools)
    this.waitedMs = open?.waitedMs ?? 0
    // If the clock was set back meanwhile, the retry waits no longer than what was announced.
    this.notBefore = open?.notBefore === undefined ? undefined : Math.min(open.notBefore, run.clock.now() + this.waitedMs)
    this.overflowUsed = open?.overflowUsed ?? false
    const input = open && transcript.placeOf(open.inputMessageId)
    this.beginsAt = input ?? transcript.messages.length
    // Which tools of earlier segments were pure is not known any more.
    this.firm = !open || (input !== undefined && transcript.callsSince(open.inputMessageId) === 0) ? 0 : Infinity
    this.overlays = new Overlays(open?.overlays)
    transcript.estimate.useExtra(this.overlays.messages)
    this.extensionStates = new ExtensionStates(open?.extensionState ?? {}, (name, message) =>
      this.log.note({ type: 'error', source: 'extension', name, hook: 'state', message, fatal: false }),
    )
    this.#startedAt = run.clock.now() - (open?.elapsedMs ?? 0)
    this.log = new TurnLog(this, open?.ending)
    this.ownBudget = budgetOf(this)
    this.budgets = this.ownBudget ? [this.ownBudget, ...run.budgets] : run.budgets
    this.#showsDeltas = run.agent.extensions.some(({ deltas, hooks }) => deltas === true && hooks.onEvent !== undefined)
    this.hooks = hooksOf(this)
    this.guardrails = guardrailsOf(this)
  }

  /** How long the turn has run, its suspensions apart. */
  get elapsedMs(): number {
    return this.clock.now() - this.#startedAt
  }

  /** When a run that is being stopped must have ended. */
  get stopDeadline(): number | undefined {
    const { stoppedAt } = this.stop
    return stoppedAt === undefined ? undefined : stoppedAt + this.agent.abortGraceMs
  }

  /** Drafts a message at the end of the transcript. Throws `invalid-transcript` and drafts nothing. */
  append(message: StoredMessage): void {
    this.transcript.append(message)
    this.log.write({ type: 'append', message })
  }

  /** Drafts that messages are withdrawn from the transcript. */
  discard(messageIds: readonly string[]): void {
    if (messageIds.length === 0) return
    const moved = this.overlays.withdrawn(messageIds, this.transcript.view)
    this.transcript.discard(messageIds)
    this.log.write({ type: 'discard', messageIds })
    for (const overlay of moved) this.log.write({ type: 'overlay', overlay })
  }

  /** Drafts that inputs which wait in the journal are taken. What shows them must be drafted with it. */
  takeOver(inputIds: readonly string[]): void {
    for (const inputId of inputIds) this.unstored.add(inputId)
    this.log.write({ type: 'inputs-taken', inputIds })
  }

  /** About how many tokens the next call sends. */
  contextTokens(): number {
    return this.transcript.estimate.tokens
  }

  /** The model that makes the step's next attempt. */
  useModel(model: ModelTarget): void {
    this.model = model
    this.transcript.estimate.useModel(model.name)
  }

  /** A guardrail ends the turn. */
  halt(message: string): void {
    this.stop.stop({ kind: 'stop', status: 'halted', reason: 'guardrail', error: { code: 'halted', message }, message })
  }

  /** Adds to what the turn has used. */
  book(usage: Usage, cost: Cost | undefined): void {
    this.cost = sumCost({ usage: this.usage, cost: this.cost }, { usage, cost })
    this.usage = addUsage(this.usage, usage)
  }

  /** Books what no `message-end` holds, and drafts the event that says so. */
  bookApart(purpose: UsageEvent['purpose'], usage: Usage, cost: Cost | undefined, model?: ModelTarget): void {
    this.book(usage, cost)
    this.log.record({
      ...{ type: 'usage', purpose, usage },
      ...(cost && { cost }),
      ...(usage.estimated && { estimated: true }),
      ...(model && { model: model.name }),
    })
    // Sum and event are never in two commits.
    this.log.writeRun('running')
  }

  /** A driver wants its say at each boundary. */
  get isDriven(): boolean {
    return !this.run.gate.isOpen
  }

  /** A boundary: what is drafted is stored, and a driver gets its say. */
  async boundary(): Promise<void> {
    if (!this.isDriven) return
    await this.log.commit()
    await this.run.gate.passed()
  }

  /** Gives readers a live event. */
  publish(event: DeltaEvent): void {
    Object.freeze(event)
    this.run.buffer.push(event)
    this.#publishTo(this.run.journal, event)
    if (this.#showsDeltas) this.hooks.onEvent(event)
  }

  /** What is only for watchers must not fail the turn: it is said once, and the rest of the turn is not published. */
  #publishTo(journal: Journal, event: DeltaEvent): void {
    if (!journal.publish || this.#isUnpublished) return
    try {
      journal.publish([event])
    } catch (error) {
      this.#isUnpublished = true
      const { runId, number: turn, clock } = this
      const message = messageOf(error)
      this.run.buffer.push({ type: 'error', at: clock.now(), runId, turn, source: 'journal', hook: 'publish', message, fatal: false })
    }
  }

  /** Drafts the answer of the model. */
  takeAnswer(answer: AssistantMessage): void {
    this.book(answer.usage, answer.cost)
    this.log.record({ type: 'message-end', step: this.step, messageId: answer.id, message: answer, attempt: this.attempt })
    this.append(answer)
    this.stepState = 'answered'
    this.answered = true
  }
}

function stepStateOf(open: OpenTurn, transcript: Transcript): StepProgress {
  if (open.stepState) return open.stepState
  if (transcript.openAnswer) return 'answered'
  return open.openMessageId === undefined && open.notBefore === undefined ? 'ended' : 'begun'
}
