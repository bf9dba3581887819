import type { Cost, Decimal, Usage } from '@bowline/llm'
import type { MaybePromise } from '../base/promises.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/tool-events.ts'
import type { EndReason, TurnError, TurnStatus } from '../events/turn-events.ts'
import type { RunTypes } from '../events/typed-events.ts'
import type { Accepted, AgentInput } from './input.ts'
import type { GrantedAmounts, StoredMessage } from './journal.ts'

/** Limits of one turn, over all its segments. An absent limit does not bind. */
export interface Limits {
  /** Maximum number of model calls, without retries. Default 32. */
  readonly maxSteps: number
  /** Maximum number of tool calls that run. Default 256. */
  readonly maxToolCalls: number
  /** Maximum tokens, input and output of all model calls together. */
  readonly maxTotalTokens?: number
  /** Maximum cost, in the currency of the model's price. */
  readonly maxCost?: Decimal
  /** Maximum running time, without the time for which the turn was suspended. */
  readonly maxDurationMs?: number
  /** Maximum depth of runs inside of runs. Default 3. */
  readonly maxDepth: number
  /** Maximum number of inputs that wait for a window. Default 100. */
  readonly maxQueuedInputs: number
  /**
   * Decides what happens if `maxTotalTokens`, `maxCost` or a shared budget has too little left for the next model call. `end`: the
   * turn ends as `limit`. `ask`: it is suspended with an approval request `about: 'budget'`. Approving it grants more; denying it
   * ends the turn as `limit`. Subagents ask if a run above them does. Default `end`.
   */
  readonly onBudget: 'end' | 'ask'
}

/** Use of a journal by this process: none, a turn, or a compaction. A suspended turn is `idle`. */
export type Phase = 'idle' | 'turn' | 'compaction'

/**
 * A running turn and the turns of its follow-ups. Iterate it to read its events; leaving the iteration does not stop the run. With
 * the `Types` of an agent, `toolName` narrows events and results.
 */
export interface AgentRun<Types extends RunTypes = RunTypes> extends AsyncIterable<Types['event']> {
  /** Id of the first turn. If an open turn is resumed, it is empty until the journal has been read, unless the id was given. */
  readonly runId: string
  readonly phase: Phase
  /**
   * Adds a live reader, which gets all events from the first one on. It ends when the result has settled. If a message or call is
   * open when the reader first asks, the reader gets its text so far in one delta per block or call.
   */
  events(options?: ReaderOptions): AsyncIterable<Types['event']>
  /** Returns the result of the last turn. Must always settle and must never reject. */
  result(): Promise<AgentResult<Types>>
  /** Shows the model an input at the next `Window` of the turn. Resolves when the input is accepted. Throws `invalid-input`. */
  steer(input: AgentInput): Promise<Accepted>
  /** Adds one more turn with this input, when the model would stop. */
  followUp(input: AgentInput): Promise<Accepted>
  /** As `steer`, but for this turn only: the input is neither in the transcript nor in the log. */
  overlay(input: AgentInput): Promise<Accepted>
  /** Stops the run: it ends as `aborted` within the agent's `abortGraceMs`. */
  abort(reason?: string): void
  /** Returns the run of a subagent that a call is running. */
  child(toolCallId: string): AgentRun | undefined
}

/** The result of a run. It is there also if the run failed: then `status` says so and `error` says why. */
export interface AgentResult<Types extends RunTypes = RunTypes> {
  readonly runId: string
  readonly status: TurnStatus
  readonly reason: EndReason
  /** The messages that all turns of this run added to the transcript. */
  readonly messages: readonly (Exclude<StoredMessage, { role: 'tool-result' }> | Types['toolResult'])[]
  /** Text of the last answer; with an output schema, the output as JSON. */
  readonly text: string
  /** The final answer as the schema validated it. Present with an output schema if the run is `completed`. */
  readonly output?: Types['output']
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** Inputs that were accepted but not used when the run ended. */
  readonly unusedInputs: readonly AgentInput[]
  /** Usage of the whole turn of `runId`, earlier segments included. */
  readonly usage: Usage
  /** Absent if the cost of a part is not known. */
  readonly cost?: Cost
  readonly steps: number
  readonly error?: TurnError
  /** Present if the input was answers that were accepted. */
  readonly submission?: SubmissionReceipt
}

/** The state of submitted answers, as lists of tool call ids and approval ids. */
export interface SubmissionReceipt {
  readonly accepted: readonly string[]
  /** Answers that were stored before, with the same content. */
  readonly repeated: readonly string[]
  /** Calls and approvals that are still open. */
  readonly missing: readonly string[]
}

/** Selects the events that a reader of a run gets. */
export interface ReaderOptions {
  /** False: durable events only. Default true. */
  readonly deltas?: boolean
  /** Durable events up to this number are left out. Default 0. */
  readonly afterSeq?: number
}

/** Estimated maximum that a call may use, in tokens and money. */
export interface BudgetEstimate {
  readonly tokens: number
  /** Absent if no price is known. */
  readonly cost?: Cost
}

/** Tokens that were used, and their cost. */
export interface Spending {
  readonly usage: Usage
  readonly cost?: Cost | undefined
}

/** An amount that a budget holds for one model call, until the call reports what it used. */
export interface Reservation {
  /** Replaces the reserved amount by the amount that was used. Only the first call counts. */
  settle(actual: Spending): MaybePromise<void>
}

/**
 * Limits the spending of runs. A run and its subagents may share it, or any number of runs. A budget that is kept elsewhere may
 * answer later, within 30 s: a model call waits for `reserve`, and the commit that stores the spending waits for `settle` and
 * `charge`.
 */
export interface Budget {
  /** Reserves an amount. Returns undefined if it does not fit besides the used and the reserved amounts. */
  reserve(estimate: BudgetEstimate): MaybePromise<Reservation | undefined>
  /** Counts an amount that was used without a reservation. */
  charge(actual: Spending): MaybePromise<void>
  /** Amounts that are left; absent means no limit. Costs are numbers for people; the budget itself is exact to 10⁻¹⁵. */
  readonly left: { readonly tokens?: number; readonly cost?: number }
  /** True: subagents that a `ChildHost` starts reserve on this budget themselves, so what they have used is not charged again. */
  readonly coversChildren?: boolean
  /** Its name in questions for more budget, such as `tenant`. Default `shared`. */
  readonly name?: string
  /** Amounts that are spent, and reserved for running model calls. Shown in questions for more budget. */
  readonly spent?: BudgetAmounts
  readonly reserved?: BudgetAmounts
  /**
   * Raises the limits, once per `id`. Absent: only the owner of the budget can raise them, and an approval only retries the call.
   */
  grant?(id: string, amount: BudgetGrant): MaybePromise<void>
}

/** Amounts of tokens and money as numbers, to be shown. Exact amounts are decimals. */
export interface BudgetAmounts {
  readonly tokens?: number
  readonly cost?: number
}

/** An amount to add to the limits of a budget. */
export interface BudgetGrant {
  /** Input and output tokens. */
  readonly tokens?: number
  /** In the currency of the prices. */
  readonly cost?: Decimal
}

/** A budget in this process. Its methods are synchronous. */
export interface LocalBudget extends Budget {
  reserve(estimate: BudgetEstimate): LocalReservation | undefined
  charge(actual: Spending): void
  grant(id: string, amount: BudgetGrant): void
  readonly spent: Required<BudgetAmounts>
  readonly reserved: Required<BudgetAmounts>
  /** Sum of all grants. Undefined: nothing was granted. */
  readonly granted: GrantedAmounts | undefined
}

/** A reservation on a budget of this process: it settles at once. */
export interface LocalReservation extends Reservation {
  settle(actual: Spending): void
}

/** The amounts that a budget may spend in all. A limit that is absent does not bind. */
export interface BudgetLimits {
  /** Maximum tokens, input and output of all model calls together. */
  readonly maxTotalTokens?: number
  /** Maximum cost, in the currency of the prices. */
  readonly maxCost?: Decimal
}
