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
import type {
  Answered,
  AnswerVerdict,
  AttemptEnd,
  EndedCall,
  EndedStep,
  GivenInput,
  InputVerdict,
  ModelAnswer,
  RequestDraft,
  RetryEnd,
  RetryStart,
  Segment,
  StepPlan,
} from './subjects.ts'

/** The hooks of a plug-in, one for each point of a turn. Undefined leaves the answer to the next plug-in. */
export interface Hooks {
  /** Called when a run begins or resumes the turn. */
  open(turn: Turn, nothing: undefined): void
  /** Returns the hash of the definition that the turn runs under. */
  fingerprint(turn: Turn, nothing: undefined): MaybePromise<string | undefined>
  /** Judges a new input before anything of it is stored. */
  input(turn: Turn, given: GivenInput): MaybePromise<InputVerdict | undefined>
  /** Sets up the system prompt. Called at the start of a segment whose model will be asked. */
  prompt(turn: Turn, segment: Segment): MaybePromise<void>
  /** Called at the start of every segment. */
  begin(turn: Turn, segment: Segment): MaybePromise<void>
  /** Adds to the prompt of the segment, and to the inputs of a turn as long as nothing follows them. */
  instruct(turn: Turn, segment: Segment): MaybePromise<void>
  /** Drafts inputs at a window where they may enter. Returns true if there were any. */
  drain(turn: Turn, slot: Window): MaybePromise<true | undefined>
  /** Changes the plan of the step. */
  plan(turn: Turn, plan: StepPlan): MaybePromise<void>
  /** Called before a step begins. An outcome ends the turn instead. */
  beforeStep(turn: Turn, plan: StepPlan): MaybePromise<TurnOutcome | undefined>
  /** Called before the model is asked. An outcome ends the step and the turn instead. */
  beforeAttempt(turn: Turn, plan: StepPlan): MaybePromise<TurnOutcome | undefined>
  /** Changes the messages of the request. */
  context(turn: Turn, request: RequestDraft): MaybePromise<void>
  /** Changes any part of the request, once its messages are known. */
  request(turn: Turn, request: RequestDraft): MaybePromise<void>
  /** Called with the request that a provider is about to get. */
  sent(turn: Turn, sent: SentModelRequest): MaybePromise<void>
  /** Answers a request instead of a provider's model. */
  model(turn: Turn, request: RequestDraft): Promise<ModelAnswer> | undefined
  /** Called before the turn is suspended for this question. Returns true if it has been decided. */
  decide(turn: Turn, question: Call): MaybePromise<true | undefined>
  /** Called when an answer has come: counts what it has used. */
  count(turn: Turn, answered: Answered): void
  /** Judges an answer before it is stored. Undefined accepts it. */
  answer(turn: Turn, answered: Answered): MaybePromise<AnswerVerdict | undefined>
  /** Announces another attempt of the step. */
  nextAttempt(turn: Turn, verdict: Extract<AnswerVerdict, { kind: 'retry' }>): MaybePromise<RetryStart>
  /** Drafts the end of an announced attempt. Returns undefined if none was announced. */
  attemptEnd(turn: Turn, end: AttemptEnd): RetryEnd | undefined
  /** Called when the step is done with asking the model, for whatever reason. Must not throw. */
  asked(turn: Turn): void
  /** Returns why a call must not run, before anything is asked about it. */
  refuse(turn: Turn, call: Call): Outcome | undefined
  /** Decides about a call that has a row from an earlier segment, or a result in the answer itself. `waits`: it stays as it is. */
  reenter(turn: Turn, entered: { readonly call: Call; readonly answer: ModelAnswer }): MaybePromise<Prepared | 'waits' | undefined>
  /** Decides about a valid call before it runs. */
  beforeCall(turn: Turn, call: Call): MaybePromise<Prepared | undefined>
  /** Returns work beside the running calls on which their outcomes depend. */
  beside(turn: Turn, calls: readonly Call[]): readonly SideWork[] | undefined
  /** Called when a running call reports delegated work. */
  report(turn: Turn, told: { readonly call: Call; readonly report: ChildReport }): void
  /** Changes the outcome of a call before it is stored. */
  outcome(turn: Turn, ended: EndedCall): MaybePromise<void>
  /** Called before the outcome of a call is drafted. */
  settling(turn: Turn, call: Call): void
  /** Called when the results of an answer's calls have entered the transcript. */
  results(turn: Turn, calls: readonly Call[]): void
  /** Decides whether the turn ends with this step. */
  afterStep(turn: Turn, step: EndedStep): MaybePromise<void>
  /** Returns work for the time after the turn. Called before the end of the turn is drafted. */
  afterTurn(turn: Turn, outcome: TurnOutcome): AfterTurn | undefined
  /** Adds details to a model error that ends the turn. */
  failing(turn: Turn, failure: { error: TurnError | undefined }): void
  /** Returns the messages that a failed turn takes out of the transcript. Undefined: it keeps them. */
  withdrawable(turn: Turn, failed: undefined): readonly string[] | undefined
  /** Called before a compaction. Cancels it, provides it, or says what its summary must keep. */
  beforeCompaction(turn: Turn, event: BeforeCompaction): MaybePromise<CompactionDecision | undefined>
  /** Called when a compaction is stored. */
  afterCompaction(turn: Turn, compaction: Compaction): MaybePromise<void>
  /** Called before messages are withdrawn from the transcript. */
  discarding(turn: Turn, messageIds: readonly string[]): void
  /** Adds to the row of the run. */
  row(turn: Turn, row: { -readonly [Key in keyof RunFacts]: RunFacts[Key] }): void
  /** Adds to the event that ends the segment. */
  ending(turn: Turn, end: { overlaysExpired: number }): void
  /** Returns true if state that the row stores has changed since the last call. */
  changed(turn: Turn, row: undefined): true | undefined
  onTurnStart(turn: Turn, segment: Segment): MaybePromise<void>
  onStepStart(turn: Turn, step: number): MaybePromise<void>
  onAnswer(turn: Turn, message: AssistantMessage): MaybePromise<void>
  onRetryStart(turn: Turn, start: RetryStart): MaybePromise<void>
  onRetryEnd(turn: Turn, end: RetryEnd): MaybePromise<void>
  onCallSettled(turn: Turn, settled: { readonly call: HookedCall; readonly status: OutcomeStatus }): MaybePromise<void>
  onStepEnd(
    turn: Turn,
    end: { readonly step: number; readonly toolCalls: readonly HookedCall[]; readonly text: string },
  ): MaybePromise<void>
  /** The counterpart of `begin`, called when `turn-end` is stored. */
  close(turn: Turn, outcome: TurnOutcome): MaybePromise<void>
  onTurnEnd(turn: Turn, result: AgentResult): MaybePromise<void>
  onSavePoint(turn: Turn, number: number): MaybePromise<void>
  onSettled(turn: Turn, number: number): MaybePromise<void>
  /** Called for each durable event, frozen. Not awaited. Must not throw. */
  onEvent(turn: Turn, event: DurableEvent): void
  onDelta(turn: Turn, event: DeltaEvent): void
}

export type HookName = keyof Hooks
export type SubjectOf<Name extends HookName> = Parameters<Hooks[Name]>[1]

/** The hooks of one name, in the order in which they are asked. */
export interface HookList<Name extends HookName> {
  readonly asks: readonly Hooks[Name][]
  /** Tells which hooks run the user's code, always or for some subjects; undefined if none does. */
  readonly foreign: readonly (boolean | ((subject: SubjectOf<Name>) => boolean))[] | undefined
}

/** The plug-ins of an agent, compiled once. An empty list costs one comparison. */
export type Plugins = { readonly [Name in HookName]: HookList<Name> } & {
  /** Runs the calls that are answered by other runs. */
  readonly delegation: Delegation<Turn> | undefined
}

/** The progress of a turn when a run begins or resumes it. */
export interface TurnStart {
  readonly runId: string
  readonly number: number
  readonly transcript: Transcript
  readonly open?: OpenTurn | undefined
}

/** The state of one turn. A plug-in keeps the state of its feature itself (`turnState`). */
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
  /** The only way to the turn's journal. */
  readonly log: TurnLog
  /** The open turn as the journal had it when this run resumed it. */
  readonly open: OpenTurn | undefined
  /** Index in the transcript where the turn begins, as far as this segment knows. */
  readonly beginsAt: number
  /** The budget of the run alone, if it has limits of its own. */
  readonly ownBudget: LocalBudget | undefined
  /** The own budget and the shared ones. */
  readonly budgets: readonly Budget[]
  /** Work after the turn that code of this turn has requested. */
  readonly wishes = new Set<'compaction'>()
  /** States by plug-in: see `turnState`. */
  readonly states: unknown[] = []
  /** The system prompt as it was built. */
  prompt: SystemPrompt = noPrompt
  /** Text of the prompt, with the changes of hooks. */
  instructions = ''
  /** The model of the current attempt. */
  model: ModelTarget
  step: number
  stepState: StepProgress
  /** Attempt of the model call: 1, 2 … */
  attempt: number
  /** Id of the message that the model writes, or is about to write. */
  messageId = ''
  /** Id of the message that the turn began with. */
  inputId: string | undefined
  /** True if the model has answered in this turn. */
  answered: boolean
  /** Answers that a model has given for later steps. */
  bufferedAnswers: readonly ModelAnswer[] = []
  /** Names of the tools that the current step offers; undefined: all. */
  activeTools: ReadonlySet<string> | undefined
  /** The way in which the model is asked for an answer of a schema, if the agent has one. */
  outputMode: OutputMode | undefined
  /** The question whether the step may spend more than its budgets have left. */
  question: Call | undefined
  /** Number of calls of the turn before those of the current answer. */
  earlierCalls = 0
  usage: Usage
  cost: Cost | undefined
  /** The answer of a hook that handled the input instead of a model. */
  reply = ''
  /** Work that the next commit waits for. It must not reject. */
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

  /** Running time of the turn, without its suspensions. */
  get elapsedMs(): number {
    return this.clock.now() - this.#startedAt
  }

  /** Time at which a run that is being stopped must have ended. */
  get stopDeadline(): number | undefined {
    const { stoppedAt } = this.stop
    return stoppedAt === undefined ? undefined : stoppedAt + this.agent.abortGraceMs
  }

  get isFenced(): boolean {
    return this.stop.cause?.kind === 'fenced'
  }

  /** True if the model continues with what it has begun: nothing may come in between. */
  get isPaused(): boolean {
    const last = this.transcript.messages.at(-1)
    return this.answered && last?.role === 'assistant' && last.paused === true
  }

  /** True if nothing follows the input: what belongs to the turn as a whole was not stored, or did not exist. */
  get isUntouched(): boolean {
    const { step, open, inputId, transcript } = this
    return step === 0 && (open?.overlays ?? []).length === 0 && (inputId === undefined || transcript.messages.at(-1)?.id === inputId)
  }

  /** Estimated tokens of the next call. */
  contextTokens(): number {
    return this.transcript.estimate.tokens
  }

  /** Makes the next commit wait for work that must not reject. */
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

  /** Stores what is drafted and waits for the driver, if the run has one. */
  async boundary(): Promise<void> {
    if (!this.run.isDriven) return
    await this.log.commit()
    await this.run.passBoundary()
  }

  /** Adds a message to the end of the transcript and drafts it. Throws `invalid-transcript` and drafts nothing. */
  append(message: StoredMessage): void {
    this.transcript.append(message)
    this.log.write({ type: 'append', message })
  }

  /** Withdraws messages from the transcript and drafts that. */
  discard(messageIds: readonly string[]): void {
    if (messageIds.length === 0) return
    this.log.write({ type: 'discard', messageIds })
    for (const discarding of this.plugins.discarding.asks) discarding(this, messageIds)
    this.transcript.discard(messageIds)
  }

  /** Sets the model of the step's next attempt. */
  useModel(model: ModelTarget): void {
    this.model = model
    this.transcript.estimate.useModel(model.name)
  }

  /** Ends the turn for a guardrail. */
  halt(message: string): void {
    this.stop.stop({ kind: 'stop', status: 'halted', reason: 'guardrail', error: { code: 'halted', message }, message })
  }

  /** Adds to what the turn has used. */
  book(usage: Usage, cost: Cost | undefined): void {
    this.cost = sumCost({ usage: this.usage, cost: this.cost }, { usage, cost })
    this.usage = sumUsage(this.usage, usage)
  }

  /** Books usage that no `message-end` holds, and drafts its event. */
  bookApart(
    purpose: UsageEvent['purpose'],
    usage: Usage,
    cost: Cost | undefined,
    call: { readonly model?: ModelTarget; readonly cacheMiss?: CacheMiss | undefined } = {},
  ): void {
    const { model, cacheMiss } = call
    this.book(usage, cost)
    this.log.record({
      type: 'usage',
      purpose,
      usage,
      ...(cost && { cost }),
      ...(usage.estimated && { estimated: true }),
      ...(model && { model: model.name }),
      ...(cacheMiss && { cacheMiss }),
    })
    // Sum and event must be in the same commit.
    this.log.writeRun('running')
  }

  /** Publishes a live event to readers. */
  publish(event: DeltaEvent): void {
    Object.freeze(event)
    this.run.events.publish(event)
    if (this.run.journal.publish && !this.#isUnpublished) this.#publishTo(event)
    for (const onDelta of this.plugins.onDelta.asks) onDelta(this, event)
  }

  show(events: readonly DurableEvent[]): void {
    for (const event of events) {
      if ((event.type === 'runtime-input' || event.type === 'user-message') && event.inputId !== undefined)
        this.run.inbox.confirm(event.inputId)
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

  /**
   * Publishes an event to the journal. A failure must not fail the turn: it is reported once, and the rest of the turn is not
   * published.
   */
  #publishTo(event: DeltaEvent): void {
    try {
      this.run.journal.publish?.([event])
    } catch (error) {
      this.#isUnpublished = true
      const { runId, number: turn, clock } = this
      this.run.events.append([
        { type: 'error', at: clock.now(), runId, turn, source: 'journal', hook: 'publish', message: messageOf(error), fatal: false },
      ])
    }
  }
}

function stepStateOf(open: OpenTurn, transcript: Transcript): StepProgress {
  if (open.stepState) return open.stepState
  if (transcript.openAnswer) return 'answered'
  const isBegun = open.openMessageId !== undefined || open.notBefore !== undefined || open.calls.some(({ about }) => about !== undefined)
  return isBegun ? 'begun' : 'ended'
}
