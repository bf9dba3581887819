import { createBudget } from '../../src/index.ts'
import type { Budget, BudgetEstimate, LocalBudget, LocalReservation, Reservation } from '../../src/index.ts'
import type { World } from './world.ts'

type Spending = Parameters<Reservation['settle']>[0]

/** The budget of a whole conversation, which counts everything a second time as a check. */
export class SharedBudget implements Budget {
  readonly #world: World
  readonly #max: number
  readonly #budget: LocalBudget
  /** Tokens of open reservations. */
  #reserved = 0
  #open = 0
  #used = 0
  /** Usage of models and others beyond their reservations. */
  #excess = 0

  constructor(world: World, maxTotalTokens: number) {
    this.#world = world
    this.#max = maxTotalTokens
    this.#budget = createBudget({ maxTotalTokens })
  }

  get left(): Budget['left'] {
    return this.#budget.left
  }

  get used(): number {
    return this.#used
  }

  reserve(estimate: BudgetEstimate): LocalReservation | undefined {
    const { tokens } = estimate
    const fits = this.#used + this.#reserved + tokens <= this.#max
    const reservation = this.#budget.reserve(estimate)
    this.#world.claim(Number.isFinite(tokens) && tokens >= 0, `A87: ${tokens} tokens are set aside`)
    this.#world.claim(
      (reservation !== undefined) === fits,
      `A87: ${tokens} tokens are ${fits ? 'refused' : 'granted'} with ${this.#used} used and ${this.#reserved} reserved of ${this.#max}`,
    )
    if (!reservation) return undefined
    this.#reserved += tokens
    this.#open++
    let isOpen = true
    const settle = (actual: Spending): void => {
      reservation.settle(actual)
      if (!isOpen) return
      isOpen = false
      this.#open--
      this.#reserved -= tokens
      this.#use(tokensOf(actual), tokens)
    }
    return { settle }
  }

  charge(actual: Spending): void {
    this.#budget.charge(actual)
    this.#use(tokensOf(actual), 0)
  }

  /** Claims that no model is called without a reservation. */
  called(): void {
    this.#world.claim(this.#open > 0, 'A87: a model is called without a reservation')
  }

  /** Checks the budget after a run and all its work have ended. */
  checkRest(): void {
    const { claim } = this.#world
    const say = claim.bind(this.#world)
    say(this.#open === 0, `A87: ${this.#open} reservations are left`)
    say(this.#used <= this.#max + this.#excess, `A87: ${this.#used} of ${this.#max} are used, ${this.#excess} beyond what was reserved`)
    say(
      this.left.tokens === Math.max(0, this.#max - this.#used),
      `A87: ${this.left.tokens} are left where ${this.#used} of ${this.#max} are used`,
    )
  }

  #use(tokens: number, reserved: number): void {
    this.#used += tokens
    this.#excess += Math.max(0, tokens - reserved)
  }
}

export function tokensOf({ usage }: Spending): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}
