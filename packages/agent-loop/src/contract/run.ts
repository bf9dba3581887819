import type { Cost, Decimal, Usage } from '@bowline/llm'
import type { MaybePromise } from '../base/promises.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/tool-events.ts'
import type { EndReason, TurnError, TurnStatus } from '../events/turn-events.ts'
import type { RunTypes } from '../events/typed-events.ts'
import type { Accepted, AgentInput } from './input.ts'
import type { GrantedAmounts, StoredMessage } from './journal.ts'

/** Limits of one turn, over all its segments. An absent limit does not bind. */
export interface Limits {
  /** Model calls, retries not counted. Default 32. */
  readonly maxSteps: number
  /** Tool calls that may run. Default 256. */
  readonly maxToolCalls: number
  /** Input and output of all model calls together. */
  readonly maxTotalTokens?: number
  /** In the currency of the model's price. */
  readonly maxCost?: Decimal
  /** Without the time for which the turn was suspended. */
  readonly maxDurationMs?: number
  /** Of runs inside of runs. Default 3. */
  readonly maxDepth: number
  /** Inputs that wait for a window. Default 100. */
  readonly maxQueuedInputs: number
  /**
   * What happens when `maxTotalTokens`, `maxCost` or a shared budget has too little left for the next model call.
   * `end`: the turn ends as `limit`. `ask`: it is suspended with an approval request `about: 'budget'`; to approve that grants more,
   * to deny it ends the turn as `limit`. Subagents ask when a run above them does. Default `end`.
   */
  readonly onBudget: 'end' | 'ask'
}

/** What this process does with a journal: nothing, a turn, or a compaction. A suspended turn is `idle`. */
export type Phase = 'idle' | 'turn' | 'compaction'

/**
 * A running turn and the turns of its follow-ups. Iterate it to read its events; leaving the iteration does not stop the run. With
 * the `Types` of an agent, `toolName` narrows events and results.
 */
export interface AgentRun<Types extends RunTypes = RunTypes> extends AsyncIterable<Types['event']> {
  /**
   * Of the first turn. Of an open turn that is taken up it is empty until the journal has been read, unless it was
   * given.
   */
  readonly runId: string
  readonly phase: Phase
  /**
   * One more live reader, from the first event on. It ends when the result has settled. Of a message or call that is open
   * when the reader first asks, it gets the text so far in one delta per block or call.
   */
  events(options?: ReaderOptions): AsyncIterable<Types['event']>
  /** Of the last turn. Must always settle and must never reject. */
  result(): Promise<AgentResult<Types>>
  /** Shows the model an input at the next window. Resolves when it is accepted. Throws `invalid-input`. */
  steer(input: AgentInput): Promise<Accepted>
  /** One more turn, when the model would stop. */
  followUp(input: AgentInput): Promise<Accepted>
  /** As `steer`, for this turn only: it is in no transcript and no log. */
  overlay(input: AgentInput): Promise<Accepted>
  /** Stops the run: it ends as `aborted` within the agent's `abortGraceMs`. */
  abort(reason?: string): void
  /** The run of a subagent that a call has under way. */
  child(toolCallId: string): AgentRun | undefined
}

/** The result of a run. It is there also if the run failed: then `status` says so and `error` says why. */
export interface AgentResult<Types extends RunTypes = RunTypes> {
  readonly runId: string
  readonly status: TurnStatus
  readonly reason: EndReason
  /** The messages that all turns of this run added to the transcript. */
  readonly messages: readonly (Exclude<StoredMessage, { role: 'tool-result' }> | Types['toolResult'])[]
  /** Of the last answer; with an output schema the output as JSON. */
  readonly text: string
  /** With an output schema, of a run that is `completed`: the final answer as the schema lets it through. */
  readonly output?: Types['output']
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** Accepted and not used when the run ended. */
  readonly unusedInputs: readonly AgentInput[]
  /** Of the whole turn of `runId`, earlier segments included. */
  readonly usage: Usage
  /** Absent when a part of it is not known. */
  readonly cost?: Cost
  readonly steps: number
  readonly error?: TurnError
  /** Present when the input was answers that were accepted. */
  readonly submission?: SubmissionReceipt
}

/** What became of submitted answers, as lists of tool call ids and approval ids. */
export interface SubmissionReceipt {
  readonly accepted: readonly string[]
  /** Answers that were stored before, word for word. */
  readonly repeated: readonly string[]
  /** What is still open. */
  readonly missing: readonly string[]
}

/** Selects the events that a reader of a run gets. */
export interface ReaderOptions {
  /** False: durable events only. Default true. */
  readonly deltas?: boolean
  /** Durable events up to this number are left out. Default 0. */
  readonly afterSeq?: number
}

/** The most that a call may use, as estimated before it, in tokens and money. */
export interface BudgetEstimate {
  readonly tokens: number
  /** Absent when no price is known. */
  readonly cost?: Cost
}

/** Tokens that were used, and their cost. */
export interface Spending {
  readonly usage: Usage
  readonly cost?: Cost | undefined
}

/** An amount that a budget holds for one model call, until the call reports what it used. */
export interface Reservation {
  /** Puts what was really used in the place of what was reserved. Only the first call counts. */
  settle(actual: Spending): MaybePromise<void>
}

/**
 * Limits the spending of runs. A run and its subagents may share it, or any number of runs. If it is kept elsewhere it may answer
 * later, within 30 s: a model call waits for `reserve`, and the commit that stores the spending waits for `settle` and `charge`.
 */
export interface Budget {
  /** Undefined when it does not fit beside what is used and reserved. */
  reserve(estimate: BudgetEstimate): MaybePromise<Reservation | undefined>
  /** Counts what was used outside of a reservation. */
  charge(actual: Spending): MaybePromise<void>
  /** Absent is no limit. Costs are numbers for people; the budget itself is exact to 10⁻¹⁵. */
  readonly left: { readonly tokens?: number; readonly cost?: number }
  /** Runs of subagents that a `ChildHost` starts reserve on it themselves: what they have used is not charged again. */
  readonly coversChildren?: boolean
  /** Its name in questions for more budget, such as `tenant`. Default `shared`. */
  readonly name?: string
  /** Spent, and reserved for running model calls. Shown in questions for more budget. */
  readonly spent?: BudgetAmounts
  readonly reserved?: BudgetAmounts
  /** Raises its limits. An id that it knows raises nothing. Absent: only its owner can give it more, and approving tries again. */
  grant?(id: string, amount: BudgetGrant): MaybePromise<void>
}

/** Amounts of tokens and money as numbers, to be shown. Exact amounts are decimals. */
export interface BudgetAmounts {
  readonly tokens?: number
  readonly cost?: number
}

/** An amount to add to the limits of a budget. */
export interface BudgetGrant {
  /** Input and output. */
  readonly tokens?: number
  /** In the currency of the prices. */
  readonly cost?: Decimal
}

/** A budget in this process. Its methods return at once, not a promise. */
export interface LocalBudget extends Budget {
  reserve(estimate: BudgetEstimate): LocalReservation | undefined
  charge(actual: Spending): void
  grant(id: string, amount: BudgetGrant): void
  readonly spent: Required<BudgetAmounts>
  readonly reserved: Required<BudgetAmounts>
  /** All that was granted. Undefined: nothing. */
  readonly granted: GrantedAmounts | undefined
}


/** A reservation on a budget of this process: it settles at once. */
export interface LocalReservation extends Reservation {
  settle(actual: Spending): void
}

/** The amounts that a budget may spend in all. A limit that is absent does not bind. */
export interface BudgetLimits {
  /** Input and output of all model calls together. */
  readonly maxTotalTokens?: number
  /** In the currency of the prices. */
  readonly maxCost?: Decimal
}
