import type { Cost, Decimal, Usage } from '@bowline/llm'

/** What a call may use at most, as far as it can be said before. */
export interface BudgetEstimate {
  readonly tokens: number
  /** Absent when no price is known. */
  readonly cost?: Cost
}

export interface Reservation {
  /** Puts what was really used in the place of what was reserved. The first call counts. */
  settle(actual: { readonly usage: Usage; readonly cost?: Cost }): void
}

/** Shared by whoever is given it: a run, its subagents, any number of runs at once. */
export interface Budget {
  /** Undefined when it does not fit any more. */
  reserve(estimate: BudgetEstimate): Reservation | undefined
  /** What was used outside of a reservation. */
  charge(actual: { readonly usage: Usage; readonly cost?: Cost }): void
  readonly left: { readonly tokens?: number; readonly cost?: string }
}

export interface BudgetLimits {
  readonly maxTotalTokens?: number
  /** In the currency of the prices. */
  readonly maxCost?: Decimal
}
