import type { SchemaIssue } from './schema-result.ts'

/** Limits the steps of one check: a small schema and a small value can still take too long together. */
const maxSteps = 100_000
const maxIssues = 100
/** How many instructions of a pattern, or characters of a text, count as one step. */
const perStep = 50

/** One check of one value: how much of its work is left, where it is, and what it has found. */
export class SchemaWalk {
  #stepsLeft = maxSteps
  #issues: SchemaIssue[] = []
  readonly #path: (string | number)[] = []

  get issues(): readonly SchemaIssue[] {
    return this.#issues
  }

  /** Throws when the work is more than a check may take. */
  step(): void {
    this.#spend(1)
  }

  /** For work that grows with a text. */
  stepsOf(characters: number, instructions = 1): void {
    this.#spend(Math.ceil((characters * instructions) / perStep))
  }

  fail(message: string): void {
    if (this.#issues.length < maxIssues) this.#issues.push({ path: this.#path.join('.'), message })
  }

  /** Does the work one place further down. */
  at<T>(place: string | number, work: () => T): T {
    this.#path.push(place)
    const result = work()
    this.#path.pop()
    return result
  }

  /** Does the work and takes back what it has found. */
  attempt<T>(work: () => T): { readonly result: T; readonly issues: readonly SchemaIssue[] } {
    const before = this.#issues
    this.#issues = []
    const result = work()
    const issues = this.#issues
    this.#issues = before
    return { result, issues }
  }

  /** Keeps what an attempt has found. */
  keep(issues: readonly SchemaIssue[]): void {
    this.#issues.push(...issues.slice(0, maxIssues - this.#issues.length))
  }

  #spend(steps: number): void {
    this.#stepsLeft -= steps
    if (this.#stepsLeft < 0) throw new Error('The value is too large to be checked against this schema.')
  }
}
