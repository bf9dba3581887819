import type { AssistantMessage, Clock, Cost, Usage } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import type { IdSource } from '../base/ids.ts'
import { deepFreeze } from '../base/json.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { BeforeCompaction, CompactionDecision, HookedCall, SentModelRequest } from '../contract/extension.ts'
import type { OpenTurn, StepProgress, StoredMessage } from '../contract/journal.ts'
import type { AgentResult, Budget, LocalBudget } from '../contract/run.ts'
import type { ChildReport } from '../contract/tool.ts'
import type { DeltaEvent, DurableEvent } from '../events/agent-event.ts'
import type { CacheMiss, Compaction, UsageEvent } from '../events/message-events.ts'
import type { OutputMode } from '../events/output.ts'
import { sumCost, sumUsage } from '../events/spending.ts'
import type { OutcomeStatus, TurnError, Window } from '../events/turn-events.ts'
import { TurnLog } from '../journal/turn-log.ts'
import type { LogOwner, RunFacts } from '../journal/turn-log.ts'
import type { Outcome } from '../tools/outcome.ts'
import type { Transcript } from '../transcript/transcript.ts'
import type { Call, Delegation, Prepared, SideWork } from './call.ts'
import type { AfterTurn, TurnOutcome } from './ending.ts'
import type { ModelTarget } from './model-target.ts'
import { openQuestion } from './question.ts'
import type { AgentSetup, RunContext, SystemPrompt } from './run-context.ts'
import type { StopSwitch } from './stop-switch.ts'
import { noPrompt } from './system-prompt.ts'
import type { Answered, AnswerVerdict, AttemptEnd, EndedCall, EndedStep, GivenInput, InputVerdict, ModelAnswer, RequestDraft, RetryEnd, RetryStart, Segment, StepPlan } from './subjects.ts'

/** What a plug-in may do at each point of a turn. What it returns counts; undefined leaves it to the next plug-in. */
export interface Hooks {
  /** A run takes the turn up. */
  open(turn: Turn, nothing: undefined): void
  /** The hash of the definition that the turn runs under. */
  fingerprint(turn: Turn, nothing: undefined): MaybePromise<string | undefined>
  /** A new input, before anything of it is stored. */
  input(turn: Turn, given: GivenInput): MaybePromise<InputVerdict | undefined>
  /** A segment begins whose model will be asked: sets up the system prompt. */
  prompt(turn: Turn, segment: Segment): MaybePromise<void>
  /** Every segment begins. */
  begin(turn: Turn, segment: Segment): MaybePromise<void>
  /** Adds to the prompt of the segment, and to the inputs of a turn on which nothing has been built yet. */
  instruct(turn: Turn, segment: Segment): MaybePromise<void>
  /** Drafts inputs at a slot where they may enter. True when there were any. */
  drain(turn: Turn, slot: Window): MaybePromise<true | undefined>
  /** Changes how the step is to be made. */
  plan(turn: Turn, plan: StepPlan): MaybePromise<void>
  /** A step is to begin; an outcome ends the turn instead. */
  beforeStep(turn: Turn, plan: StepPlan): MaybePromise<TurnOutcome | undefined>
  /** The model is to be asked; an outcome ends the step and the turn instead. */
  beforeAttempt(turn: Turn, plan: StepPlan): MaybePromise<TurnOutcome | undefined>
  /** Changes the messages of the request. */
  context(turn: Turn, request: RequestDraft): MaybePromise<void>
  /** Changes anything of the request, once its messages are known. */
  request(turn: Turn, request: RequestDraft): MaybePromise<void>
  /** A provider is about to be given this. */
  sent(turn: Turn, sent: SentModelRequest): MaybePromise<void>
  /** Answers a request in the place of a provider's model. */
  model(turn: Turn, request: RequestDraft): Promise<ModelAnswer> | undefined
  /** The turn would be suspended for this question: true if it has been decided. */
  decide(turn: Turn, question: Call): MaybePromise<true | undefined>
  /** An answer has come: takes account of what it has used. */
  count(turn: Turn, answered: Answered): void
  /** Judges an answer before it is stored. Undefined accepts it. */
  answer(turn: Turn, answered: Answered): MaybePromise<AnswerVerdict | undefined>
  /** Announces another attempt of the step. */
  nextAttempt(turn: Turn, verdict: Extract<AnswerVerdict, { kind: 'retry' }>): MaybePromise<RetryStart>
  /** Drafts how an announced attempt has ended. Undefined: none was announced. */
  attemptEnd(turn: Turn, end: AttemptEnd): RetryEnd | undefined
  /** The step is asked no more, however that came. Must not throw. */
  asked(turn: Turn): void
  /** Why a call must not run, before anything is asked about it. */
  refuse(turn: Turn, call: Call): Outcome | undefined
  /** A call of which an earlier segment, or the answer itself, knows more. `waits`: it stays as it is. */
  reenter(turn: Turn, entered: { readonly call: Call; readonly answer: ModelAnswer }): MaybePromise<Prepared | 'waits' | undefined>
  /** A valid call that is to run. */
  beforeCall(turn: Turn, call: Call): MaybePromise<Prepared | undefined>
  /** Work beside the running calls on which their outcomes depend. */
  beside(turn: Turn, calls: readonly Call[]): readonly SideWork[] | undefined
  /** A running call tells of work that it handed on. */
  report(turn: Turn, told: { readonly call: Call; readonly report: ChildReport }): void
  /** Changes the outcome of a call before it is stored. */
  outcome(turn: Turn, ended: EndedCall): MaybePromise<void>
  /** The outcome of a call is about to be drafted. */
  settling(turn: Turn, call: Call): void
  /** The results of the calls of an answer have entered the transcript. */
  results(turn: Turn, calls: readonly Call[]): void
  /** Decides whether the turn ends with this step. */
  afterStep(turn: Turn, step: EndedStep): MaybePromise<void>
  /** What is to be done after the turn. Asked before its end is drafted. */
  afterTurn(turn: Turn, outcome: TurnOutcome): AfterTurn | undefined
  /** A model error ends the turn: adds to what is told of it. */
  failing(turn: Turn, failure: { error: TurnError | undefined }): void
  /** Messages that a turn takes out of the transcript when it fails. Undefined: it keeps them. */
  withdrawable(turn: Turn, failed: undefined): readonly string[] | undefined
  /** A compaction is to be made: cancels it, gives it, or says what its summary must keep. */
  beforeCompaction(turn: Turn, event: BeforeCompaction): MaybePromise<CompactionDecision | undefined>
  /** A compaction is stored. */
  afterCompaction(turn: Turn, compaction: Compaction): MaybePromise<void>
  /** Messages are about to be withdrawn from the transcript. */
  discarding(turn: Turn, messageIds: readonly string[]): void
  /** Adds to the row of the run. */
  row(turn: Turn, row: { -readonly [Key in keyof RunFacts]: RunFacts[Key] }): void
  /** Adds to the end of the segment as it is told. */
  ending(turn: Turn, end: { overlaysExpired: number }): void
  /** Whether state that the row stores has changed since this was asked last. */
  changed(turn: Turn, row: undefined): true | undefined
  onTurnStart(turn: Turn, segment: Segment): MaybePromise<void>
  onStepStart(turn: Turn, step: number): MaybePromise<void>
  onAnswer(turn: Turn, message: AssistantMessage): MaybePromise<void>
  onRetryStart(turn: Turn, start: RetryStart): MaybePromise<void>
  onRetryEnd(turn: Turn, end: RetryEnd): MaybePromise<void>
  onCallSettled(turn: Turn, settled: { readonly call: HookedCall; readonly status: OutcomeStatus }): MaybePromise<void>
  onStepEnd(turn: Turn, end: { readonly step: number; readonly toolCalls: readonly HookedCall[]; readonly text: string }): MaybePromise<void>
  /** The counterpart of `begin`: `turn-end` is durable. */
  close(turn: Turn, outcome: TurnOutcome): MaybePromise<void>
  onTurnEnd(turn: Turn, result: AgentResult): MaybePromise<void>
  onSavePoint(turn: Turn, number: number): MaybePromise<void>
  onSettled(turn: Turn, number: number): MaybePromise<void>
  /** A durable event, frozen. Not awaited. Must not throw. */
  onEvent(turn: Turn, event: DurableEvent): void
  onDelta(turn: Turn, event: DeltaEvent): void
}

export type HookName = keyof Hooks
export type SubjectOf<Name extends HookName> = Parameters<Hooks[Name]>[1]

/** The hooks of one name, in the order in which they are asked. */
export interface HookList<Name extends HookName> {
  readonly asks: readonly Hooks[Name][]
  /** Which of them run code of the user, always or for some subjects; undefined when none does. */
  readonly foreign: readonly (boolean | ((subject: SubjectOf<Name>) => boolean))[] | undefined
}

/** The plug-ins of an agent, compiled once. An empty list costs one comparison. */
export type Plugins = { readonly [Name in HookName]: HookList<Name> } & {
  /** Runs the calls that are answered by other runs. */
  readonly delegation: Delegation<Turn> | undefined
}

/** How far a turn has come when a run takes it up, or begins it. */
export interface TurnStart {
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  readonly open?: OpenTurn | undefined
}

/** The state of one turn. What a feature needs to remember lives with its plug-in (`turnState`). */
export class Turn implements LogOwner {
  readonly run: RunContext
  readonly agent: AgentSetup
  readonly plugins: Plugins
  readonly stop: StopSwitch
  readonly clock: Clock
  readonly ids: IdSource
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  /** The only way to its journal. */
  readonly log: TurnLog
  /** As the journal had it when this run took it up. */
  readonly open: OpenTurn | undefined
  /** Place in the transcript where the turn begins, as far as this segment knows. */
  readonly beginsAt: number
  /** The budget of the run alone, when it has limits of its own. */
  readonly ownBudget: LocalBudget | undefined
  /** The own budget and the shared ones. */
  readonly budgets: readonly Budget[]
  /** What code of this turn has asked plug-ins to do after it. */
  readonly wishes = new Set<'compaction'>()
  /** By plug-in: see `turnState`. */
  readonly states: unknown[] = []
  /** The system prompt as it was built. */
  prompt: SystemPrompt = noPrompt
  /** The same with what hooks have made of it. */
  instructions = ''
  /** The model of the present attempt. */
  model: ModelTarget
  step: number
  stepState: StepProgress
  /** Of the model call: 1, 2 … */
  attempt: number
  /** The message that the model is to write, or writes. */
  messageId = ''
  /** The message that the turn began with. */
  inputId: string | undefined
  /** The model has answered in this turn. */
  answered: boolean
  /** Answers that a model has given for the steps to come. */
  bufferedAnswers: readonly ModelAnswer[] = []
  /** Names that the present step offers; undefined is all. */
  activeTools: ReadonlySet<string> | undefined
  /** How the model is asked for an answer of a schema, where the agent has one. */
  outputMode: OutputMode | undefined
  /** Whether more may be spent than the budgets of the present step have left. */
  question: Call | undefined
  /** Calls of the turn before those of the present answer. */
  earlierCalls = 0
  usage: Usage
  cost: Cost | undefined
  /** What was answered in the place of a model. */
  reply = ''
  /** What the next commit waits for. It must not reject. */
  owed: Promise<void> | undefined
  readonly #startedAt: number
  #isUnpublished = false

  constructor(run: RunContext, plugins: Plugins, start: TurnStart) {
    const { open, transcript } = start
    this.run = run
    this.agent = run.agent
    this.plugins = plugins
    this.stop = run.stop
    this.clock = run.clock
    this.ids = run.ids
    this.runId = start.runId
    this.number = start.number
    this.transcript = transcript
    this.open = open
    this.model = run.models[open?.retry?.model ?? 0] ?? run.models[0]
    this.step = open?.step ?? 0
    this.usage = deepFreeze(open?.usage ?? {})
    this.cost = open?.cost
    this.stepState = open ? stepStateOf(open, transcript) : 'ended'
    this.question = open && openQuestion(open)
    this.inputId = open?.inputMessageId
    this.answered = this.step > (this.stepState === 'begun' ? 1 : 0)
    this.attempt = open?.attempt ?? 1
    this.activeTools = open?.activeTools && new Set(open.activeTools)
    this.beginsAt = (open && transcript.placeOf(open.inputMessageId)) ?? transcript.messages.length
    this.#startedAt = run.clock.now() - (open?.elapsedMs ?? 0)
    this.ownBudget = run.openBudget(this)
    this.budgets = this.ownBudget ? [this.ownBudget, ...run.budgets] : run.budgets
    this.log = new TurnLog(run.journal, this, open?.ending)
    for (const ask of plugins.open.asks) ask(this, undefined)
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

  get isFenced(): boolean {
    return this.stop.cause?.kind === 'fenced'
  }

  /** The model goes on with what it has begun: nothing may come between. */
  get isPaused(): boolean {
    const last = this.transcript.messages.at(-1)
    return this.answered && last?.role === 'assistant' && last.paused === true
  }

  /** Nothing follows the input: what belongs to the turn as a whole was not stored, or there was nothing of it. */
  get isUntouched(): boolean {
    const { step, open, inputId, transcript } = this
    return step === 0 && (open?.overlays ?? []).length === 0 && (inputId === undefined || transcript.messages.at(-1)?.id === inputId)
  }

  /** About how many tokens the next call sends. */
  contextTokens(): number {
    return this.transcript.estimate.tokens
  }

  /** Has the next commit wait for work that must not reject. */
  owe(work: Promise<void>): void {
    const all = this.owed ? Promise.all([this.owed, work]).then(() => undefined) : work
    this.owed = all
    void all.then(() => {
      if (this.owed === all) this.owed = undefined
    })
  }

  /** Stores what is drafted. */
  commit(): Promise<unknown> {
    return this.log.commit()
  }

  /** A boundary: what is drafted is stored, and a driver gets its say. */
  async boundary(): Promise<void> {
    if (!this.run.isDriven) return
    await this.log.commit()
    await this.run.passBoundary()
  }

  /** Drafts a message at the end of the transcript. Throws `invalid-transcript` and drafts nothing. */
  append(message: StoredMessage): void {
    this.transcript.append(message)
    this.log.write({ type: 'append', message })
  }

  /** Drafts that messages are withdrawn from the transcript. */
  discard(messageIds: readonly string[]): void {
    if (messageIds.length === 0) return
    this.log.write({ type: 'discard', messageIds })
    for (const discarding of this.plugins.discarding.asks) discarding(this, messageIds)
    this.transcript.discard(messageIds)
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
    this.usage = sumUsage(this.usage, usage)
  }

  /** Books what no `message-end` holds, and drafts the event that says so. */
  bookApart(purpose: UsageEvent['purpose'], usage: Usage, cost: Cost | undefined, call: { readonly model?: ModelTarget; readonly cacheMiss?: CacheMiss | undefined } = {}): void {
    const { model, cacheMiss } = call
    this.book(usage, cost)
    this.log.record({
      ...{ type: 'usage', purpose, usage },
      ...(cost && { cost }),
      ...(usage.estimated && { estimated: true }),
      ...(model && { model: model.name }),
      ...(cacheMiss && { cacheMiss }),
    })
    // Sum and event are never in two commits.
    this.log.writeRun('running')
  }

  /** Gives readers a live event. */
  publish(event: DeltaEvent): void {
    Object.freeze(event)
    this.run.events.publish(event)
    if (this.run.journal.publish && !this.#isUnpublished) this.#publishTo(event)
    for (const onDelta of this.plugins.onDelta.asks) onDelta(this, event)
  }

  show(events: readonly DurableEvent[]): void {
    for (const event of events) {
      if ((event.type === 'runtime-input' || event.type === 'user-message') && event.inputId !== undefined) this.run.inbox.confirm(event.inputId)
    }
    this.run.events.append(events)
    const { asks } = this.plugins.onEvent
    if (asks.length > 0) for (const event of events) for (const onEvent of asks) onEvent(this, event)
  }

  rowFacts(): RunFacts {
    const { runId, number: turn, step, usage, cost, attempt, elapsedMs, activeTools, inputId } = this
    const row: { -readonly [Key in keyof RunFacts]: RunFacts[Key] } = { runId, turn, step, usage, attempt, elapsedMs }
    if (cost) row.cost = cost
    if (activeTools) row.activeTools = [...activeTools]
    if (inputId !== undefined) row.inputMessageId = inputId
    if (this.ownBudget?.granted) row.granted = this.ownBudget.granted
    for (const add of this.plugins.row.asks) add(this, row)
    return row
  }

  takeStates(): boolean {
    let changed = false
    for (const ask of this.plugins.changed.asks) changed = ask(this, undefined) === true || changed
    return changed
  }

  /** Watchers must not fail the turn: a failure is said once, and the rest of the turn is not published. */
  #publishTo(event: DeltaEvent): void {
    try {
      this.run.journal.publish?.([event])
    } catch (error) {
      this.#isUnpublished = true
      const { runId, number: turn, clock } = this
      this.run.events.append([{ type: 'error', at: clock.now(), runId, turn, source: 'journal', hook: 'publish', message: messageOf(error), fatal: false }])
    }
  }
}

function stepStateOf(open: OpenTurn, transcript: Transcript): StepProgress {
  if (open.stepState) return open.stepState
  if (transcript.openAnswer) return 'answered'
  const isBegun = open.openMessageId !== undefined || open.notBefore !== undefined || open.calls.some(({ about }) => about !== undefined)
  return isBegun ? 'begun' : 'ended'
}
