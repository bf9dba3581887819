import type { Cost, Decimal, Usage } from '@bowline/llm'

/** The most that a call may use, as estimated before it. */
export interface BudgetEstimate {
  readonly tokens: number
  /** Absent when no price is known. */
  readonly cost?: Cost
}

/** What was used. */
export interface Spending {
  readonly usage: Usage
  readonly cost?: Cost | undefined
}

export interface Reservation {
  /** Puts what was really used in the place of what was reserved. Only the first call counts. */
  settle(actual: Spending): void
}

/** May be shared: by a run and its subagents, or by any number of runs at once. */
export interface Budget {
  /** Undefined when it does not fit beside what is used and reserved. */
  reserve(estimate: BudgetEstimate): Reservation | undefined
  /** What was used outside of a reservation. */
  charge(actual: Spending): void
  /** Absent is no limit. Costs are numbers for people; the budget itself is exact to 10⁻¹⁵. */
  readonly left: { readonly tokens?: number; readonly cost?: number }
}

export interface BudgetLimits {
  readonly maxTotalTokens?: number
  /** In the currency of the prices. */
  readonly maxCost?: Decimal
}
