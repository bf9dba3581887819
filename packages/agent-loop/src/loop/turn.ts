import { addUsage } from '@bowline/llm'
import type { AssistantMessage, Clock, Cost, Usage } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { AgentDefinition } from '../agent/definition.ts'

import type { DeltaEvent, DurableEvent, UsageEvent } from '../events/types.ts'
import { ExtensionStates } from '../extensions/extension-states.ts'
import type { HookRunner } from '../extensions/run-hooks.ts'
import type { GuardrailRunner } from '../guardrails/run-guardrails.ts'
import type { IdSource } from '../ids.ts'
import { deepFreeze } from '../json.ts'
import { Draft } from '../journal/draft.ts'
import type { Committed } from '../journal/draft.ts'
import type { CallRow, CommitExpectation, JournalRecord, OpenTurn, RetryRow, RunRow, StepProgress, StoredMessage } from '../journal/journal.ts'
import type { RunParts } from '../run/run-parts.ts'
import type { StopSwitch } from '../run/stop-switch.ts'
import type { Transcript } from '../transcript/transcript.ts'
import type { ModelAnswer } from './answer.ts'
import type { Budget } from './budget.ts'
import { budgetOf } from './limits.ts'
import type { ModelTarget } from './model-target.ts'
import { guardrailsOf, hooksOf } from './observers.ts'
import { Overlays } from './overlays.ts'
import { sumCost } from '../events/sum-cost.ts'

/** The durable events that a run makes. */
type RunEvent = Exclude<DurableEvent, { type: 'session-start' | 'session-end' | 'run-queued' | 'branch-switched' }>

/** An event without what the turn adds to it. */
type EventFields<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq'> : never
export type RunEventFields = EventFields<RunEvent>

type Note = Extract<RunEventFields, { type: 'error' | 'orchestration-step' }>

/** What the row of a run says besides where the turn stands. */
type RunEnding = Pick<RunRow, 'status' | 'reason' | 'pendingToolCalls' | 'pendingApprovals' | 'error' | 'compactionDue' | 'followed' | 'ending'>

/** Where a turn stands when a run takes it up, or begins it. */
export interface TurnStart {
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  readonly open?: OpenTurn | undefined
}

/** The state of one turn, and the only way to its journal. */
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
  /** `new` until its `turn-start` is drafted, `ended` from its `turn-end` on, `closed` behind its last commit. */
  #stage: 'new' | 'open' | 'ended' | 'closed' = 'new'
  /** Said before the beginning. */
  readonly #early: Note[] = []
  /** What the latest row of the run said. */
  #row: { readonly state: RunRow['state']; readonly ending: RunEnding } | undefined
  readonly #draft: Draft
  readonly #showsDeltas: boolean

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
    this.notBefore = open?.notBefore
    this.waitedMs = open?.waitedMs ?? 0
    this.overflowUsed = open?.overflowUsed ?? false
    const input = open && transcript.placeOf(open.inputMessageId)
    this.beginsAt = input ?? transcript.messages.length
    // Which tools of earlier segments were pure is not known any more.
    this.firm = !open || (input !== undefined && transcript.callsSince(open.inputMessageId) === 0) ? 0 : Infinity
    this.overlays = new Overlays(open?.overlays)
    transcript.estimate.useExtra(this.overlays.messages)
    this.extensionStates = new ExtensionStates(open?.extensionState ?? {}, (name, message) =>
      this.note({ type: 'error', source: 'extension', name, hook: 'state', message, fatal: false }),
    )
    this.#row = open?.ending && { state: 'running', ending: { ending: open.ending } }
    this.#startedAt = run.clock.now() - (open?.elapsedMs ?? 0)
    this.#draft = new Draft(run.journal, run.clock, (event) => this.#show(event))
    this.ownBudget = budgetOf(this)
    this.budgets = this.ownBudget ? [this.ownBudget, ...run.budgets] : run.budgets
    this.#showsDeltas = run.agent.extensions.some(({ deltas, hooks }) => deltas === true && hooks.onEvent !== undefined)
    this.hooks = hooksOf(this)
    this.guardrails = guardrailsOf(this)
  }

  /** Messages of this turn that are stored. */
  get newMessages(): readonly StoredMessage[] {
    return this.#draft.appended
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

  /** Drafts a durable event. */
  record(fields: RunEventFields): void {
    this.#draft.add(this.#eventRecord(fields))
  }

  /** Drafts the beginning of the segment, and behind it what was said before. */
  begin(fields: Omit<Extract<RunEventFields, { type: 'turn-start' }>, 'type'>): void {
    this.record({ type: 'turn-start', ...fields })
    this.#stage = 'open'
    this.#row ??= { state: 'running', ending: {} }
    for (const note of this.#early.splice(0)) this.record(note)
  }

  /** Drafts what somebody beside the loop has to say, behind the beginning of the segment; nothing once it is closed. */
  note(fields: Note): void {
    if (this.#stage === 'new') this.#early.push(fields)
    else if (this.#stage !== 'closed') this.record(fields)
  }

  /** The end of the segment is durable: nothing can change how it ended. */
  get hasEnded(): boolean {
    return this.#stage === 'ended' || this.#stage === 'closed'
  }

  /** Nothing more is stored. */
  close(): void {
    this.#stage = 'closed'
  }

  /** Drafts a message at the end of the transcript. Throws `invalid-transcript` and drafts nothing. */
  append(message: StoredMessage): void {
    this.transcript.append(message)
    this.#draft.add({ type: 'append', message })
  }

  /** Drafts that messages are withdrawn from the transcript. */
  discard(messageIds: readonly string[]): void {
    if (messageIds.length === 0) return
    const moved = this.overlays.withdrawn(messageIds, this.transcript.view)
    this.transcript.discard(messageIds)
    this.#draft.add({ type: 'discard', messageIds })
    for (const overlay of moved) this.write({ type: 'overlay', overlay })
  }

  /** Drafts that inputs which wait in the journal are taken. What shows them must be drafted with it. */
  takeOver(inputIds: readonly string[]): void {
    for (const inputId of inputIds) this.unstored.add(inputId)
    this.write({ type: 'inputs-taken', inputIds })
  }

  /** Drafts a row of the tool ledger. */
  writeCall(row: CallRow): void {
    this.#draft.add({ type: 'call', call: deepFreeze(row) })
  }

  /** Drafts where the run stands, as it will stand when it is stored. */
  writeRun(state: RunRow['state'], ending: RunEnding = {}): void {
    this.#row = { state, ending }
    this.#draft.addRun(this.#rowOfRun)
  }

  /** Drafts any other record. */
  write(record: Extract<JournalRecord, { type: 'overlay' | 'inputs-taken' | 'compaction' }>): void {
    this.#draft.add(deepFreeze(record))
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
    this.record({
      ...{ type: 'usage', purpose, usage },
      ...(cost && { cost }),
      ...(usage.estimated && { estimated: true }),
      ...(model && { model: model.name }),
    })
    // Sum and event are never in two commits.
    this.writeRun('running')
  }

  /** Stores the draft. Rejects with `AgentError`: the run must then store nothing more. */
  commit(): Promise<Committed> {
    return this.commitIf()
  }

  /**
   * Stores the draft with `last` behind it, if the journal's state allows it. Else nothing is stored, and the draft
   * stands without `last`.
   */
  commitIf(expect?: CommitExpectation, last: readonly RunEventFields[] = []): Promise<Committed> {
    if (this.stop.cause?.kind === 'fenced') return Promise.reject(new AgentError('fenced', 'the run belongs to another process'))
    this.#storeStates()
    return this.#draft.commit(expect, last.map((fields) => this.#eventRecord(fields)))
  }

  /** Where the draft stands. */
  get mark(): number {
    return this.#draft.length
  }

  /** Forgets what was drafted from the one mark to the other: what came behind it meanwhile stands. */
  backTo(mark: number, end: number): void {
    this.#draft.cut(mark, end)
    this.writeRun('running')
  }

  /** A driver wants its say at each boundary. */
  get isDriven(): boolean {
    return !this.run.gate.isOpen
  }

  /** A boundary: what is drafted is stored, and a driver gets its say. */
  async boundary(): Promise<void> {
    if (!this.isDriven) return
    await this.commit()
    await this.run.gate.passed()
  }

  /** Gives readers a live event. */
  publish(event: DeltaEvent): void {
    Object.freeze(event)
    this.run.buffer.push(event)
    this.run.journal.publish?.([event])
    if (this.#showsDeltas) this.hooks.onEvent(event)
  }

  /** Drafts the answer of the model. */
  takeAnswer(answer: AssistantMessage): void {
    this.book(answer.usage, answer.cost)
    this.record({ type: 'message-end', step: this.step, messageId: answer.id, message: answer, attempt: this.attempt })
    this.append(answer)
    this.stepState = 'answered'
    this.answered = true
  }

  #show(event: DurableEvent): void {
    const { buffer, inbox } = this.run
    if (event.type === 'turn-end') this.#stage = 'ended'
    if ((event.type === 'runtime-input' || event.type === 'user-message') && event.inputId !== undefined) {
      inbox.confirm(event.inputId)
      this.unstored.delete(event.inputId)
    }
    buffer.push(event)
    if (this.hooks.has('onEvent')) this.hooks.onEvent(event)
  }

  /** What extensions have written goes with what is stored anyway; of a turn that waits it is stored by itself. */
  #storeStates(): void {
    const { state, ending } = this.#row ?? { state: 'ended' }
    if (state === 'ended' || (state === 'running' && this.#draft.isEmpty)) return
    if (this.extensionStates.take()) this.writeRun(state, ending)
  }

  #eventRecord(fields: RunEventFields): Extract<JournalRecord, { type: 'event' }> {
    // Its time and its freezing are those of the commit.
    return { type: 'event', event: { type: fields.type, at: 0, runId: this.runId, turn: this.number, ...(fields as object) } as DurableEvent }
  }

  readonly #rowOfRun = (): RunRow => {
    const { state, ending } = this.#row ?? { state: 'running' as const, ending: {} }
    const { runId, number: turn, step, usage, cost, attempt, elapsedMs, notBefore, waitedMs, overflowUsed, retry, inputId } = this
    const extensionState = this.extensionStates.stored
    return {
      ...{ runId, state, turn, step, usage, attempt, elapsedMs },
      ...(cost && { cost }),
      ...(notBefore !== undefined && { notBefore }),
      ...(waitedMs > 0 && { waitedMs }),
      ...(overflowUsed && { overflowUsed }),
      ...(retry && { retry }),
      ...(inputId !== undefined && { inputMessageId: inputId }),
      ...(extensionState && { extensionState }),
      ...ending,
    }
  }
}

function stepStateOf(open: OpenTurn, transcript: Transcript): StepProgress {
  if (open.stepState) return open.stepState
  if (transcript.openAnswer) return 'answered'
  return open.openMessageId === undefined && open.notBefore === undefined ? 'ended' : 'begun'
}
